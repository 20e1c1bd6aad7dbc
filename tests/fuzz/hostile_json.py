"""Hostile documents: values, keys and types changed in the tree, then some of its text."""

from __future__ import annotations

import copy
import json
from typing import Any

from fuzz_corpus import documents, files
from hostile_text import numbers, some, text_operation, text_operations
from hostile_words import PLAIN_NUMBERS, VALUES, WORDS
from hypothesis import strategies as st


def _places(value: Any) -> list[tuple[Any, Any]]:
    """(container, key) of every value inside, in order."""
    found: list[tuple[Any, Any]] = []
    keys = list(value) if isinstance(value, dict) else range(len(value))
    for key in keys:
        found.append((value, key))
        if isinstance(value[key], list | dict):
            found += _places(value[key])
    return found


def _replace(holder: Any, key: Any, value: Any, word: str) -> None:
    holder[key] = value


def _delete(holder: Any, key: Any, value: Any, word: str) -> None:
    del holder[key]


def _wrap(holder: Any, key: Any, value: Any, word: str) -> None:
    holder[key] = [holder[key]]


def _repeat(holder: Any, key: Any, value: Any, word: str) -> None:
    if isinstance(holder, list):
        holder.insert(key, copy.deepcopy(holder[key]))
    else:
        holder[f"{key}x"] = holder[key]


def _add(holder: Any, key: Any, value: Any, word: str) -> None:
    if isinstance(holder, list):
        holder.append(value)
    else:
        holder[word] = value


def _rename(holder: Any, key: Any, value: Any, word: str) -> None:
    if isinstance(holder, dict):
        holder[word] = holder.pop(key)
    else:
        holder[key] = {word: holder[key]}


def _as_text(holder: Any, key: Any, value: Any, word: str) -> None:
    holder[key] = str(holder[key])


def _nudge(holder: Any, key: Any, value: Any, word: str) -> None:
    """Another value of the same kind."""
    held, turn = holder[key], sum(map(ord, word)) + len(str(value))
    if isinstance(held, bool) or held is None:
        holder[key] = not held
    elif isinstance(held, int | float):
        holder[key] = PLAIN_NUMBERS[turn % len(PLAIN_NUMBERS)]
    elif isinstance(held, str):
        texts = [one for one in VALUES if isinstance(one, str) and not one.startswith("«")]
        holder[key] = texts[turn % len(texts)]
    elif isinstance(held, list):
        held.sort(key=str, reverse=turn % 2 == 0)
    else:
        holder[key] = dict(reversed(held.items()))


_TREE_OPERATIONS = (
    *(_replace, _replace, _delete, _wrap, _repeat, _add, _rename, _as_text),
    *[_nudge] * 16,  # most of what is read is read because of these
)
_tree_operation = st.tuples(
    st.sampled_from(_TREE_OPERATIONS), numbers, st.sampled_from(VALUES), st.sampled_from(WORDS)
)
_tree_operations = some(_tree_operation)


@st.composite
def damaged_trees(draw: st.DrawFn, names: tuple[str, ...]) -> tuple[str, dict[str, Any]]:
    """(name, document) of a known document with a few values, keys or types wrong."""
    name = draw(st.sampled_from(names))
    return name, _damaged(draw, documents()[name])


def _damaged(draw: st.DrawFn, document: dict[str, Any]) -> dict[str, Any]:
    root = {"root": copy.deepcopy(document)}
    for operate, place, value, word in draw(_tree_operations):
        places = _places(root)[1:]  # the document itself stays
        if places:
            operate(*places[place % len(places)], copy.deepcopy(value), word)
    return root["root"]


def write_raw(document: Any) -> str:
    """As JSON, in which «text» stands raw."""
    text = json.dumps(document)
    for value in VALUES:
        if isinstance(value, str) and value.startswith("«"):
            text = text.replace(json.dumps(value), value[1:-1])
    return text


@st.composite
def damaged_json(draw: st.DrawFn, names: tuple[str, ...]) -> tuple[str, bytes]:
    """(name, content) of a JSON file with something wrong in its values or in its text."""
    name, document = draw(damaged_trees(names))
    text = write_raw(document)
    kind = draw(st.integers(0, 6))
    if kind == 0:  # a key twice
        key = draw(st.sampled_from(sorted(document))) if document else "x"
        text = (
            text[:1] + f"{json.dumps(key)}: {json.dumps(draw(st.sampled_from(WORDS)))}, " + text[1:]
        )
    elif kind == 1:
        for operate, place, other, token in draw(st.lists(text_operation, max_size=2)):
            text = operate(text, place, other, token)
    return f"{name}.json", text.encode("utf-8", errors="surrogatepass")


@st.composite
def damaged_solutions(draw: st.DrawFn) -> tuple[str, bytes]:
    """(name, content) of a file of solutions with something wrong in it."""
    if draw(st.booleans()):
        name = draw(st.sampled_from(["plan.sol", "plan.csv"]))
        text = files()[name].decode()
        for operate, place, other, token in draw(text_operations):
            text = operate(text, place, other, token)
        return name, text.encode("utf-8", errors="surrogatepass")
    plan = json.loads(files()[draw(st.sampled_from(["plan.json", "plan-stops.json"]))])
    text = write_raw(_damaged(draw, plan))
    return "plan.json", text.encode("utf-8", errors="surrogatepass")
