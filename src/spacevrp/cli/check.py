"""``spacevrp check``: judge the solutions in a file with the referee."""

from __future__ import annotations

import argparse
import json
import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from spacevrp.cli.instances import add_instances, judge_plans, name_roundings, read_instances
from spacevrp.problems.plan_text import count

if TYPE_CHECKING:
    from spacevrp.problems.problem import Problem
    from spacevrp.problems.solution import Solution

FEASIBLE, NOT_FEASIBLE = 0, 1
# A claimed cost may be off by what printing with few digits does.
_COST_RELATIVE, _COST_ABSOLUTE = 1e-6, 1e-5


@dataclass(frozen=True)
class _Finding:
    """The verdict on one instance next to the cost its file claims, if it claims one.

    ``units`` are those in which such files may state costs.
    """

    solution: Solution
    claimed: float | None
    units: tuple[float, ...] = (1.0,)

    @property
    def unit(self) -> float | None:
        """In which of the units the claim is right; None for none of them."""
        cost = self.solution.cost
        allowed = _COST_ABSOLUTE + _COST_RELATIVE * abs(cost)
        for unit in self.units:
            claimed = cost if self.claimed is None else self.claimed * unit
            if claimed == cost or abs(claimed - cost) <= allowed:
                return unit
        return None

    @property
    def claim_is_wrong(self) -> bool:
        return self.unit is None

    @property
    def is_right(self) -> bool:
        return self.solution.feasible and not self.claim_is_wrong

    def complaints(self) -> list[str]:
        """Everything wrong with it, in words."""
        messages = [violation.message for violation in self.solution.violations]
        if self.claimed is not None and self.claim_is_wrong:
            messages.append(
                f"the solution claims {_write(self.claimed)}, costs {_write(self.solution.cost)}"
            )
        return messages


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of ``spacevrp check``."""
    parser.epilog = (
        "Exit code 0: every solution keeps every rule and costs what it claims; 1: some do not, "
        "and every violation is printed; 2: a file cannot be read. Instances and nodes are "
        "numbered from 0 as in the file, routes from 1."
    )
    add_instances(parser)
    parser.add_argument(
        "solution", metavar="SOLUTION", type=Path, help="their solutions: .json, .csv or .sol"
    )
    parser.add_argument(
        "--format", choices=("table", "json"), default="table", help="default: table"
    )
    parser.add_argument(
        "--plan",
        action="store_true",
        help="print arrival, waiting, load and cost of every stop, too",
    )


def run(args: argparse.Namespace) -> int:
    """Judge and report."""
    # Imported here, so that help stays instant.
    from spacevrp.formats import read_solution

    problems = read_instances(args, lenient=True)
    # A .sol lists customers only, and a plan may call nodes by their ids: the instances know more.
    plans = read_solution(args.solution, problems).instances
    judged = judge_plans(args.solution, problems, [plan.routes for plan in plans])
    findings = [
        _Finding(solution, plan.cost, plan.units)
        for solution, plan in zip(judged, plans, strict=False)
    ]
    disagreement = None
    if len(problems) != len(plans):
        disagreement = (
            f"{args.file} has {count(len(problems), 'instance')}, "
            f"{args.solution} solves {len(plans)}"
        )
    all_right = disagreement is None and all(finding.is_right for finding in findings)
    if args.format == "json":
        record = _as_record(problems, findings, disagreement, all_right)
        if args.plan:
            for entry, solution in zip(record["instances"], judged, strict=True):
                entry["plan"] = solution.to_dict()
        print(json.dumps(record, indent=2))
    else:
        if args.plan:
            for number, solution in enumerate(judged):
                label = problems[number].name or f"instance {number}"
                print(f"{label}: {solution}")
        lines = _as_lines(findings, disagreement, all_right)
        lines[-1] += name_roundings(problems)
        print("\n".join(lines))
    return FEASIBLE if all_right else NOT_FEASIBLE


def _as_record(
    problems: Sequence[Problem],
    findings: Sequence[_Finding],
    disagreement: str | None,
    all_right: bool,
) -> dict[str, Any]:
    from spacevrp.problems.plan_documents import plain
    from spacevrp.problems.solution import name_rounding

    instances = [
        {
            "variant": problem.variant_name,
            "cost": plain(finding.solution.cost),
            "claimed_cost": plain(finding.claimed),
            "cost_agrees": not finding.claim_is_wrong,
            "cost_unit": finding.unit,
            "rounding": name_rounding(problem),
            "feasible": finding.solution.feasible,
            "violations": [asdict(one) for one in finding.solution.violations],
        }
        for problem, finding in zip(problems, findings, strict=False)
    ]
    return {"ok": all_right, "disagreement": disagreement, "instances": instances}


def _as_lines(findings: Sequence[_Finding], disagreement: str | None, all_right: bool) -> list[str]:
    lines = []
    for number, finding in enumerate(findings):
        prefix = f"instance {number}: " if len(findings) > 1 else ""
        stated = ""
        if finding.claimed is not None and finding.unit not in (None, 1.0):
            stated = f" (stated as {_write(finding.claimed)}, in units of {finding.unit:g})"
        lines.append(f"{prefix}cost {_write(finding.solution.cost)}{stated}")
        lines += [f"{prefix}{complaint}" for complaint in finding.complaints()]
    if disagreement is not None:
        lines.append(disagreement)
    if all_right:
        lines.append("feasible" if len(findings) == 1 else _summarise_many(findings))
    elif len(findings) == 1 and disagreement is None:
        broken = len(findings[0].solution.violations)
        lines.append(
            f"not feasible: {count(broken, 'violation')}"
            if broken
            else "feasible, but not at the claimed cost"
        )
    else:
        lines.append(_summarise_many(findings))
    return lines


def _summarise_many(findings: Sequence[_Finding]) -> str:
    feasible = sum(finding.solution.feasible for finding in findings)
    summary = f"{feasible} of {count(len(findings), 'instance')} feasible"
    wrong_claims = sum(finding.claim_is_wrong for finding in findings)
    if wrong_claims:
        summary += f", {count(wrong_claims, 'wrong cost')}"
    if findings:
        mean = math.fsum(finding.solution.cost for finding in findings) / len(findings)
        summary += f", mean cost {_write(mean)}"
    return summary


def _write(cost: float) -> str:
    return f"{cost:.10g}"
