"""Links from pages of the site to files of the repository that are not part of it.

On a page of the repository `[record](../records/x/)` leads to a folder. The site does not hold that
folder, so there the link becomes its text and the path; a figure that links to its record
(``docs/figures.py``) keeps to its text, with the path as a tip. What does not exist is a warning,
which fails the build.
"""

from __future__ import annotations

import logging
import re
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
PAGES = ROOT / "docs"
LINK = re.compile(r"(?<!!)\[([^\]]+)\]\(((?:\.\./)+[^)#\s]+)(#[^)\s]*)?\)")
LOG = logging.getLogger("mkdocs.plugins.repository_links")


def on_page_markdown(markdown: str, *, page: Any, **_: Any) -> str:
    """The text of a page in which no link leaves the site."""
    source = PAGES / page.file.src_uri

    def select(link: re.Match[str]) -> str:
        target = (source.parent / link[2]).resolve()
        if target.is_relative_to(PAGES) or not target.is_relative_to(ROOT):
            return link[0]  # the site's own, or none of ours: the build judges it
        path = target.relative_to(ROOT).as_posix()
        if not target.exists():
            LOG.warning("%s: expected a file of the repository, received %s", source, link[2])
        if re.search(r"\d", link[1]) and path.startswith("records/") and target.is_file():
            return f'<span title="{path}">{link[1]}</span>'
        if link[1].strip("`").rstrip("/") == path:
            return f"`{path}`"
        return f"{link[1]} (`{path}` in the repository)"

    return LINK.sub(select, markdown)
