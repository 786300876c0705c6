"""Neo4j: the graph of record."""

from cuihop.resources.optional_packages import installed_by

with installed_by("cuihop[neo4j]"):
    import neo4j as _  # noqa: F401 - every module of this package needs the driver
