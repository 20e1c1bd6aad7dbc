"""Names in docstrings, such as :meth:`Solver.solve`, as links where the site has their target."""

from __future__ import annotations

import re
from typing import Any

import griffe

ROLE = re.compile(r":(?:class|meth|attr|func|data|mod):`(~?)([\w.]+)`")


class DocstringRoles(griffe.Extension):
    """Turns roles into references; what has no entry on the site stays plain code."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        """Rewrite the docstring of every object that has one."""
        docstring = obj.docstring
        if docstring is None or ":`" not in docstring.value:
            return

        def reference(role: re.Match[str]) -> str:
            name = role[2]
            shown = name.rpartition(".")[2] if role[1] else name
            return (
                f'<autoref optional identifier="{_path(obj, name)}"><code>{shown}</code></autoref>'
            )

        docstring.value = ROLE.sub(reference, docstring.value)


def _path(obj: griffe.Object, name: str) -> str:
    """The full name of what a docstring calls ``name``."""
    first, dot, rest = name.partition(".")
    if first == obj.path.partition(".")[0]:
        return name
    try:
        return obj.resolve(first) + dot + rest
    except griffe.NameResolutionError:
        return name
