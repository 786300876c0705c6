"""Whole evaluations: concepts of images and rankings go in, the quality of a ranking comes out.

::

    image_concepts     concept files → image → concepts
    arrow_tables       Parquet, Arrow and Feather; arrow_inputs: concepts, rankings, judgements, labels from them
    rankings           rankings, and which file holds what: ranking_text, ranking_arrays, array_file
    ranked_blocks      rankings made block by block, by nearest_vectors of embeddings and by binary_codes; judged_blocks
    ranked_rows        their rows and order; open_ranking: rankings of documents that nothing else names
    judged             `evaluate_judged`; judged_values: the measures of all queries; label_grades: grades by labels
    baselines          rankings made here: by IoU and nn-IoU, gain_rows: by BM and TF-IDF, at random
    image_collection   queries and corpus, their concepts resolved on a graph
    concept_sets       their distinct concept sets, numbered
    relevance_index    nn-IoU of every query with every image, exactly
    gain_levels        the gains of measures, and their values
    whole_collection   `evaluate`; several_rankings: `evaluate_rankings`
    memory_budget      what the work may take; checkpoint: finished blocks of interrupted work
    result             what it returns
"""
