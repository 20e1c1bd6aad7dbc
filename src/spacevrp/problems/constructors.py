"""How an instance is made: from coordinates, from a matrix, from what other programs wrote."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from spacevrp.problems.clock import Clock, check_unit, holds_moments, metres_per_unit
from spacevrp.problems.conversion import NodeNumber, plain_array, show
from spacevrp.problems.distances import Distances, Metric, great_circle
from spacevrp.problems.errors import ProblemError
from spacevrp.problems.keywords import refuse_unknown
from spacevrp.problems.labels import as_places
from spacevrp.problems.scales import Scales
from spacevrp.problems.sources import fields_from_data
from spacevrp.problems.sources.frame import fields_from_frame, labelled_matrix
from spacevrp.problems.sources.ortools import fields_from_ortools
from spacevrp.problems.sources.pyvrp import fields_from_pyvrp
from spacevrp.problems.sources.skills import without_unskilled
from spacevrp.problems.sources.tables import fields_from_table
from spacevrp.problems.sources.vehicles import (
    is_table,
    vehicles_from_table,
    with_kinds_in_order,
)
from spacevrp.problems.sources.vroom import fields_from_vroom
from spacevrp.problems.variants import parse_variant
from spacevrp.problems.warning import UnitWarning, warn

# Compared by identity: where the user says nothing of depots, the declared variant has a say.
FIRST_NODE: Sequence[int] = (NodeNumber(0),)
# One node by its number or its id, or several.
Nodes = int | str | Iterable[int | str]


@dataclass(frozen=True, eq=False)
class Constructors(Scales):
    """The ways to make a :class:`~spacevrp.problems.problem.Problem`, which inherits them."""

    @classmethod
    def from_coordinates(
        cls,
        coordinates: ArrayLike,
        *,
        metric: Metric | str | None = None,
        depots: Nodes | None = FIRST_NODE,
        **features: Any,
    ) -> Self:
        """An instance whose distances follow from coordinates (N, 2).

        The depot is node 0 unless said otherwise, and none where the declared variant has none.
        """
        cls._refuse_unknown("from_coordinates", features)
        if isinstance(metric, str):
            metric = Metric(metric)
        distances = Distances(coordinates=coordinates, metric=metric, field="coordinates")
        resolved = default_depots(depots, features.get("variant"))
        problem = cls(distances, depots=resolved, **features)
        warn_of_unit(features)
        return problem

    @classmethod
    def from_lonlat(
        cls,
        lonlat: ArrayLike,
        *,
        speed_kmh: float | None = None,
        depots: Nodes | None = FIRST_NODE,
        **features: Any,
    ) -> Self:
        """An instance of (longitude, latitude) in degrees (N, 2); metres as the crow flies.

        Travel times follow from ``speed_kmh``, in the ``time_unit``. Without it there are none, and
        windows and service times need ``durations`` of their own.
        """
        cls._refuse_unknown("from_lonlat", features)
        for name in ("places", "geographic"):
            if name in features:
                expected = "nothing beside lonlat, which says it"
                raise ProblemError(name, expected, show(features[name]))
        try:
            points = as_places(lonlat, len(lonlat), geographic=True, field="lonlat")  # type: ignore[arg-type]
        except TypeError:
            raise ProblemError("lonlat", "shape (N, 2)", show(lonlat)) from None
        assert points is not None  # lonlat is there
        metres = great_circle(points)
        if speed_kmh is not None:
            if features.get("durations") is not None:
                raise ProblemError("speed_kmh", "none beside durations", "both")
            features["durations"] = metres / metres_per_unit(speed_kmh, unit_of(features))
        given = {name for name, value in features.items() if value is not None}
        timed = [name for name in ("windows", "service", "release", "setup") if name in given]
        if timed and not given & {"durations", "travel_times"}:
            expected = f"travel times beside {timed[0]}: speed_kmh or durations"
            raise ProblemError("durations", expected, "metres only")
        return cls.from_matrix(metres, depots=depots, places=points, geographic=True, **features)

    @classmethod
    def from_matrix(
        cls,
        matrix: ArrayLike,
        *,
        durations: ArrayLike | None = None,
        depots: Nodes | None = FIRST_NODE,
        **features: Any,
    ) -> Self:
        """An instance from a cost matrix (N, N), symmetric or not; None or inf means no arc.

        The depot is node 0 unless said otherwise, and none where the declared variant has none. The
        labels of a pandas frame are ids, and its missing values are missing arcs.
        """
        cls._refuse_unknown("from_matrix", features)
        matrix, ids = labelled_matrix("matrix", matrix, features.pop("ids", None))
        durations, ids = labelled_matrix("durations", durations, ids)
        distances = Distances(matrix=matrix, field="matrix")
        depots = default_depots(depots, features.get("variant"))
        resolved = {**features, "durations": durations, "depots": depots, "ids": ids}
        problem = cls(distances, **resolved)
        warn_of_unit(features)
        return problem

    @classmethod
    def from_frame(
        cls,
        frame: Any,
        *,
        columns: Mapping[str, str | Sequence[str]] | None = None,
        **features: Any,
    ) -> Self:
        """An instance from a table with one row a node (pandas, polars, or columns by name).

        Columns are recognised by their names (see ``docs/how-to/data-frame.md``), or by
        ``columns``: field -> name of the column (several names where there are several kinds of
        load). Without a column ``depot`` the first row is the depot. Give ``matrix`` and
        ``durations`` beside the table where it has no coordinates. ``vehicles`` may be a table,
        too, with one row a type.
        """
        return cls._from_fields("from_frame", fields_from_frame(frame, columns), features)

    @classmethod
    def from_ortools(cls, data: Mapping[str, Any], **features: Any) -> Self:
        """An instance from the data dictionary of OR-Tools' routing examples.

        As in them, the window of a depot is when vehicles may leave; they are back at any time.
        """
        return cls._from_fields("from_ortools", fields_from_ortools(data), features)

    @classmethod
    def from_pyvrp(cls, data: Any, **features: Any) -> Self:
        """An instance from PyVRP's ``ProblemData``, or from the ``Model`` that builds one.

        Nodes are its depots, then its clients, then the pickup and the delivery of each shipment.
        """
        return cls._from_fields("from_pyvrp", fields_from_pyvrp(data), features)

    @classmethod
    def from_table(
        cls, response: Mapping[str, Any], *, minimise: str | None = None, **features: Any
    ) -> Self:
        """An instance from the answer of OSRM, openrouteservice, Valhalla or Google.

        A null means no road. ``minimise`` is ``distances`` or ``durations``; by default distances,
        where they are there.
        Durations, which these answers have in seconds, become those of the ``time_unit``.
        """
        read = fields_from_table(response, minimise, unit_of(features))
        return cls._from_fields("from_table", read, features)

    @classmethod
    def from_vroom(
        cls, document: Mapping[str, Any], *, speed_kmh: float | None = None, **features: Any
    ) -> Self:
        """An instance from a problem in VROOM's JSON; vehicles that differ become types.

        Without matrices ``speed_kmh`` is needed: then travel is as the crow flies. Times, which
        VROOM has in seconds, become those of the ``time_unit``.
        """
        read = fields_from_vroom(document, speed_kmh, unit_of(features))
        return cls._from_fields("from_vroom", read, features)

    @classmethod
    def from_data(cls, data: Any, **features: Any) -> Self:
        """An instance from any of the above: a data frame, or a table of keys.

        A table with ``coordinates``, ``lonlat`` or ``matrix`` holds fields under their own names.
        """
        read = fields_from_data(data, unit_of(features))
        return cls._from_fields("from_data", read, features)

    @classmethod
    def _refuse_unknown(cls, maker: str, given: Iterable[str], own: Iterable[str] = ()) -> None:
        """Refuse what is no field of a problem, nor an argument of the maker's own."""
        known = [*own, *(field.name for field in fields(cls) if field.name != "distances")]
        refuse_unknown(f"Problem.{maker}", given, known)

    @classmethod
    def _from_fields(cls, name: str, read: dict[str, Any], features: Mapping[str, Any]) -> Self:
        """What was read and what was said beside it, which counts where both say something."""
        needed = read.pop("skills", None)
        kinds = None if needed is None else read.pop("kinds")  # a table of stops has both
        resolved = {**read, **features}
        table = is_table(features.get("vehicles"))
        if table:
            resolved["vehicles"] = vehicles_from_table(features["vehicles"])
        if table or needed is not None:
            named = None if "demand" in features else kinds
            ordered = with_kinds_in_order(resolved.get("vehicles"), named)
            resolved["vehicles"] = without_unskilled(ordered, needed or (), resolved.get("ids"))
        if "vehicles" in features and "vehicle_ids" not in features:
            resolved.pop("vehicle_ids", None)  # they were of other vehicles
        if "matrix" in features:
            # The costs are given; the places are for the map.
            for key, geographic in (("lonlat", True), ("coordinates", False)):
                if key in read:
                    resolved |= {"places": resolved.pop(key), "geographic": geographic}
        for key, (maker, own) in _MAKERS.items():
            if key not in resolved:
                continue
            cls._refuse_unknown(name, resolved, (key, *own))
            made: Self = getattr(cls, maker)(resolved.pop(key), **resolved)
            return made
        raise ProblemError("data", "coordinates, lonlat or a matrix", "none of them")


