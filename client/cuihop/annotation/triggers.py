"""Phrases that negate, make uncertain, or name a relative: the triggers of ConText.

Sources: W. Chapman et al., *A simple algorithm for identifying negated findings and diseases in discharge summaries*,
Journal of Biomedical Informatics 34 (2001), for NegEx; H. Harkema et al., *ConText: an algorithm for determining
negation, experiencer, and temporal status from clinical reports*, Journal of Biomedical Informatics 42 (2009). The
lists are our own choice of such phrases, with those of radiology reports and captions: 281 triggers.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, NamedTuple, TypeAlias

Kind: TypeAlias = Literal["negated", "uncertain", "family", "pseudo", "termination"]
Direction: TypeAlias = Literal["forward", "backward", "both"]


class Trigger(NamedTuple):
    """A phrase, its kind, and the side of its scope.

    A pseudo-trigger means nothing, and hides the shorter triggers in it. A termination ends the scope of all triggers.
    """

    phrase: str
    kind: Kind
    direction: Direction = "both"


_PHRASES: Mapping[tuple[Kind, Direction], str] = {
    ("negated", "forward"): """
        absence of, are negative for, clear of, declined, declines, denied, denies, denying, doesn't have,
        doesn't show, excluded, exclusion of, failed to reveal, failed to show, fails to reveal, fails to
        show, free from, free of, inconsistent with, is negative for, lack of, lacked, lacking, lacks,
        negative for, neither, never, no, none of, nor, not, not suggestive of, rather than, ruled out for,
        rules out, ruling out, unremarkable for, w/o, was negative for, were negative for, without""",
    ("negated", "backward"): """
        absent, are excluded, are negative, could be excluded, has been excluded, have been excluded, is
        excluded, is negative, not appreciated, not demonstrated, not detected, not evident, not found, not
        identified, not noted, not observed, not present, not seen, not visible, not visualised, not
        visualized, resolved, ruled out, was excluded, was negative, were excluded, were negative""",
    ("negated", "both"): """
        unlikely""",
    ("uncertain", "forward"): """
        can not exclude, can not rule out, can't exclude, cannot completely exclude, cannot exclude, concern
        for, concerning for, could be, could be due to, could indicate, could reflect, could represent,
        differential considerations include, differential diagnosis includes, differential includes, equivocal
        for, favor, favoring, favors, favour, favouring, favours, indeterminate for, likely, may be, may be
        due to, may have, may indicate, may reflect, may represent, might be, might have, might indicate,
        might represent, not certain if, not excluding, perhaps, possibility of, possible, possibly,
        presumably, presumed, presumptive, probable, probably, query, question of, questionable, r/o, rule
        out, suggest, suggested, suggesting, suggestive of, suggests, suspect, suspected, suspecting, suspicion for,
        suspicion of, suspicious for, suspicious of, to exclude, uncertain if, without excluding, work up for,
        worrisome for""",
    ("uncertain", "backward"): """
        are possible, are probable, are suspected, can not be excluded, can not be ruled out, can't be
        excluded, can't be ruled out, cannot be entirely excluded, cannot be excluded, cannot be ruled out, could not be
        excluded, could not be ruled out, has not been excluded, has not been ruled out, is likely, is
        possible, is probable, is suspected,
        is uncertain, less likely, not excluded, not ruled out, questioned, should be
        considered, should be excluded, should be ruled out, to be excluded, to be ruled out, was possible, was
        suspected, were suspected""",
    ("uncertain", "both"): """
        versus, vs""",
    ("family", "forward"): """
        familial history of, family history, family hx, fh of, fhx of""",
    ("family", "both"): """
        aunt, aunts, brother, brothers, cousin, cousins, dad, daughter, daughters, family member, family
        members, father, grandfather, grandmother, grandparent, grandparents, mom, mother, nephew, niece,
        parents, relative with, relatives, sibling, siblings, sister, sisters, son, sons, uncle, uncles""",
    ("pseudo", "both"): """
        daughter cell, daughter cells, daughter cyst, daughter cysts, daughter nuclei, daughter nucleus,
        mother cell, mother cells, mother liquor, no change, no decrease, no difference, no further, no
        increase, no interval change, no less than, no more than, no significant change, no significant
        difference, no significant interval change, not cause, not change, not drain, not extend, not further,
        not just, not merely, not necessarily, not only, not significantly change, sister chromatid, sister
        chromatids, sister group, sister species, with no change, with or without, without change, without
        contrast, without delay, without difficulty, without further, without interval change""",
    ("termination", "both"): """
        although, and he, and she, apart from, aside from, because, besides, but, cause of, caused by,
        despite, due to, etiology for, except, however, in spite of, nevertheless, notwithstanding, origin
        for, origin of, other than, otherwise, secondary to, source for, source of, the patient, this patient,
        though, when, whereas, which, while, who, yet""",
}  # fmt: skip

TRIGGERS: tuple[Trigger, ...] = tuple(
    Trigger(" ".join(phrase.split()), kind, direction)
    for (kind, direction), phrases in _PHRASES.items()
    for phrase in phrases.split(",")
)
"""All triggers. A phrase that only lengthens another of its kind is left out: “no evidence of” is “no”."""
