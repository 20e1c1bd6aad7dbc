"""The tables on the pages that are made of records: see ``docs/figures.py``.

A page holds ``<!-- figures:NAME -->`` and ``<!-- /figures -->``; what stands between them is
written by the function of that name. A cell whose record is not there yet says so.
"""

from __future__ import annotations

import csv
import json
import os
import re
import textwrap
from collections.abc import Iterable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
BENCH = ROOT / "src" / "spacevrp" / "bench"
# The records of the three protocols. With new weights these lines change.
PAPER = ROOT / "records" / "2026-11-19-space-100-v12"
# Of the product's weights before these, the network without a beam search.
BEFORE = ROOT / "records" / "2026-11-17-space-110-v2"
# The network alone, trained on all variants, with its beam search.
NETWORK = ROOT / "records" / "2026-11-20-network"
# Plain `solve`: one augmentation, then the search.
SOLVE = ROOT / "records" / "2026-11-19-solve"
# For each protocol the files that hold its gaps.
SEEN = {
    "paper": PAPER / "seen-paper.csv",
    "network": NETWORK / "seen-network.csv",
    "default": SOLVE / "seen.csv",
}
UNSEEN = {
    "paper": PAPER / "unseen-paper.csv",
    "network": NETWORK / "unseen-network.csv",
    "default": SOLVE / "unseen.csv",
}
PUBLIC = ("CVRP", "OCVRP", "CVRPB", "CVRPL", "OCVRPB", "OCVRPL", "CVRPBL", "OCVRPBL")
TRAINED = (
    *("TSP", "CVRP", "OCVRP", "CVRPB", "CVRPTW", "OCVRPTW", "OP", "PCTSP", "PDTSP"),
    *("ATSP", "ACVRP", "ACVRPBTW"),
)
REFERENCES = {"CVRP": "HGS", "OCVRP": "LKH-3", "CVRPL": "LKH-3"}  # of the public sets
SOLVERS = {
    "lkh": "LKH",
    "pyvrp": "PyVRP",
    "ortools": "OR-Tools",
    "pyvrp-approximate": "PyVRP, approximate",
}
MISSING = "not measured"
MEANS, OVER = "means", "instances"
Row = dict[str, str]


def _paper() -> dict[str, Any]:
    table: dict[str, Any] = json.loads((BENCH / "paper_gaps.json").read_text(encoding="utf-8"))
    return table


def _rows(path: Path) -> list[Row]:
    """The rows of a table."""
    return list(csv.DictReader(path.read_text(encoding="utf-8").splitlines()))


def _compared(row: Row) -> int:
    return int(row.get("oracle_instances") or row["instances"])


class Column:
    """The gaps of one protocol and the files that they were taken from."""

    def __init__(self, protocol: str) -> None:
        self.seen, self.unseen = SEEN[protocol], UNSEEN[protocol]
        self.used: dict[Path, set[int]] = {}  # -> instances that a gap is over
        self.over: dict[str, str] = {}  # the same of each problem, and of the means

    def gap(self, problem: str, kind: str) -> float | None:
        """To the oracle, with the most augmentations that are there."""
        found = [
            row
            for row in _rows(self.seen)
            if (row["problem"], row["set"]) == (problem, kind) and row["oracle_gap"]
        ]
        if not found:
            return None
        row = max(found, key=lambda one: int(one["augmentations"] or 0))
        self.used.setdefault(self.seen, set()).add(_compared(row))
        self.over[problem] = str(_compared(row))
        return float(row["oracle_gap"])

    def variants(self) -> dict[str, float]:
        """Variant beyond the twelve -> gap to the oracle."""
        rows = [
            row
            for row in _rows(self.unseen)
            if row["kind"] == "variant" and row["problem"] not in TRAINED
        ]
        self.over[MEANS] = _range(
            self.used.setdefault(self.unseen, {_compared(row) for row in rows})
        )
        return {row["problem"]: float(row["oracle_gap"]) for row in rows if row["oracle_gap"]}


def _weights(path: Path) -> str:
    """The name of the weights behind a record, or of the run that made them."""
    header = path.with_suffix(".json")
    if path.suffix == ".csv" and header.exists():
        told = json.loads(header.read_text(encoding="utf-8"))["weights"]
        if re.fullmatch(r"space-[\w-]+", str(told.get("name", told["given"]))):
            return str(told.get("name", told["given"]))
    named = re.search(r"space-\d+-v\d+", path.parent.name)
    return named[0] if named else "of the record"


def _to(page: Path, path: Path) -> str:
    return Path(os.path.relpath(path, page.parent)).as_posix()


