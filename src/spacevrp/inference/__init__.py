"""The network on a CPU without torch: weights, encoder and the decoder's tables in numpy."""
