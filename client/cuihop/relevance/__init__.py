"""Relevance between the images of a collection: concept sets, gains, and rankings made from them."""
