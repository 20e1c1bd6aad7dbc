"""The errors a user can meet. Each names what was expected, what was received, and where."""

from __future__ import annotations

#: One line on what to do where torch is needed and not there.
TORCH_MISSING = "PyTorch is not installed: pip install 'spacevrp[torch]'"


class SpacevrpError(Exception):
    """Base of every error this package raises on purpose."""


class VariantError(SpacevrpError):
    """A variant name that the grammar does not know."""


class ProblemError(SpacevrpError):
    """An instance that contradicts itself.

    Parameters
    ----------
    field
        The field of :class:`~spacevrp.problems.problem.Problem` at fault.
    expected, received
        What the field should hold, and what it holds.
    node
        The node at fault, in the user's own numbering, where there is one.
    """

    def __init__(self, field: str, expected: str, received: str, node: int | None = None) -> None:
        where = field if node is None else f"{field}, node {node}"
        super().__init__(f"{where}: expected {expected}, received {received}")
        self.field = field
        self.node = node
        self.expected = expected
        self.received = received

    def at(self, field: str, node: int | None = None) -> ProblemError:
        """The same error, of another field or node."""
        return ProblemError(field, self.expected, self.received, node)

    def __reduce__(self) -> tuple[type[ProblemError], tuple[str, str, str, int | None]]:
        """For other processes; the message alone would not do."""
        return type(self), (self.field, self.expected, self.received, self.node)


class FormatError(SpacevrpError):
    """A file that cannot be read as the format it claims to be."""


class SolutionError(SpacevrpError):
    """A solution that cannot be judged at all (for example, a node that does not exist)."""


class InfeasibleError(SpacevrpError):
    """An instance for which no complete plan was found; says which customers and why."""


class UnsupportedError(SpacevrpError):
    """A request that this part of the package cannot express."""
