"""Whole evaluations: concepts of images and rankings go in, the quality of a ranking comes out.

::

    image_concepts     concept files → image → concepts
    rankings           rankings, and which file holds what: ranking_text, ranking_arrays, embeddings, binary_codes
    baselines          rankings made here: by IoU, by nn-IoU, at random
    image_collection   queries and corpus, their concepts resolved on a graph
    relevance_index    nn-IoU of every query with every image, exactly
    whole_collection   `evaluate`
    result             what it returns
"""
