"""Assertions in the shared test classes explain themselves, as those in test modules do."""

import pytest

pytest.register_assert_rewrite("concept_graph_contract")
