"""The tables of docs/reliability.md: what the drills tried and found, and the track record. Written from their files.

``python -m drills.page`` writes them; with ``--check`` it fails where the page differs.
"""

from __future__ import annotations

import json
import re
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from drills.drill import DRILLS

__all__ = ["defects", "write_page"]

ROOT = Path(__file__).resolve().parents[1]
_PAGE = ROOT / "docs" / "reliability.md"
_LEAST_FOR_99 = 100
"""Of fewer numbers, the table gives no percentile of 99."""
_KINDS = {
    "number": "wrong number",
    "fault": "fault",
    "attack": "attack",
    "use": "message or use",
    "suite": "tests",
}


def defects() -> list[dict[str, Any]]:
    """The entries of the track record."""
    entries: list[dict[str, Any]] = tomllib.loads((ROOT / "drills" / "record.toml").read_text("utf-8"))["defect"]
    return entries


def _drills() -> Iterator[str]:
    yield "| drill | what it tries | tried | cases | minutes | of processors | date, commit | found |"
    yield "|---|---|---|---|---|---|---|---|"
    measured = []
    for drill in DRILLS:
        file = ROOT / "drills" / "results" / f"{drill.name}.json"
        runs = json.loads(file.read_text("utf-8"))["runs"] if file.exists() else []
        count, cases, minutes = (sum(run[what] for run in runs) for what in ("count", "cases", "minutes"))
        processors = [run["processor_minutes"] for run in runs]
        cells = ["not run at full size yet", "", "", "", "", ""]
        if runs:
            cells = [
                f"{count:,} {drill.unit}",
                f"{cases:,}" if cases >= drill.full else f"{cases:,} of {drill.full:,}",
                f"{round(minutes, 1):g}",
                "" if None in processors else f"{round(sum(processors), 1):g}",
                "; ".join(dict.fromkeys(f"{run['date']}, {run['commit']}" for run in runs)),
                f"{sum(len(run['found']) for run in runs):,}",
            ]
        for run in runs:
            for name, values in run["measured"].items():
                few = values["number"] < _LEAST_FOR_99
                spread = ["" if few and which == "99 %" else f"{value:,}" for which, value in values.items()]
                measured.append("| " + " | ".join([f"`{drill.name}`", name, *spread]) + " |")
        yield "| " + " | ".join([f"`{drill.name}`", drill.tries, *cells]) + " |"
    if measured:
        yield from ["", "| drill | measured | number | median | 99 % | most |", "|---|---|---|---|---|---|", *measured]


def _record() -> Iterator[str]:
    yield "| | what | kind | reported | introduced | mended | discovered by | replayed by |"
    yield "|---|---|---|---|---|---|---|---|"
    for defect in defects():
        command = f"`make drill-replay ID={defect['id']}`" if defect.get("replay") else defect.get("unreplayed", "open")
        commits = [str(defect.get(name, "")) for name in ("introduced", "mended")]
        what = defect["what"].replace("|", "\\|")
        cells = [defect["id"], what, _KINDS[defect["kind"]], str(defect["reported"]), *commits, defect["by"], command]
        yield "| " + " | ".join(cells) + " |"


def _written(text: str) -> str:
    for name, table in (("drills", _drills), ("record", _record)):
        lines = "\n".join(table())
        block = re.compile(rf"(<!-- {name} -->\n).*?(\n<!-- end of {name} -->)", re.DOTALL)
        text = block.sub(lambda found, lines=lines: f"{found[1]}\n{lines}\n{found[2]}", text)  # type: ignore[misc]
    return text


def write_page() -> None:
    """Write both tables into the page."""
    _PAGE.write_text(_written(_PAGE.read_text("utf-8")), encoding="utf-8")


if __name__ == "__main__":
    if "--check" not in sys.argv:
        write_page()
    elif _written(_PAGE.read_text("utf-8")) != _PAGE.read_text("utf-8"):
        sys.exit("docs/reliability.md: its tables are not those of drills/; python -m drills.page writes them")
