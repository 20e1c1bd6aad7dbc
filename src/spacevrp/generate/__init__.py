"""Where random instances come from: reproducible test sets, and batches for training.

``generate`` and ``generate_arrays`` need NumPy only; the sampler for training lives in
``spacevrp.generate.sampler`` and is imported from there, since it needs torch.
"""

import sys
from types import ModuleType
from typing import Any

from spacevrp.generate.testsets import generate, generate_arrays
from spacevrp.problems.problem import Problem

__all__ = ["generate", "generate_arrays"]


class _CallableRoom(ModuleType):
    """This room shares its name with the public function ``spacevrp.generate``.

    Importing anything from here puts the room in the function's place, so the room does what the
    function does when it is called.
    """

    def __call__(self, *args: Any, **kwargs: Any) -> list[Problem]:
        return generate(*args, **kwargs)


sys.modules[__name__].__class__ = _CallableRoom
