"""What a routing problem is: features, variants, instances, solutions and the referee.

Everything here is plain Python and NumPy; nothing in this room knows of tensors, files or models.
"""
