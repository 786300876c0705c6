"""Links of a page to files of the project."""

from __future__ import annotations

import re
from pathlib import Path

__all__ = ["dead_links"]


def dead_links(page: Path) -> list[str]:
    """The links of a Markdown page to files that are not there."""
    targets = re.findall(r"\]\(([^)#]+)[^)]*\)", page.read_text(encoding="utf-8"))
    return [target for target in targets if "://" not in target and not (page.parent / target).exists()]
