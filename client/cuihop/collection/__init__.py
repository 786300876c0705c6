"""Images of a collection with their concepts and labels, and relevance judgements, read and checked."""
