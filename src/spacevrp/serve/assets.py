"""The files of the page, their types, and what a browser may load for it."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import urlsplit

PAGE = Path(__file__).with_name("page")
# The page loads its own files, the tiles of its map where it has one, and nothing else.
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:{tiles}; "
    "font-src 'self'; connect-src 'self'; worker-src 'self' blob:; manifest-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
# Of the page's files; what the system holds for the type of a suffix differs from one to another.
_TYPES = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".mjs": "text/javascript; charset=utf-8",
    ".txt": "text/plain; charset=utf-8",
    ".json": "application/json",
    ".geojson": "application/geo+json",
    ".webmanifest": "application/manifest+json",
    ".svg": "image/svg+xml",
    ".png": "image/png",
    ".ico": "image/x-icon",
    ".woff2": "font/woff2",
    ".pbf": "application/x-protobuf",
}


def read_asset(name: str) -> tuple[bytes, str] | None:
    """The content and the type of a file by its path below the page's folder; None for others."""
    path = _assets().get(name)
    if path is None:
        return None
    return path.read_bytes(), _TYPES.get(path.suffix.lower(), "application/octet-stream")


def policy_of(tiles: str | None) -> str:
    """The page's content security policy; ``tiles`` is the address of its map."""
    return _POLICY.format(tiles=_source_of(tiles))


def _assets() -> dict[str, Path]:
    """Path below the page's folder -> its file; no other file can be asked for."""
    return {
        path.relative_to(PAGE).as_posix(): path
        for path in PAGE.rglob("*")
        if path.is_file() and not path.name.startswith(".")
    }


def _source_of(tiles: str | None) -> str:
    """The host of a map as a policy names it; a letter that varies stands for any."""
    if tiles is None:
        return ""
    address = urlsplit(tiles)
    return f" {address.scheme}://{address.netloc.replace('{s}', '*')}"
