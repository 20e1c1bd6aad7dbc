Route #1: 1 2
Route #2: 4 3
Cost 31
