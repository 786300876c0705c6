"""The concepts of a load, and their numbers in the graph."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from cuihop_loader.identifier_codes import IdentifierCodes

__all__ = ["ConceptPlaces", "ConceptSet"]


class ConceptSet:
    """Codes of the concepts found so far."""

    def __init__(self) -> None:
        self._present = np.zeros(1 << 24, dtype=np.bool_)

    def add(self, codes: npt.NDArray[np.integer]) -> None:
        """Add concepts."""
        if len(codes):
            largest = int(codes.max())
            if largest >= len(self._present):
                wider = np.zeros(2 * largest, dtype=np.bool_)
                wider[: len(self._present)] = self._present
                self._present = wider
            self._present[codes] = True

    def codes(self) -> npt.NDArray[np.int32]:
        """The codes in ascending order."""
        return np.flatnonzero(self._present).astype(np.int32)


class ConceptPlaces:
    """The concepts of the graph in the order of their identifiers.

    Attributes:
        identifiers: dtype ``S``, ascending.
    """

    def __init__(self, concepts: ConceptSet, codes: IdentifierCodes) -> None:
        present = concepts.codes()
        self.identifiers, places = codes.in_order(present)
        self._places = np.full(codes.count, -1, dtype=np.int32)
        self._places[present] = places

    def __len__(self) -> int:
        return len(self.identifiers)

    def of(self, codes: npt.NDArray[np.integer]) -> npt.NDArray[np.int32]:
        """The number of each code's concept; -1 for a code without a concept in the graph."""
        places: npt.NDArray[np.int32] = self._places[codes]
        return places
