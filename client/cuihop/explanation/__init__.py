"""Explanations of nn-IoU and of rankings by it, and their sensitivity to n, λ and hubs.

`explain_pair` explains two concept sets, `explain_query` two images under one query; `sensitivity_of_pair` and
`sensitivity_of_query` vary the parameters. Every result is a frozen value with `as_dict` for JSON.
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
