"""Why two images overlap as they do, why one ranks above another, and how much that depends on n, λ and hubs.

`explain_pair` tells of two concept sets, `explain_query` of two images under one query; `sensitivity_of_pair` and
`sensitivity_of_query` vary the parameters. Every answer is a frozen value with `as_dict` for JSON.
"""

from cuihop.explanation.pair import Explanation, explain_pair
from cuihop.explanation.query import QueryExplanation, explain_query
from cuihop.explanation.sensitivity import (
    Grid,
    PairSensitivity,
    QuerySensitivity,
    sensitivity_of_pair,
    sensitivity_of_query,
)
from cuihop.explanation.values import ExplainedConcept

__all__ = [
    "ExplainedConcept",
    "Explanation",
    "Grid",
    "PairSensitivity",
    "QueryExplanation",
    "QuerySensitivity",
    "explain_pair",
    "explain_query",
    "sensitivity_of_pair",
    "sensitivity_of_query",
]
