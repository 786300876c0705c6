"""Semantic types and groups: the published table, and what a request selects."""

from __future__ import annotations

import gzip

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cuihop.annotation.semantic_groups import MEDCON, SEMANTIC_GROUPS, selected_types
from cuihop.errors import InputError
from shared_data import shared

HELD = [("T023", "Body Part, Organ, or Organ Component"), ("T033", "Finding"), ("T047", "Disease or Syndrome"),
        ("T061", "Therapeutic or Preventive Procedure"), ("X001", "Sort of our own")]  # fmt: skip
TYPES = {code: name for group in SEMANTIC_GROUPS for code, name in group.types.items()}


def test_each_type_of_the_semantic_network_is_in_one_group() -> None:
    rows = gzip.decompress(shared("semnet/SRDEF.gz").read_bytes()).decode().splitlines()
    published = {row.split("|")[1]: row.split("|")[2] for row in rows if row.startswith("STY|")}
    assert published == TYPES
    assert len(published) == 127 == sum(len(group.types) for group in SEMANTIC_GROUPS)
    assert len({group.code for group in SEMANTIC_GROUPS}) == 15 == len({group.name for group in SEMANTIC_GROUPS})


@pytest.mark.parametrize(
    ("requested", "codes"),
    [
        (["T047"], {"T047"}), (["t047", "disease or  SYNDROME"], {"T047"}), (["DISO"], {"T033", "T047"}),
        (["disorders", "Anatomy"], {"T023", "T033", "T047"}), (["MEDCON"], {"T023", "T033", "T047"}),
        (["x001"], {"X001"}), (["Sort of our own", "procedures"], {"X001", "T061"}), ([], set()),
    ],
)  # fmt: skip
def test_types_are_selected_by_code_and_name(requested: list[str], codes: set[str]) -> None:
    assert {HELD[place][0] for place in selected_types(requested, HELD)} == codes


@given(st.lists(st.sampled_from([group.code for group in SEMANTIC_GROUPS]), max_size=15))
def test_groups_select_their_types_and_no_other(codes: list[str]) -> None:
    held = list(TYPES.items())
    expected = {code for group in SEMANTIC_GROUPS if group.code in codes for code in group.types}
    assert {held[place][0] for place in selected_types(codes, held)} == expected


def test_medcon_leaves_out_the_groups_that_its_program_excludes() -> None:
    left_out = {group.name for group in SEMANTIC_GROUPS if group.code not in MEDCON}
    assert left_out == {
        "Procedures", "Organizations", "Occupations", "Living Beings", "Objects", "Geographic Areas",
        "Concepts & Ideas", "Activities & Behaviors",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("Disorder", r"parameter semantic_types: unknown .* found 'Disorder'; .* Did you mean 'Disorders'"),
        ("disease", "unknown semantic type or group; found 'disease'; expected a type such as T047"),
        ("T048", "no concept of this release has such a type; found 'T048'; expected one of ANAT, DISO, PROC"),
        ("chem", "no concept of this release has such a type; found 'chem'"),
    ],
)
def test_unknown_types_and_types_of_no_concept_are_errors(text: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        selected_types(["T047", text], HELD)


def test_a_release_without_types_is_named() -> None:
    with pytest.raises(InputError, match=r"the release holds no semantic types; .* loaded with MRSTY"):
        selected_types(["DISO"], [])
