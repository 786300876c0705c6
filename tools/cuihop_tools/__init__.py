"""Tools of the developers, no part of the wheel: a local Neo4j server, synthetic releases, vendored libraries."""
