"""The network on a CPU without torch."""
