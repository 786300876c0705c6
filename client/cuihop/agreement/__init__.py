"""Agreement of similarity measures with people: human scores of pairs of terms against distances and similarities."""

from cuihop.agreement.agreement import agreement
from cuihop.agreement.result import Agreement
from cuihop.agreement.scored_pairs import ScoredPair, ScoredPairs
from cuihop.agreement.term_concepts import TermConcepts, mapped_terms

__all__ = ["Agreement", "ScoredPair", "ScoredPairs", "TermConcepts", "agreement", "mapped_terms"]
