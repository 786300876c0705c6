"""``cuihop measures``: the measures, by name."""

from __future__ import annotations

from cuihop.cli.output import JsonOption, print_json, print_table
from cuihop.measures.family import Family, Kind
from cuihop.measures.registry import FAMILIES
from cuihop.notebooks.table import Table

_KINDS: dict[Kind, str] = {
    "concepts": "evaluate, with --concepts",
    "judged": "evaluate, with --qrels or --labels",
    "pair": "two images; in Python",
    "detection": "concept-detection",
    "code": "irma-error",
    "annotation": "score-annotations",
    "caption": "captions",
}


_ALSO_USED_BY = {"nn-F1": "concept-detection, with --graph"}

_COLUMNS = ("measure", "meaning", "options", "used by")


def measures(json: JsonOption = False) -> None:
    """List the measures by name, with their options."""
    rows = [(_name(family), family.meaning, _options(family), _used_by(family)) for family in FAMILIES.values()]
    if json:
        print_json({"measures": [dict(zip(_COLUMNS, row, strict=True)) for row in rows]})
        return
    texts = [
        (name, meaning, "; ".join(f"{option}: {expected}" for option, expected in options.items()), used)
        for name, meaning, options, used in rows
    ]
    print_table(Table(_COLUMNS, texts))


def _name(family: Family) -> str:
    return family.name + {"needed": "@K", "optional": "[@K]", "none": ""}[family.cutoff]


def _options(family: Family) -> dict[str, str]:
    return {option.name: option.expected for option in family.options}


def _used_by(family: Family) -> str:
    return "; ".join(filter(None, (_KINDS[family.kind], _ALSO_USED_BY.get(family.name))))
