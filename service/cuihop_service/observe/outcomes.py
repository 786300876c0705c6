"""Outcomes of questions, as the account in `cuihop_service.admission.Finished` names them."""

from __future__ import annotations

__all__ = ["FAULTS_OF_THE_SERVICE"]

FAULTS_OF_THE_SERVICE = frozenset({"INTERNAL", "GRAPH_UNAVAILABLE", "GRAPH_UNUSABLE", "TIMED_OUT"})
"""What an operator should know of; every other outcome is an answer, or the caller's own doing."""
