"""Sections of a snapshot restricted to the edges of some vocabularies; all others are those of the snapshot."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from cuihop.adapter_rules import release_within
from cuihop.graph import Release
from cuihop.snapshot.file import Sections
from cuihop.snapshot.writer import digest_of_sections, hierarchy_rows


class RestrictedSections(Sections):
    """Sections of which some are replaced, in memory; the others are read from the whole snapshot.

    Args:
        whole: the sections of the whole snapshot.
        meta: the JSON part.
        arrays: the replaced sections, by name.
    """

    def __init__(self, whole: Sections, meta: Mapping[str, Any], arrays: Mapping[str, npt.NDArray[Any]]) -> None:
        super().__init__(meta, arrays, origin=whole.origin)
        self._whole = whole

    def __getitem__(self, name: str) -> npt.NDArray[Any]:
        return self._arrays[name] if name in self._arrays else self._whole[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._whole)

    def __len__(self) -> int:
        return len(self._whole)

    def length(self, name: str) -> int:
        """Length of a section, without reading its content."""
        return len(self._arrays[name]) if name in self._arrays else self._whole.length(name)

    def check_unchanged(self) -> None:
        """See `Sections.check_unchanged`."""
        self._whole.check_unchanged()


def sections_within(sections: Sections, release: Release, sabs: tuple[str, ...]) -> Sections:
    """The sections with only the edges that some of these vocabularies assert.

    The time is linear in the edges, and the memory that of the remaining edges in three directions.

    Args:
        sections: of the whole snapshot.
        release: of the whole snapshot.
        sabs: the vocabularies, as `cuihop.adapter_rules.checked_sabs` returns them.
    """
    sets = [[sab for sab in members if sab in sabs] for members in sections.meta["sab_sets"]]
    asserting = np.array([bool(members) for members in sets], dtype=np.bool_)
    chosen = asserting[sections["up_sab_sets"]]
    indptr, parents = sections["up_indptr"], sections["up_indices"][chosen]
    remaining = np.zeros(len(chosen) + 1, dtype=np.int32)
    np.cumsum(chosen, out=remaining[1:])
    arrays = hierarchy_rows(remaining[indptr], parents) | {"up_sab_sets": sections["up_sab_sets"][chosen]}
    found = RestrictedSections(sections, sections.meta, arrays)
    restricted = release_within(release, sabs, digest_of_sections(found), len(parents))
    found.meta = {**sections.meta, "release": dataclasses.asdict(restricted), "sab_sets": sets}
    return found
