"""The explorer's files as routes.

The pages hold no data: they are the same for every caller, and need no authentication. They get their data from ``/v1``
like any other caller, so that the guard decides there.
"""

from __future__ import annotations

import hashlib
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass
from importlib.resources import files
from importlib.resources.abc import Traversable

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

__all__ = ["POLICY", "Page", "explorer_routes", "pages"]

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
    "require-trusted-types-for 'script'; trusted-types 'none'"
)
"""Scripts and styles from this service only, none within a page, and no text that is turned into markup."""

_PLACES = {"index.html": "/", "docs.html": "/docs"}
_TYPES = {
    "css": "text/css; charset=utf-8",
    "html": "text/html; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "mjs": "text/javascript; charset=utf-8",
    "svg": "image/svg+xml",
    "txt": "text/plain; charset=utf-8",
}


@dataclass(frozen=True, slots=True)
class Page:
    """A file, the path of its URL (``/``, ``/docs`` or below ``/explorer/``), and a tag of the content."""

    path: str
    body: bytes
    media_type: str
    tag: str


def pages() -> list[Page]:
    """All files of the explorer, read from the installed package."""
    served = []
    for name, file in _files(files("cuihop_service.explorer") / "static"):
        media_type = _TYPES.get(name.rpartition(".")[2])
        if media_type is not None:
            body = file.read_bytes()
            path = _PLACES.get(name, f"/explorer/{name}")
            served.append(Page(path, body, media_type, f'W/"{hashlib.sha256(body).hexdigest()[:32]}"'))
    return served


def explorer_routes() -> list[Route]:
    """One route for each file: a path that is not in this list leads nowhere."""
    return [Route(page.path, _given(page), methods=["GET"], include_in_schema=False) for page in pages()]


def _given(page: Page) -> Callable[[Request], Awaitable[Response]]:
    """The endpoint of a file."""
    headers = {
        "Cache-Control": "no-cache",  # cached, and revalidated by its tag: a new version is seen at once
        "Content-Security-Policy": POLICY,
        "Cross-Origin-Opener-Policy": "same-origin",
        "Cross-Origin-Resource-Policy": "same-origin",
        "ETag": page.tag,
        "Vary": "Accept-Encoding",
    }

    async def give(request: Request) -> Response:
        if page.tag in request.headers.get("if-none-match", ""):
            return Response(status_code=304, headers=headers)
        return Response(page.body, headers={**headers, "Content-Type": page.media_type})

    return give


def _files(folder: Traversable, within: str = "") -> Iterator[tuple[str, Traversable]]:
    """Each file below the folder, by its path from there."""
    for entry in folder.iterdir():
        if entry.is_dir():
            yield from _files(entry, f"{within}{entry.name}/")
        else:
            yield within + entry.name, entry
