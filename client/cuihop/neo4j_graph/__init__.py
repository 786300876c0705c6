"""Neo4j: the graph of record."""
