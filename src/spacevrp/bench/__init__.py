"""Measurements: each module is a benchmark with arguments of its own."""
