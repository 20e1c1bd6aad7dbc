"""Protocols of inference: what stands between a problem and its plan, by one name.

``paper`` is what the paper describes, ``network`` the best that the network does alone, and
``default`` the product. Whatever solves or measures takes one of them, and its record names it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from spacevrp.inference.weights import DEFAULT_WEIGHTS, PAPER_WEIGHTS
from spacevrp.problems.errors import SpacevrpError

# Augmentations of each instance: symmetric distances, and asymmetric ones.
_PAPERS_AUGMENTATIONS = (8, 128)
_NETWORKS_AUGMENTATIONS = (8, 8)
# Plans of each augmentation that the beam search goes on with.
_NETWORKS_BEAM = 48


@dataclass(frozen=True)
class Protocol:
    """What a protocol decides; None for what is left to the caller.

    Attributes
    ----------
    augmentations
        Of instances with symmetric and with asymmetric distances, where the caller says nothing.
    policy_heads
        The strength of the policy heads; 0 for the base policy in every augmentation.
    num_samples
        Sampled rollouts from each start node; 0 for greedy rollouts alone.
    beam_width
        Plans of each augmentation that a beam search goes on with; 0 for no beam search.
    usual_beam_width
        The same where the caller says nothing.
    search
        Whether the compiled search follows.
    canonical
        Whether the network sees a problem in its canonical form.
    pruned
        Whether large instances have fewer start nodes and moves to near customers alone.
    persist
        Whether more is tried where no rollout is complete.
    weights
        The bundled weights that are used where the caller names none.
    """

    name: str
    augmentations: tuple[int, int] = _NETWORKS_AUGMENTATIONS
    policy_heads: float | None = None
    num_samples: int | None = None
    beam_width: int | None = None
    usual_beam_width: int = 0
    search: bool | None = None
    canonical: bool = True
    pruned: bool = True
    persist: bool = True
    weights: str = DEFAULT_WEIGHTS

    def decide(self, option: str, asked: Any, usual: Any) -> Any:
        """The value of an option: the protocol's, or else the caller's, or else the usual one.

        An error where the caller asks for what the protocol does not have.
        """
        ruled = getattr(self, option)
        if ruled is None:
            return usual if asked is None else asked
        if asked is None or asked == ruled:
            return ruled
        raise SpacevrpError(
            f"{option}: expected {ruled} or nothing with protocol {self.name}, received {asked}"
        )

    def check(self, **asked: Any) -> None:
        """Raise for the first option that contradicts the protocol."""
        for option, value in asked.items():
            if option in ("start_nodes", "candidates"):
                if value is not None and not self.pruned:
                    raise SpacevrpError(
                        f"{option}: expected none with protocol {self.name}, which takes all, "
                        f"received {value}"
                    )
            else:
                self.decide(option, value, None)


DEFAULT = "default"
PROTOCOLS = {
    one.name: one
    for one in (
        Protocol(
            "paper",
            augmentations=_PAPERS_AUGMENTATIONS,
            policy_heads=0.0,
            num_samples=0,
            beam_width=0,
            search=False,
            canonical=False,
            pruned=False,
            persist=False,
            weights=PAPER_WEIGHTS,
        ),
        Protocol("network", search=False, usual_beam_width=_NETWORKS_BEAM),
        Protocol(DEFAULT),
    )
}


def protocol_named(name: str | None) -> Protocol:
    """A protocol by its name; None for the default."""
    found = PROTOCOLS[DEFAULT] if name is None else PROTOCOLS.get(str(name))
    if found is None:
        known = ", ".join(sorted(PROTOCOLS))
        raise SpacevrpError(f"protocol: expected one of {known}, received {name!r}")
    return found
