"""Draw the stages of a call and the import law as SVG.

    python docs/drawings.py     writes docs/pictures/stages.svg and docs/pictures/imports.svg

The import law is read from ``tests/test_layers.py``, which enforces it.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PICTURES = ROOT / "docs" / "pictures"
INK, PAPER, FILL, SIDE = "#263238", "#ffffff", "#eceff1", "#b0bec5"
STYLE = "font-family='Helvetica, Arial, sans-serif' font-size='14'"


def law() -> dict[str, set[str]]:
    """Package -> packages that it may import."""
    tree = ast.parse((ROOT / "tests" / "test_layers.py").read_text(encoding="utf-8"))
    for node in tree.body:
        if isinstance(node, ast.AnnAssign) and getattr(node.target, "id", "") == "LAW":
            assert isinstance(node.value, ast.Dict)
            pairs = zip(node.value.keys, node.value.values, strict=True)
            return {
                ast.literal_eval(key): set()
                if isinstance(value, ast.Call)
                else set(ast.literal_eval(value))
                for key, value in pairs
                if key is not None
            }
    raise SystemExit("tests/test_layers.py: expected the table LAW, found none")


def _svg(width: int, height: int, parts: Iterable[str]) -> str:
    marker = (
        "<defs><marker id='tip' markerWidth='8' markerHeight='8' refX='7' refY='3' orient='auto'>"
        f"<path d='M0,0 L7,3 L0,6 z' fill='{INK}'/></marker></defs>"
    )
    body = "\n".join(parts)
    return (
        f"<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {width} {height}' {STYLE}>\n"
        f"{marker}\n<rect width='{width}' height='{height}' fill='{PAPER}'/>\n{body}\n</svg>\n"
    )


def _box(x: float, y: float, width: float, height: float, *lines: str, fill: str = FILL) -> str:
    middle = y + height / 2 - 9 * (len(lines) - 1)
    texts = "".join(
        f"<text x='{x + width / 2:g}' y='{middle + 18 * number + 5:g}' text-anchor='middle' "
        f"fill='{INK}' font-weight='{'400' if number else '700'}'>{line}</text>"
        for number, line in enumerate(lines)
    )
    return (
        f"<rect x='{x:g}' y='{y:g}' width='{width:g}' height='{height:g}' rx='6' fill='{fill}' "
        f"stroke='{INK}'/>{texts}"
    )


def _arrow(x1: float, y1: float, x2: float, y2: float, colour: str = INK) -> str:
    return (
        f"<line x1='{x1:g}' y1='{y1:g}' x2='{x2:g}' y2='{y2:g}' stroke='{colour}' "
        "stroke-width='1.5' marker-end='url(#tip)'/>"
    )


def stages() -> str:
    """The four stages from left to right, the pool of plans below them."""
    texts = {
        "problem": ("data in", "your units"),
        "reduce": ("forms that the", "network sees"),
        "construct": ("network: rollouts", "of augmentations"),
        "improve": ("compiled search:", "ruin and recreate"),
        "judge": ("referee: cost,", "violations, reasons"),
        "result": ("a plan, stages,", "notes"),
    }
    parts, width, gap = [], 140, 30
    for number, (name, lines) in enumerate(texts.items()):
        x = 20 + number * (width + gap)
        fill = SIDE if name in ("problem", "result") else FILL
        parts.append(_box(x, 30, width, 80, name, *lines, fill=fill))
        if number:
            parts.append(_arrow(x - gap, 70, x, 70))
    left, right = 20 + 2 * (width + gap), 20 + 4 * (width + gap) + width
    parts.append(_box(left, 160, right - left, 44, "pool: the best judged plan of each problem"))
    for number in (2, 3):
        middle = 20 + number * (width + gap) + width / 2
        parts.append(_arrow(middle, 110, middle, 160))
    middle = 20 + 4 * (width + gap) + width / 2
    parts.append(_arrow(middle, 160, middle, 110))
    return _svg(20 + 6 * (width + gap), 224, parts)


# Columns that keep arrows clear of boxes; a package without one stands at the right end.
COLUMNS = {
    **{"cli": 3.4, "__init__": 3.4, "bench": 3.4, "solver": 1.4, "engines": 2.0, "train": 3.0},
    **{"decode": 2.4, "model": 1.6, "env": 2.6, "generators": 3.6, "plots": 0.9, "inference": 1.7},
    **{"tensors": 2.8, "oracles": 4.7, "search": 0.0, "arrays": 2.2, "formats": 5.6},
    **{"problems": 2.2, "native": 2.2, "many": 1.2, "serve": 5.6},
}
# Small helpers that many import; the page names them.
HELPERS = ("arguments", "processes", "writing", "__main__")


def imports() -> str:
    """Each package above everything that it imports."""
    table = {name: low.difference(HELPERS) for name, low in law().items() if name not in HELPERS}
    names = {"__init__": "public names"}

    def depth(name: str) -> int:
        return 1 + max(map(depth, table[name]), default=-1)

    def reach(name: str) -> set[str]:
        return table[name].union(*map(reach, table[name]))

    top, width, height, step, column = max(map(depth, table)), 112, 34, 76, 150
    right = max(COLUMNS.values()) + 1
    places = {
        name: (20 + COLUMNS.get(name, right) * column, 20 + (top - depth(name)) * step)
        for name in table
    }
    lines, boxes = [], []
    for name, (x, y) in places.items():
        boxes.append(_box(x, y, width, height, names.get(name, name)))
        # What another import brings along needs no arrow of its own.
        others = [reach(low) for low in table[name]]
        for low in sorted(table[name]):
            if not any(low in other for other in others):
                to_x, to_y = places[low]
                lines.append(_arrow(x + width / 2, y + height, to_x + width / 2, to_y, "#78909c"))
    total = max(x for x, _ in places.values()) + width + 20
    return _svg(int(total), 40 + top * step + height, [*lines, *boxes])


DRAWINGS = {"stages.svg": stages, "imports.svg": imports}


def main() -> None:
    """Write all drawings."""
    for name, draw in DRAWINGS.items():
        (PICTURES / name).write_text(draw(), encoding="utf-8")


if __name__ == "__main__":
    main()
