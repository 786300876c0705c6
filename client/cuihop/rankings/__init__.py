"""Rankings: retrieved images of each query, from runs, tables, arrays, vectors and scores."""

from cuihop.rankings.in_memory import embedding_ranking, neighbour_ranking, scored_ranking
from cuihop.rankings.ranking import Ranking
from cuihop.rankings.reading import read_ranking, read_ranking_in_blocks

__all__ = [
    "Ranking",
    "embedding_ranking",
    "neighbour_ranking",
    "read_ranking",
    "read_ranking_in_blocks",
    "scored_ranking",
]
