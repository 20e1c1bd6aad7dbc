"""Where random instances come from: reproducible test sets, and batches for training.

``generate`` and ``generate_arrays`` need NumPy only; the sampler for training lives in
``spacevrp.generators.sampler`` and is imported from there, since it needs torch.
"""

from spacevrp.generators.testsets import generate, generate_arrays

__all__ = ["generate", "generate_arrays"]
