"""Semantic groups of UMLS, and the semantic types that a request selects.

The 15 groups divide the 127 types of the Semantic Network: Bodenreider O, McCray AT. Exploring semantic groups through
visual approaches. J Biomed Inform 2003;36:414-432; in the edition of 2018 (SemGroups_2018.txt).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches

from cuihop.errors import InputError


@dataclass(frozen=True, slots=True)
class SemanticGroup:
    """A semantic group.

    Attributes:
        code: four letters.
        types: its semantic types, the name of each by its identifier (TUI).
    """

    code: str
    name: str
    types: Mapping[str, str]


_TABLE = """
ACTI | Activities & Behaviors | T052 Activity; T053 Behavior; T056 Daily or Recreational Activity; T051 Event;
  T064 Governmental or Regulatory Activity; T055 Individual Behavior; T066 Machine Activity;
  T057 Occupational Activity; T054 Social Behavior
ANAT | Anatomy | T017 Anatomical Structure; T029 Body Location or Region;
  T023 Body Part, Organ, or Organ Component; T030 Body Space or Junction; T031 Body Substance; T022 Body System;
  T025 Cell; T026 Cell Component; T018 Embryonic Structure; T021 Fully Formed Anatomical Structure; T024 Tissue
CHEM | Chemicals & Drugs | T116 Amino Acid, Peptide, or Protein; T195 Antibiotic;
  T123 Biologically Active Substance; T122 Biomedical or Dental Material; T103 Chemical;
  T120 Chemical Viewed Functionally; T104 Chemical Viewed Structurally; T200 Clinical Drug;
  T196 Element, Ion, or Isotope; T126 Enzyme; T131 Hazardous or Poisonous Substance; T125 Hormone;
  T129 Immunologic Factor; T130 Indicator, Reagent, or Diagnostic Aid; T197 Inorganic Chemical;
  T114 Nucleic Acid, Nucleoside, or Nucleotide; T109 Organic Chemical; T121 Pharmacologic Substance; T192 Receptor;
  T127 Vitamin
CONC | Concepts & Ideas | T185 Classification; T077 Conceptual Entity; T169 Functional Concept;
  T102 Group Attribute; T078 Idea or Concept; T170 Intellectual Product; T171 Language; T080 Qualitative Concept;
  T081 Quantitative Concept; T089 Regulation or Law; T082 Spatial Concept; T079 Temporal Concept
DEVI | Devices | T203 Drug Delivery Device; T074 Medical Device; T075 Research Device
DISO | Disorders | T020 Acquired Abnormality; T190 Anatomical Abnormality; T049 Cell or Molecular Dysfunction;
  T019 Congenital Abnormality; T047 Disease or Syndrome; T050 Experimental Model of Disease; T033 Finding;
  T037 Injury or Poisoning; T048 Mental or Behavioral Dysfunction; T191 Neoplastic Process;
  T046 Pathologic Function; T184 Sign or Symptom
GENE | Genes & Molecular Sequences | T087 Amino Acid Sequence; T088 Carbohydrate Sequence; T028 Gene or Genome;
  T085 Molecular Sequence; T086 Nucleotide Sequence
GEOG | Geographic Areas | T083 Geographic Area
LIVB | Living Beings | T100 Age Group; T011 Amphibian; T008 Animal; T194 Archaeon; T007 Bacterium; T012 Bird;
  T204 Eukaryote; T099 Family Group; T013 Fish; T004 Fungus; T096 Group; T016 Human; T015 Mammal; T001 Organism;
  T101 Patient or Disabled Group; T002 Plant; T098 Population Group; T097 Professional or Occupational Group;
  T014 Reptile; T010 Vertebrate; T005 Virus
OBJC | Objects | T071 Entity; T168 Food; T073 Manufactured Object; T072 Physical Object; T167 Substance
OCCU | Occupations | T091 Biomedical Occupation or Discipline; T090 Occupation or Discipline
ORGA | Organizations | T093 Health Care Related Organization; T092 Organization; T094 Professional Society;
  T095 Self-help or Relief Organization
PHEN | Phenomena | T038 Biologic Function; T069 Environmental Effect of Humans;
  T068 Human-caused Phenomenon or Process; T034 Laboratory or Test Result; T070 Natural Phenomenon or Process;
  T067 Phenomenon or Process
