"""To other tools and back. Each module imports its tool when it is used, never before.

::

    pytrec_eval    dictionaries of runs, judgements and results
    ranx           Run and Qrels
    ir_measures    ScoredDoc and Qrel; nn-CUI@K and CUI@K as measures of ir_measures
    pandas         DataFrames of rankings, judgements and results
    sklearn        a scorer for GridSearchCV and cross_val_score
    arrays         tensors of torch and of whatever speaks DLPack
    integer_gains  nn-IoU as whole grades, for tools that take no others
"""
