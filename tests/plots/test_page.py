"""The page to explore: its data, and that no name of the user's is read as HTML."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from spacevrp.plots.page import page, page_data
from spacevrp.plots.pictures import save_picture
from spacevrp.problems.fleet import Vehicle
from spacevrp.problems.problem import Problem
from spacevrp.problems.solution import Solution

Build = Callable[..., Problem]
EVIL = (
    "</script><script>alert(1)</script>",
    "\"'><img src=x onerror=alert(1)>",
    "<!-- <script>",
    "&lt; __DATA__ \u2028 \\u003c",
    "plain",
)


class Outline(HTMLParser):
    """The tags of a page in their order, the text of its title and of its data."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.texts: dict[str, str] = {}
        self._inside = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        self._inside = dict(attrs).get("id") or tag

    def handle_endtag(self, tag: str) -> None:
        self._inside = ""

    def handle_data(self, data: str) -> None:
        self.texts[self._inside] = self.texts.get(self._inside, "") + data

    @property
    def data(self) -> Any:
        return json.loads(self.texts["data"])


@pytest.fixture
def partial(four_customers: Build) -> Solution:
    problem = four_customers(
        demand=[0, 6, 4, 3, 7],
        windows=[(0, 40), (10, 20), (0, 30), (0, 30), (0, 30)],
        service=[0, 2, 1, 1, 1],
        vehicles=[Vehicle("<i>van</i>", count=1, capacity=10)],
        ids=EVIL,
        name="<script>",
    )
    return Solution.judged(problem, [[0, 1, 2, 0]])


def test_names_stay_text(partial: Solution, four_customers: Build) -> None:
    harmless = four_customers()
    outline = Outline(page(partial.plan.problem, partial))
    assert [node["id"] for node in outline.data["nodes"]] == list(EVIL)
    assert outline.data["routes"][0]["vehicle"] == "<i>van</i>"
    assert outline.texts["title"].startswith("<script>  ·  ")
    # The same tags as of a page without such names, and nothing that is loaded from elsewhere.
    plain = Outline(page(harmless, Solution.judged(harmless, [[0, 1, 2, 3, 4, 0]])))
    assert outline.tags == plain.tags
    assert not [name for _, attrs in outline.tags for name in attrs if name in ("src", "href")]
    assert not re.search(r"https?://", page(harmless))


def test_the_script_writes_text_only() -> None:
    template = Path(sys.modules["spacevrp.plots.page"].__file__ or "").with_name("page.html")
    text = template.read_text(encoding="utf-8")
    for unsafe in ("innerHTML", "outerHTML", "insertAdjacent", "document.write", "eval("):
        assert unsafe not in text
    assert len(text.splitlines()) < 400


def test_every_stop_is_there(partial: Solution) -> None:
    data = page_data(partial.plan.problem, partial)
    assert data["warnings"] == ["partial: 2 of 4 stops unserved"]
    assert [(node["x"], node["y"]) for node in data["nodes"]][:3] == [(0, 0), (3, 0), (3, 4)]
    (route,) = data["routes"]
    assert (route["count"], route["load"], route["cost"]) == (2, "10/10", "12")
    assert [stop["node"] for stop in route["stops"]] == [0, 1, 2, 0]
    stop = route["stops"][1]
    assert stop["at"] == [3, 10, 12]  # arrival, begin of service, departure
    assert dict(stop["facts"])["arrival"] == "3"
    assert dict(stop["facts"])["waiting"] == "7"
    assert dict(data["nodes"][1]["facts"]) == {"demand": "6", "window": "10 to 20", "service": "2"}
    assert {one["node"] for one in data["unserved"]} == {3, 4}
    assert all(one["reason"] for one in data["unserved"])
    assert data["timed"]
    assert data["mapped"]
    assert data["ticks"]


def test_breaks_are_on_the_timeline() -> None:
    """The first is taken on the way to customer 1, the second when the route is over at 24."""
    van = {"breaks": [{"duration": 4, "window": (5, 6)}, {"duration": 3, "window": (30, 40)}]}
    problem = Problem.from_coordinates([(0, 0), (10, 0)], windows=[(0, 90)] * 2, vehicles=[van])
    (route,) = page_data(problem, Solution.judged(problem, [[0, 1, 0]], [0]))["routes"]
    assert [stop["at"][0] for stop in route["stops"]] == [0, 14, 24]
    assert route["breaks"] == [[5, 9], [30, 33]]


def test_a_page_without_coordinates_has_bars_of_costs() -> None:
    problem = Problem.from_matrix([[0, 3, None], [3, 0, 4], [1, 4, 0]])
    data = page_data(problem, Solution.judged(problem, [[0, 1, 2, 0]]))
    assert not data["mapped"]
    assert not data["timed"]
    assert [stop["at"][0] for stop in data["routes"][0]["stops"]] == [0, 3, 7, 8]
    assert "x" not in data["nodes"][0]
    missing = Solution.judged(problem, [[0, 2, 1, 0]])  # over an arc that does not exist
    json.dumps(page_data(problem, missing), allow_nan=False)


def test_an_instance_alone_and_no_matplotlib(four_customers, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    save_picture(tmp_path / "nodes.html", four_customers())
    data = Outline((tmp_path / "nodes.html").read_text(encoding="utf-8")).data
    assert len(data["nodes"]) == 5
    assert data["routes"] == []
