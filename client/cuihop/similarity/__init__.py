"""Similarity of concepts over the hierarchy: measures by depth, by information content and by common ancestors.

Conventions that every measure shares, and on which values depend:

- Concepts of a cycle (a strongly connected component) are one node of the hierarchy.
- If a graph has several nodes without a parent, one virtual root stands above them all. It has depth 1 and
  information content 0, and is no ancestor in counts and sets of ancestors. With a single root there is no virtual one.
- A concept is among its own ancestors and descendants; the depth of the root is 1, and the depth of another concept the
  number of nodes on its longest chain from the root.
- Logarithms are natural.
"""

from cuihop.similarity.hierarchy import (
    CommonSubsumer,
    Hierarchy,
    HierarchyFacts,
    PairSimilarity,
    Placement,
    Similarities,
)
from cuihop.similarity.options import INFORMATION_CONTENTS, SIMILARITY_MEASURES, SimilarityOptions

__all__ = [
    "INFORMATION_CONTENTS",
    "SIMILARITY_MEASURES",
    "CommonSubsumer",
    "Hierarchy",
    "HierarchyFacts",
    "PairSimilarity",
    "Placement",
    "Similarities",
    "SimilarityOptions",
]
