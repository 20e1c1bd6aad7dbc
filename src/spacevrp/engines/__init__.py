"""Engines run the network on a batch: the compiled network on a CPU, torch on a GPU or a CPU."""