def _sources(page: Path, columns: dict[str, Column], names: dict[str, str]) -> str:
    """One sentence a protocol: its records, instances and weights."""
    parts = []
    for protocol, column in columns.items():
        if column.used:
            links = ", ".join(
                f"[{path.name}]({_to(page, path)}) ({_range(counts)})"
                for path, counts in column.used.items()
            )
            weights = " and ".join(f"`{name}`" for name in _unique(map(_weights, column.used)))
            parts.append(f"{names[protocol]}: {links}, weights {weights}.")
    parts.append(f"paper: [what it prints]({_to(page, BENCH / 'paper_gaps.json')}).")
    points = (
        textwrap.fill(f"- {part}", 100, subsequent_indent="  ", **_UNBROKEN) for part in parts
    )
    return "\n".join(("Records, in brackets over how many instances a gap is:\n", *points))


_UNBROKEN: dict[str, Any] = {"break_long_words": False, "break_on_hyphens": False}


def _range(counts: set[int]) -> str:
    low, high = min(counts), max(counts)
    return str(low) if low == high else f"{low} to {high}"


def _unique(names: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(names))


def _shown(gap: float | None) -> str:
    return MISSING if gap is None else f"{round(gap, 2) + 0.0:.2f}%"  # no negative zero


def _oracle(problem: str) -> str:
    """Who stands for the paper's oracle on generated instances."""
    held = json.loads((BENCH / "references.json").read_text(encoding="utf-8"))
    (entries,) = (
        one["paper"]
        for one in held["sets"]
        if (one["variant"], one["size"], one["seed"]) == (problem, 100, 1)
    )
    return SOLVERS[held["solvers"][next(filter(None, entries))[1]][0]]


def _columns() -> dict[str, Column]:
    return {name: Column(name) for name in SEEN}


NAMES = {
    "paper": "`--protocol paper`",
    "network": "`--protocol network`",
    "default": "`solve`",
}


def _line(*cells: str) -> str:
    return f"| {' | '.join(cells)} |"


def _gap_lines(columns: dict[str, Column], sets: list[tuple[str, str]]) -> list[str]:
    """A row a set, and how often each protocol is at or under the paper's figure."""
    paper = _paper()["gap"]["SPACE"]
    lines, wins, known = [], dict.fromkeys(columns, 0), dict.fromkeys(columns, 0)
    for problem, kind in sets:
        gaps = {name: column.gap(problem, kind) for name, column in columns.items()}
        for name, gap in gaps.items():
            known[name] += gap is not None
            wins[name] += gap is not None and gap <= paper[problem]
        public = kind != "generated"
        oracle = REFERENCES.get(problem, "OR-Tools, 400 s") if public else _oracle(problem)
        trained = "" if problem in TRAINED else " (beyond the twelve)"
        cells = (_shown(gap) for gap in gaps.values())
        over = _over(columns, problem)
        lines.append(_line(f"{problem}{trained}", oracle, *cells, _shown(paper[problem]), over))
    counts = (f"{wins[name]} of {known[name]}" for name in columns)
    return [*lines, _line("at or under the paper's", "", *counts, "", "")]


def _over(columns: dict[str, Column], what: str) -> str:
    """Over how many instances the gaps of a row are: once where all are over as many."""
    return ", ".join(_unique(column.over.get(what, MISSING) for column in columns.values()))


def _mean_lines(columns: dict[str, Column]) -> list[str]:
    """The two means over the variants not trained on, and the count."""
    paper = _paper()["gap"]["SPACE"]
    held = {name: column.variants() for name, column in columns.items()}
    unseen = held["paper"]
    lines = []
    for kind in ("symmetric", "asymmetric"):
        names = [name for name in unseen if name.startswith("A") == (kind == "asymmetric")]
        means = [_mean(gaps, names) for gaps in held.values()]
        label = f"mean of {len(names)} {kind} variants beyond the twelve"
        over = f"{_over(columns, MEANS)} each"
        lines.append(_line(label, "OR-Tools or PyVRP", *means, _mean(paper, names), over))
    counts = [
        f"{sum(gap <= paper[name] for name, gap in gaps.items())} of {len(gaps)}"
        for gaps in held.values()
    ]
    return [*lines, _line("of these, at or under the paper's", "", *counts, "", "")]


def _mean(gaps: dict[str, float], names: list[str]) -> str:
    """Over all of them; some alone would be another mean."""
    whole = set(names) <= gaps.keys()
    return _shown(sum(gaps[name] for name in names) / len(names)) if whole else MISSING


def _table(page: Path, sets: list[tuple[str, str]], *, means: bool) -> str:
    columns = _columns()
    lines = _gap_lines(columns, sets)
    if means:
        lines += _mean_lines(columns)
    head = _line("n = 100", "oracle", *(NAMES[name] for name in columns), "paper", OVER)
    rule = _line("---", "---", *["---:"] * (len(columns) + 2))
    return "\n".join((head, rule, *lines, "", _sources(page, columns, NAMES)))