# Key of what a source returns -> the constructor, and what it takes beside the fields of a problem.
_MAKERS = {
    "matrix": ("from_matrix", ()),
    "lonlat": ("from_lonlat", ("speed_kmh",)),
    "coordinates": ("from_coordinates", ("metric",)),
}


def default_depots(depots: Any, variant: str | None) -> Any:
    """The depots; those not given are node 0, unless the declared variant has none."""
    if depots is FIRST_NODE and variant is not None and not parse_variant(variant).features.depot:
        return ()
    return depots


def unit_of(features: Mapping[str, Any]) -> str:
    """The unit of durations that the fields of a problem say, or that their clock has."""
    unit, clock = features.get("time_unit", "s"), features.get("clock")
    if unit == "s" and isinstance(clock, Clock):
        unit = clock.unit
    check_unit(unit)
    return str(unit)


def warn_of_unit(features: Mapping[str, Any]) -> None:
    """Say that service times are in seconds, where numbers stand beside times and no unit does."""
    if features.get("time_unit") is not None or features.get("clock") is not None:
        return
    service = plain_array(features.get("service"))
    entries = np.ravel(np.asarray([] if service is None else service, dtype=object))
    numbers = [one for one in entries if isinstance(one, int | float | np.number) and one > 0]
    if numbers and holds_moments(plain_array(features.get("windows"))):
        warn(
            f"service: {numbers[0]:g} is {numbers[0]:g} seconds, as windows are times and nothing "
            "says the unit: give time_unit 's', 'min' or 'h' (--time-unit), or timedeltas",
            UnitWarning,
        )
