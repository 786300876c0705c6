"""Commands of the command line that need a Neo4j server. The driver is imported when one runs, not before."""