def protocols(page: Path) -> str:
    """The eight public sets, the other problems trained on, and the means over the other 98."""
    rest = [name for name in TRAINED if name not in PUBLIC]
    sets = [(name, "uniform100") for name in PUBLIC] + [(name, "generated") for name in rest]
    return _table(page, sets, means=True)


def generated(page: Path) -> str:
    """The twelve problems trained on, generated instances."""
    return _table(page, [(name, "generated") for name in TRAINED], means=False)


def pairs(page: Path) -> str:
    """What is left open about pickups and deliveries with a capacity."""
    columns = _columns()
    paper = _paper()["gap"]["SPACE"]
    lines = [_line("pickups and deliveries", *(NAMES[name] for name in columns), "paper")]
    lines.append(_line("---", *["---:"] * (len(columns) + 1)))
    held = [column.variants() for column in columns.values()]
    for name in ("PDCVRP", "OPDCVRP", "APDCVRP", "AOPDCVRP", "APDTSP"):
        gaps = (_shown(gaps.get(name)) for gaps in held)
        lines.append(_line(name, *gaps, _shown(paper[name])))
    return "\n".join((*lines, "", _sources(page, columns, NAMES)))


def losses(page: Path) -> str:
    """Where the network is more than a point behind the paper, without pickups and deliveries."""
    column = Column("network")
    paper = _paper()["gap"]["SPACE"]
    behind = {
        name: gap - paper[name]
        for name, gap in column.variants().items()
        if gap > paper[name] + 1 and "PD" not in name
    }
    lines = [_line("variant", NAMES["network"], "paper"), _line("---", "---:", "---:")]
    for name in sorted(behind, key=behind.__getitem__, reverse=True):
        lines.append(_line(name, _shown(column.variants()[name]), _shown(paper[name])))
    return "\n".join((*lines, "", _sources(page, {"network": column}, NAMES)))


def weights(page: Path) -> str:
    """Weights over groups of the 110 variants, by the network's protocol and the paper's."""
    names = ("space-100-v10", "space-110-v2")
    held: dict[tuple[str, str], dict[str, float]] = {}
    links = []
    sources = {
        (protocol, name): BEFORE / f"{name}-{kind}.csv"
        for protocol, kind in (("network, no beam", "network"), ("paper", "paper"))
        for name in names
    }
    now = ("network", "space-110-v3")
    sources[now] = NETWORK / "network.csv"
    for of, path in sources.items():
        rows = [row for row in _rows(path) if row["kind"] == "variant"]
        held[of] = {row["problem"]: float(row["best_gap"]) for row in rows}
        links.append(f"[{path.name}]({_to(page, path)})")
    variants = held[now]
    groups = {
        "the twelve of the paper": [name for name in variants if name in TRAINED],
        "other variants with one depot or none": [
            name for name in variants if name not in TRAINED and "MD" not in name
        ],
        "several depots": [name for name in variants if "MD" in name],
        "all": list(variants),
    }
    heads = [f"`{name}`, `{protocol}`" for protocol, name in held]
    lines = [_line("", "variants", *heads), _line("---", *["---:"] * (len(heads) + 1))]
    for group, members in groups.items():
        means = [_mean(gaps, members) for gaps in held.values()]
        lines.append(_line(group, str(len(members)), *means))
    records = " and ".join(
        f"[{folder.name}]({_to(page, folder / 'README.md')})" for folder in (BEFORE, NETWORK)
    )
    return "\n".join((*lines, "", f"Records: {records}; means over {', '.join(links)}."))


def _record_and_rows(page: Path, path: Path) -> str:
    readme = _to(page, path.parent / "README.md")
    return f"[Record]({readme}), rows in [{path.name}]({_to(page, path)})."


