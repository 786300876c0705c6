"""Loader of UMLS releases, ontologies and taxonomies into snapshots and Neo4j.

>>> from cuihop_loader import load
>>> loaded = load(["umls/"])  # doctest: +SKIP
>>> loaded.report.edges  # doctest: +SKIP
64583
"""

from cuihop_loader.loading import Loaded, load
from cuihop_loader.options import LoadOptions
from cuihop_loader.report import LoadReport

__all__ = ["LoadOptions", "LoadReport", "Loaded", "load"]
