"""Rankings: retrieved images of each query, from runs, tables, arrays, vectors and scores."""