def equal(page: Path) -> str:
    """The search and PyVRP over the variants that both solve, after each number of seconds."""
    folder = ROOT / "records" / "2026-11-17-suites"
    paths = [folder / "equal-time.csv", folder / "equal-time-rest.csv"]
    rows = [row for path in paths for row in _rows(path) if row["gap"]]
    ours, theirs = "spacevrp search", "pyvrp"
    limits = _unique(row["limit"] for row in rows)
    shared = {row["problem"] for row in rows if row["solver"] == theirs}
    heads = [f"after {float(limit):g} s" for limit in limits]
    lines = [_line("", *heads), _line("---", *["---:"] * len(limits))]
    cells: dict[str, list[str]] = {
        "spacevrp search": [],
        "the same by PyVRP": [],
        "ahead, level, behind": [],
    }
    for limit in limits:
        gaps = {
            (row["problem"], row["solver"]): float(row["gap"])
            for row in rows
            if row["limit"] == limit and row["problem"] in shared
        }
        both = [name for name in shared if {(name, ours), (name, theirs)} <= gaps.keys()]
        for label, solver in (("spacevrp search", ours), ("the same by PyVRP", theirs)):
            cells[label].append(f"{sum(gaps[name, solver] for name in both) / len(both):.2f}%")
        # Level as the tables of suites have it.
        ahead = sum(gaps[name, ours] < gaps[name, theirs] - 0.01 for name in both)
        behind = sum(gaps[name, ours] > gaps[name, theirs] + 0.01 for name in both)
        level = len(both) - ahead - behind
        cells["ahead, level, behind"].append(f"{ahead}, {level}, {behind} of {len(both)}")
    lines += [_line(label, *row) for label, row in cells.items()]
    links = " and ".join(f"[{path.name}]({_to(page, path)})" for path in paths)
    return "\n".join((*lines, "", f"[Record]({_to(page, folder / 'README.md')}), rows in {links}."))


def frontier(page: Path) -> str:
    """Gap of every solver on every problem after one second."""
    path = ROOT / "records" / "2026-11-18-frontier" / "frontier.csv"
    rows = [row for row in _rows(path) if float(row["limit"]) == 1.0]
    solvers = ("spacevrp", "spacevrp search", "pyvrp", "vroom", "ortools", "lkh")
    lines = [_line("after 1 s", "customers", *solvers), _line("---", *["---:"] * 7)]
    for problem, size in dict.fromkeys((row["problem"], row["size"]) for row in rows):
        gaps = {
            row["solver"]: row["gap"]
            for row in rows
            if (row["problem"], row["size"]) == (problem, size)
        }
        cells = (f"{float(gaps[who]):.2f}%" if gaps.get(who) else "" for who in solvers)
        lines.append(_line(problem, f"{int(size):,}", *cells))
    return "\n".join((*lines, "", _record_and_rows(page, path)))


def thousand(page: Path) -> str:
    """Seconds for 1,000 instances of each problem, next to the paper's."""
    path = ROOT / "records" / "2026-11-18-h200-thousand" / "thousand.csv"
    lines = [_line("1,000 instances of", "augmentations", "model s", "sum s", "paper s")]
    lines.append(_line("---", *["---:"] * 4))
    for row in _rows(path):
        count = row.get("augmentations") or row["views"]
        times = (f"{float(row[key]):.2f}" for key in ("seconds_model", "seconds_thousand"))
        lines.append(_line(row["problem"], count, *times, f"{float(row['paper_seconds']):g}"))
    return "\n".join((*lines, "", f"From [{path.name}]({_to(page, path)}), `space-100-v10`."))


def index(page: Path) -> str:
    """Every folder of records, with the first heading of its page."""
    lines = [_line("record", "what it holds"), _line("---", "---")]
    for folder in sorted((ROOT / "records").iterdir(), reverse=True):
        if folder.is_dir():
            title = (folder / "README.md").read_text(encoding="utf-8").splitlines()[0]
            link = _to(page, folder / "README.md")
            lines.append(_line(f"[{folder.name}]({link})", title.removeprefix("# ")))
    return "\n".join(lines)


def short(page: Path) -> str:
    """The means by protocol alone, for the README."""
    columns = _columns()
    lines = _gap_lines(columns, [("CVRP", "uniform100"), ("OCVRP", "uniform100")])[:-1]
    rest = [("CVRPTW", "generated"), ("TSP", "generated"), ("PDTSP", "generated")]
    lines += _gap_lines(columns, [*rest, ("ATSP", "generated"), ("ACVRP", "generated")])[:-1]
    lines += _mean_lines(columns)[:2]
    head = _line("n = 100", "oracle", *(NAMES[name] for name in columns), "paper", OVER)
    rule = _line("---", "---", *["---:"] * (len(columns) + 2))
    return "\n".join((head, rule, *lines, "", _sources(page, columns, NAMES)))


BLOCKS = {
    "protocols": protocols,
    "generated": generated,
    "pairs": pairs,
    "losses": losses,
    "weights": weights,
    "equal": equal,
    "frontier": frontier,
    "thousand": thousand,
    "index": index,
    "short": short,
}
MARKED = re.compile(r"(<!-- figures:([\w-]+) -->\n).*?(<!-- /figures -->)", re.S)


def written(page: Path, text: str) -> str:
    """The text of a page with its generated tables as the records have them now."""
    return MARKED.sub(lambda mark: f"{mark[1]}\n{BLOCKS[mark[2]](page)}\n\n{mark[3]}", text)
