"""The page: its files are whole and its own."""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from spacevrp.cli.serve import parse_tiles
from spacevrp.serve.assets import PAGE, policy_of

MODULES = sorted(PAGE.glob("*.js"))
OWN = [path for path in PAGE.rglob("*") if path.is_file() and "vendor" not in path.parts]
TYPES = {
    ".html": "text/html",
    ".css": "text/css",
    ".js": "text/javascript",
    ".json": "application/json",
    ".svg": "image/svg+xml",
    ".png": "image/png",
    ".txt": "text/plain",
}


class _Markup(HTMLParser):
    """What a page loads, and its words."""

    def __init__(self) -> None:
        super().__init__()
        self.loads: list[str] = []
        self.keys: list[str] = []
        self.words: list[str] = []
        self.inline: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if tag in ("script", "link") and name in ("src", "href"):
                self.loads.append(str(value))
            if name in ("data-text", "data-label"):
                self.keys.append(str(value))
            if name == "style" or name.startswith("on"):
                self.inline.append(name)

    def handle_data(self, data: str) -> None:
        if data.strip():
            self.words.append(data.strip())


@pytest.fixture(scope="module")
def markup() -> _Markup:
    parsed = _Markup()
    parsed.feed((PAGE / "index.html").read_text(encoding="utf-8"))
    return parsed


def test_all_that_the_page_names_is_there_and_served_by_its_type(server: Any, markup: Any) -> None:
    named = set(markup.loads)
    for module in MODULES:
        named |= set(re.findall(r'from "\./([\w.]+)"', module.read_text(encoding="utf-8")))
    text = (PAGE / "strings.js").read_text(encoding="utf-8")
    demos = re.findall(r"(\w+): \"", re.search(r"demos: \{(.*?)\}", text, re.S)[1])  # type: ignore[index]
    named |= {f"demos/{demo}.json" for demo in demos}
    css = PAGE / "vendor/leaflet/leaflet.css"
    named |= {
        f"vendor/leaflet/{one}" for one in re.findall(r"url\((images/.*?)\)", css.read_text())
    }
    assert {module.name for module in MODULES} <= named | {"app.js"}, (
        "a module that nothing imports"
    )
    for asset in sorted(named | {"vendor/leaflet/LICENSE.txt", ""}):
        answer = server.http.get(f"/{asset}")
        assert answer.status_code == 200, asset
        assert (
            answer.headers["content-type"].partition(";")[0]
            == TYPES[Path(asset or "x.html").suffix]
        )
        assert "script-src 'self';" in answer.headers["content-security-policy"]
    assert server.http.get("/page.json").json()["tiles"] is None
    for demo in demos:
        body = (PAGE / f"demos/{demo}.json").read_bytes()
        kind = {"Content-Type": "application/json"}
        answer = server.http.post("/v1/validate", content=body, headers=kind)
        assert (answer.status_code, answer.json().get("warnings")) == (200, []), answer.text


def test_nothing_is_loaded_from_elsewhere_or_inline(markup: _Markup) -> None:
    names = ("http://www.w3.org/2000/svg",)  # a name space, not an address
    for path in OWN:
        text = path.read_text(encoding="utf-8")
        found = [one for one in re.findall(r"(?:https?:)?//[\w.-]+\.\w+[^\s\"'`]*", text)]
        assert [one for one in found if one not in names] == [], path.name
        if path.suffix == ".js":
            assert not re.search(r"innerHTML\s*=|\beval\(|new Function|document\.write", text)
            # Leaflet reads words as HTML: names reach it as the text of an element.
            assert not re.search(r"bind(Tooltip|Popup)\((?!(\(\) => )?h\()", text)
            assert text.count("\n") <= 300, path.name
    assert markup.inline == []


def test_words_come_from_one_file(markup: _Markup) -> None:
    assert set(markup.words) == {"spacevrp"}  # its name
    told = (PAGE / "strings.js").read_text(encoding="utf-8")
    keys = set(re.findall(r"^  (\w+): ", told, re.M))
    used = set(markup.keys)
    assert used <= keys
    rest = ""
    for module in MODULES:
        if module.name != "strings.js":
            text = module.read_text(encoding="utf-8")
            rest += text
            assert set(re.findall(r"\bstrings\.(?!js)(\w+)", text)) <= keys, module.name
            wording = r'(?:textContent|title) = ["`]|"aria-label": ["`]|\}, "[A-Za-z]'
            assert not re.search(wording, text), module.name
    unused = {key for key in keys - used if not re.search(rf'\bstrings\.{key}\b|"{key}"', rest)}
    assert unused == set()


def test_the_policy_names_the_host_of_the_map_and_no_other(
    serving: Callable[..., Any],
) -> None:
    assert "img-src 'self' data: blob:;" in policy_of(None)
    tiles = parse_tiles("https://{s}.tiles.example:8443/{z}/{x}/{y}.png?key=1")
    assert "blob: https://*.tiles.example:8443;" in policy_of(tiles)
    tiles = "https://tiles.example/{z}/{x}/{y}.png"
    http = serving(tiles=tiles, tiles_credit="Maps & Co").http
    assert "blob: https://tiles.example;" in http.get("/").headers["content-security-policy"]
    assert http.get("/page.json").json()["tiles"] == tiles
    for wrong in (
        "tiles.example/{z}/{x}/{y}.png",
        "https://tiles.example/{z}/{x}.png",
        "https://a.example; script-src *//{z}/{x}/{y}.png",
        "https://me:word@tiles.example/{z}/{x}/{y}.png",
        "javascript:alert(1)//{z}/{x}/{y}",
    ):
        with pytest.raises(argparse.ArgumentTypeError, match="expected such as"):
            parse_tiles(wrong)
