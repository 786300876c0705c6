"""Every measure by its name, and a measure as a value: its name, cut-off, labels and options.

A new measure is a `Family`, in one of the tuples that are joined here.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches

from cuihop.errors import InputError
from cuihop.measures.bipartite_matching import MATCHING
from cuihop.measures.caption_measures import CAPTION_FAMILIES
from cuihop.measures.dcg import CUI_FAMILIES, checked_k
from cuihop.measures.f1 import ANNOTATION_FAMILIES, F1_FAMILIES
from cuihop.measures.family import RELEVANT_FROM, Family, Kind, OptionValue, measure_error
from cuihop.measures.irma_error import IRMA_FAMILIES
from cuihop.measures.judged import JUDGED_FAMILIES
from cuihop.measures.nn_iou import OVERLAP_FAMILIES

_MOST_JOINED = 10  # counting their grades takes 2^labels passes

_NAMED = re.compile(
    r"([A-Za-z][A-Za-z0-9-]*)"  # the family
    r"(?:@([1-9][0-9]{0,8}(?:\s*,\s*[1-9][0-9]{0,8})*))?"  # one K or several
    r"(?:\(([^()]*)\))?"  # labels and options
)

_BETWEEN = re.compile(r",(?=\s*[A-Za-z])(?![^()]*\))")  # not between several K, nor within parentheses

ALL_FAMILIES = (
    *CUI_FAMILIES, *JUDGED_FAMILIES, *OVERLAP_FAMILIES, MATCHING, *F1_FAMILIES, *IRMA_FAMILIES,
    *ANNOTATION_FAMILIES, *CAPTION_FAMILIES,
)  # fmt: skip
FAMILIES: Mapping[str, Family] = {family.name: family for family in ALL_FAMILIES}

_SPELLINGS = {spelling: family for family in FAMILIES.values() for spelling in (family.name, *family.spellings)}
_IN_LOWER_CASE = {spelling.lower(): family.name for spelling, family in _SPELLINGS.items()}


def family_named(name: str) -> Family:
    """The family with this name or spelling, or an `InputError` that names the nearest one."""
    if name not in _SPELLINGS:
        alike = get_close_matches(name.lower(), _IN_LOWER_CASE, 1)
        expected = "the name of a measure, such as nn-CUI@5,10,30 or P@5(modality)"
        hint = f"Did you mean {_IN_LOWER_CASE[alike[0]]}? " if alike else ""
        hint += "All of them: cuihop measures list"
        raise measure_error("not a measure", repr(name), expected, hint)
    return _SPELLINGS[name]


@dataclass(frozen=True, slots=True)
class Measure:
    """One measure. Its text is its name, which `measures_named` parses: ``nn-CUI@10(n=2, λ=0.2)``.

    Attributes:
        family: the name of its family.
        k: the cut-off; ``None`` for the whole ranking, and for measures without ranks.
        labels: images that agree in all of these labels are relevant. One text with +, ``modality+organ``: the number
            of these labels in which an image agrees is its grade. None: relevance judgements decide.
        options: name and value of the options that are not the default, in the order of the family.

    >>> str(Measure("nnCUI", 10, options=(("lambda", 0.2), ("n", 2))))
    'nn-CUI@10(n=2, λ=0.2)'
    """

    family: str
    k: int | None = None
    labels: tuple[str, ...] = ()
    options: tuple[tuple[str, OptionValue], ...] = ()

    def __post_init__(self) -> None:
        family = family_named(self.family)
        _check_cutoff(family, self.k)
        object.__setattr__(self, "labels", tuple("+".join(_joined(label)) for label in self.labels))
        _check_labels(family, self.labels)
        checked = [family.checked(name, value) for name, value in self.options]
        names = [name for name, _ in checked]
        if len(set(names)) < len(names):
            raise InputError(f"an option of {family.name} stands twice", column="measures", found=", ".join(names))
        values = dict(checked)
        changed = tuple(
            (option.name, values[option.name])
            for option in family.options
            if option.name in values and values[option.name] != option.default
        )
        _check_threshold(family, self.labels, values)
        object.__setattr__(self, "family", family.name)
        object.__setattr__(self, "options", changed)

    def __str__(self) -> str:
        arguments = [*self.labels, *(f"{name}={value}" for name, value in self.options)]
        return (
            self.family + ("" if self.k is None else f"@{self.k}") + (f"({', '.join(arguments)})" if arguments else "")
        )

    @property
    def kind(self) -> Kind:
        """Input of the measure."""
        return FAMILIES[self.family].kind

    @property
    def values(self) -> Mapping[str, OptionValue]:
        """All options by name, with their defaults; those set by the evaluation are absent unless given."""
        defaults = {o.name: o.default for o in FAMILIES[self.family].options if o.default is not None}
        return {**defaults, **dict(self.options)}


def measures_named(names: str | Measure | Iterable[str | Measure]) -> tuple[Measure, ...]:
    """Parse measures, in the order given, each once.

    ``FAMILY``, then ``@K`` or several K, then labels and options in parentheses. A text may name several measures, with
    commas between them.

    >>> [str(measure) for measure in measures_named(["nn-CUI@5,10", "nnCUI@10(lambda=0.2),P@5(modality, organ)"])]
    ['nn-CUI@5', 'nn-CUI@10', 'nn-CUI@10(λ=0.2)', 'P@5(modality, organ)']

    Raises:
        InputError: a text names no measure, or there are no names.
    """
    distinct: dict[Measure, None] = {}
    for name in [names] if isinstance(names, str | Measure) else names:
        listed = [[name]] if isinstance(name, Measure) else map(_read, _BETWEEN.split(name))
        distinct.update(dict.fromkeys(measure for measures in listed for measure in measures))
    if not distinct:
        raise InputError("no measure", column="measures", expected="at least one, such as nn-CUI@10")
    return tuple(distinct)


def _read(text: str) -> list[Measure]:
    match = _NAMED.fullmatch(text.strip())
    if match is None:
        expected = "a name, one K or several of 1 or more, and options, such as nn-CUI@5,10,30 or P@5(modality)"
        raise measure_error("not a measure", repr(text), expected)
    family = family_named(match[1])
    cutoffs = [None] if match[2] is None else [int(k) for k in match[2].split(",")]
    arguments = [argument.strip() for argument in match[3].split(",")] if match[3] and match[3].strip() else []
    if not all(arguments):
        raise measure_error("an option is missing", repr(text), "options between commas")
    labels = tuple(argument for argument in arguments if "=" not in argument)
    options = tuple(
        (name.strip(), value.strip()) for name, _, value in (p.partition("=") for p in arguments if "=" in p)
    )
    return [Measure(family.name, k, labels, options) for k in cutoffs]


def _check_cutoff(family: Family, k: int | None) -> None:
    if family.cutoff == "none" and k is not None:
        raise measure_error(f"{family.name} has no cut-off", f"{family.name}@{k}", family.name)
    if k is not None or family.cutoff == "needed":
        if k is None:
            expected = f"{family.name}@K, such as {family.name}@5,10,30"
            raise measure_error(f"{family.name} needs a cut-off of 1 or more", family.name, expected)
        checked_k(k)
        if family.largest_k is not None and k > family.largest_k:
            expected = f"{family.name}@1 to {family.name}@{family.largest_k}"
            raise measure_error(f"a cut-off that {family.name} does not have", f"{family.name}@{k}", expected)


def _check_labels(family: Family, labels: tuple[str, ...]) -> None:
    if labels and family.kind != "judged":
        options = ", ".join(f"{option.name}=…" for option in family.options)
        raise measure_error(f"{family.name} takes no labels", ", ".join(labels), options or "no option")
    names = [name for label in labels for name in _joined(label)]
    if len(set(names)) < len(names) or not all(names) or any(set(name) & set(",()=") for name in names):
        raise measure_error("not labels", repr(labels), "names of columns, each once")
    if len(labels) > 1 and len(names) > len(labels):
        raise measure_error(
            "labels joined by + and by commas", ", ".join(labels),
            f"{', '.join(names)}: relevant is what agrees in all; or {'+'.join(names)}: the grade is the number of "
            "labels that agree",
        )  # fmt: skip
    if len(names) > _MOST_JOINED and len(labels) == 1:
        raise measure_error("too many labels joined by +", f"{len(names)}", f"{_MOST_JOINED} at most")


def _joined(label: str) -> list[str]:
    return [name.strip() for name in label.split("+")]


def label_parts(labels: tuple[str, ...]) -> list[tuple[str, ...]]:
    """The labels in parts: the grade of an image is the number of parts in all of whose labels it agrees.

    >>> label_parts(("modality", "organ")), label_parts(("modality+organ",))
    ([('modality', 'organ')], [('modality',), ('organ',)])
    """
    joined = _joined(labels[0])
    return [(name,) for name in joined] if len(joined) > 1 else [labels]


def _check_threshold(family: Family, labels: tuple[str, ...], options: Mapping[str, OptionValue]) -> None:
    rel = options.get(RELEVANT_FROM.name)
    if labels and rel is not None and int(rel) > len(label_parts(labels)):
        raise measure_error(
            f"no image has this grade by {', '.join(labels)}", f"{family.name} with {RELEVANT_FROM.name}={rel}",
            f"{RELEVANT_FROM.name} of {len(label_parts(labels))} at most",
        )  # fmt: skip
