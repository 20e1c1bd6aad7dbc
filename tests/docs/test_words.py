"""The words of the field: private ones do not come back (docs/concepts/glossary.md)."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

# Private words -> what to say instead. Whole words, also as parts of identifiers.
WORDS = {
    "lean|leans|leaning|leanings|upright": "policy heads, base policy",
    "readings|familiar": "reductions, canonical",
    "district|districts": "depot decomposition, parts",
    "anew": "again",
    "somebody|nobody|whoever": "customers, vehicles, callers",
    "settle|settles|settled|settling": "select, resolve, decide",
    "narrow|narrows|narrowed": "candidate lists",
    "polish|polished|polishing|shake|shakes|warmth": "local search, perturbation, temperature",
    "door|doors": "function, entry point",
}
PHRASES = {
    "drawn moves": "sampling",
    "likely starts": "start nodes",
    "bring back": "map back",
    "brought back": "mapped back",
    "in the midst": "during",
    "kind of oracle": "paper-protocol oracle",
    "gone on with": "accepted",
}
# Of pages and options: in code a view may be a tensor's, and a room the space in a vehicle.
WORDS_OF_PAGES = {"view|views": "augmentation", "rooms": "packages, modules", "beside": "next to"}
# Names of modules that said nothing to readers of the literature.
MODULES = {
    *("ways", "roads", "draft", "draws", "turns", "views", "narrow", "settling"),
    *("leanings", "readings", "familiar", "districts", "anytime", "search_ways"),
}

# (file, word) -> why it may stand there; a folder ends with a slash.
ALLOWED = {
    ("docs/concepts/glossary.md", "lean leanings views"): "the table of old names",
    ("docs/concepts/stages.md", "lean"): "old names that are still taken",
    ("CHANGELOG.md", "lean leanings views"): "old names that are still read",
    ("records/README.md", "view"): "what old tables call an augmentation",
    ("src/spacevrp/inference/old_names.py", "leanings"): "the table of old names",
    ("src/spacevrp/solver/params.py", "lean"): "the table of old names",
    ("src/spacevrp/cli/solve.py", "lean"): "a hidden option by its old name",
    ("src/spacevrp/arguments.py", "lean"): "an option by its old name",
    ("tests/bench/test_usage.py", "lean"): "an option by its old name",
    ("tests/inference/test_old_names.py", "leanings"): "tests of old names",
    ("src/spacevrp/native/search.cpp", "settled"): "prices that no longer rise",
    ("tests/docs/test_words.py", ""): "this list",
    # Sentences of tests speak of customers and callers as they like.
    ("tests/", "somebody nobody whoever anew settled door doors narrow narrows familiar"): "tests",
}
CODE = (".py", ".pyi", ".cpp", ".hpp", ".html", ".toml")
PAGES = (".md", ".yml")


def tracked() -> list[str]:
    """Files that are read: code, pages, settings; not what commands have written."""
    listed = subprocess.run(
        ["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.splitlines()
    return [
        name
        for name in listed
        if name.endswith((*CODE, *PAGES)) or name == "Makefile"
        if not name.startswith("records/") or name.endswith(("README.md", "archive.md"))
        if (ROOT / name).is_file()
    ]


def words_of(text: str) -> str:
    """The text with identifiers cut at underscores and capitals: ``isLeaning_x`` -> three words."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])", " ", text).replace("_", " ")


def faults(name: str, text: str) -> Iterator[str]:
    """Private words of a file, with what to say instead."""
    allowed = {
        word for (path, words), _ in ALLOWED.items() if _holds(path, name) for word in words.split()
    }
    if any(_holds(path, name) and not words for path, words in ALLOWED):
        return
    table = WORDS | (WORDS_OF_PAGES if name.endswith(PAGES) else {})
    private = re.compile(rf"(?<![A-Za-z])(?:{'|'.join(table)})(?![A-Za-z])", re.I)
    for number, line in enumerate(text.splitlines(), 1):
        parts = words_of(line)
        for found in private.findall(parts):
            if found.lower() not in allowed:
                (instead,) = (
                    say for words, say in table.items() if found.lower() in words.split("|")
                )
                yield f"{name}:{number}: {found}: say {instead}"
        for phrase, instead in PHRASES.items():
            if phrase in parts.lower():
                yield f"{name}:{number}: {phrase}: say {instead}"


def _holds(path: str, name: str) -> bool:
    return name.startswith(path) if path.endswith("/") else name == path


def test_no_private_word_is_left() -> None:
    found = [
        fault
        for name in tracked()
        for fault in faults(name, (ROOT / name).read_text(encoding="utf-8"))
    ]
    assert found == []


def test_modules_have_names_of_the_field() -> None:
    modules = [Path(name) for name in tracked() if name.startswith("src/")]
    assert [str(path) for path in modules if path.stem in MODULES] == []


def test_what_is_allowed_is_still_there() -> None:
    names = tracked()
    for path, words in ALLOWED:
        assert any(_holds(path, name) for name in names), f"{path} is gone"
        if not path.endswith("/"):
            parts = words_of((ROOT / path).read_text(encoding="utf-8")).lower()
            for word in words.split():
                assert re.search(rf"\b{word}\b", parts), f"{path}: {word} need not be allowed"


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("src/spacevrp/model/new.py", "def learns_to_lean(self): ..."),
        ("src/spacevrp/model/new.py", "class LearnedLeanings: ..."),
        ("src/spacevrp/model/new.py", "# drawn anew for every step"),
        ("src/spacevrp/native/new.hpp", "// nobody else may serve it"),
        ("docs/new.md", "Plans are brought back to the problem."),
        ("docs/new.md", "The best of eight views"),
        ("README.md", "the paper's kind of oracle"),
        ("CHANGELOG.md", "Fuzz tests for every door"),
    ],
)
def test_a_private_word_is_found(name: str, text: str) -> None:
    assert list(faults(name, text))
