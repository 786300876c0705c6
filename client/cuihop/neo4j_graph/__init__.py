"""Neo4j: the graph of record."""

try:
    import neo4j as _  # noqa: F401 - every module of this package needs the driver
except ModuleNotFoundError as error:
    missing = f"this needs the package {error.name}, which is not installed: pip install 'cuihop[neo4j]'"
    raise ModuleNotFoundError(missing, name=error.name) from None
