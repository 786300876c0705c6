"""From UMLS RRF files, and from OBO ontologies, to a snapshot.

>>> from cuihop_loader import load
>>> loaded = load(["umls/"])  # doctest: +SKIP
>>> loaded.report.edges  # doctest: +SKIP
64583
"""

from cuihop_loader.loading import Loaded, load
from cuihop_loader.options import LoadOptions, Progress
from cuihop_loader.report import LoadReport

__all__ = ["LoadOptions", "LoadReport", "Loaded", "Progress", "load"]