PHYS | Physiology | T043 Cell Function; T201 Clinical Attribute; T045 Genetic Function; T041 Mental Process;
  T044 Molecular Function; T032 Organism Attribute; T040 Organism Function; T042 Organ or Tissue Function;
  T039 Physiologic Function
PROC | Procedures | T060 Diagnostic Procedure; T065 Educational Activity; T058 Health Care Activity;
  T059 Laboratory Procedure; T063 Molecular Biology Research Technique; T062 Research Activity;
  T061 Therapeutic or Preventive Procedure
"""


def _group(line: str) -> SemanticGroup:
    code, name, types = (field.strip() for field in line.split("|"))
    return SemanticGroup(code, name, dict(entry.strip().split(" ", 1) for entry in types.split(";")))


SEMANTIC_GROUPS: tuple[SemanticGroup, ...] = tuple(map(_group, _TABLE.strip().replace("\n  ", " ").splitlines()))
"""The groups, by code."""

MEDCON: tuple[str, ...] = ("ANAT", "CHEM", "DEVI", "DISO", "GENE", "PHEN", "PHYS")
"""Groups that the measure MEDCON counts: Yim et al., Aci-bench, Scientific Data 2023;10:586, and its program."""

_MEDCON = "MEDCON"
_OPTION = "semantic_types"
_SUGGESTIONS = 3
_LONGEST = 80  # characters that are compared with the names


def selected_types(requested: Sequence[str], held: Sequence[tuple[str, str]]) -> frozenset[int]:
    """Select semantic types of a release. Capitals do not matter.

    Args:
        requested: types and groups by code or name (``T047``, ``Disease or Syndrome``, ``DISO``, ``Disorders``), and
            ``MEDCON`` for the groups of that measure.
        held: the types of the release, pairs of identifier and name.

    Returns:
        indices in ``held``; a group stands for its types that the release holds.

    Raises:
        InputError: unknown, or the release holds no such type.

    >>> selected_types(["disorders"], [("T017", "Anatomical Structure"), ("T047", "Disease or Syndrome")])
    frozenset({1})
    """
    index_of = {code: index for index, (code, _) in enumerate(held)}
    names = _names(held)
    by_key = {_key(name): codes for name, codes in names.items()}
    selected: set[int] = set()
    for text in requested:
        codes = by_key.get(_key(text))
        if codes is None:
            raise _unknown(text, names)
        indices = {index_of[code] for code in codes if code in index_of}
        if not indices:
            raise _not_held(text, held)
        selected |= indices
    return frozenset(selected)


def _key(text: str) -> str:
    return " ".join(text.casefold().split())


def _names(held: Sequence[tuple[str, str]]) -> dict[str, list[str]]:
    """The types of each code and name of a type or group; a release may have types of its own."""
    types = {code: name for group in SEMANTIC_GROUPS for code, name in group.types.items()} | dict(held)
    names = {text: [code] for code, name in types.items() for text in (code, name)}
    names |= {text: list(group.types) for group in SEMANTIC_GROUPS for text in (group.code, group.name)}
    names[_MEDCON] = [code for group in SEMANTIC_GROUPS if group.code in MEDCON for code in group.types]
    return names


def _unknown(text: str, names: Iterable[str]) -> InputError:
    by_key = {_key(name): name for name in names}
    near = [by_key[key] for key in get_close_matches(_key(text[:_LONGEST]), by_key, _SUGGESTIONS)]
    return InputError(
        "unknown semantic type or group",
        column=_OPTION,
        found=repr(text),
        expected="a type such as T047 or 'Disease or Syndrome', a group such as DISO or Disorders, or MEDCON",
        advice=f"Did you mean {' or '.join(map(repr, near))}?" if near else None,
    )


def _not_held(text: str, held: Sequence[tuple[str, str]]) -> InputError:
    if not held:
        return InputError(
            "the release holds no semantic types",
            column=_OPTION,
            found=repr(text),
            expected="a release that was loaded with MRSTY",
        )
    of_release = {code for code, _ in held}
    groups = [group.code for group in SEMANTIC_GROUPS if of_release.intersection(group.types)]
    listed = ", ".join(groups) or ", ".join(sorted(of_release)[:_SUGGESTIONS])
    return InputError(
        "no concept of this release has such a type", column=_OPTION, found=repr(text), expected=f"one of {listed}"
    )
