"""Conversions to other tools and back. Each module imports its tool on first use.

::

    pytrec_eval    dictionaries of runs, judgements and results
    ranx           Run and Qrels
    ir_measures    ScoredDoc and Qrel; nn-CUI@K and CUI@K as measures of ir_measures
    pandas         DataFrames of rankings, judgements and results
    sklearn        a scorer for GridSearchCV and cross_val_score
    annotators     results of MedCAT, QuickUMLS and scispaCy as annotated documents
    metamaplite    MMI lines of MetaMapLite as annotated documents
    ctakes         XMI and tables of cTAKES as annotated documents
    caption_models  BERTScore, BLEURT, AlignScore and similarity of images and captions, by models from folders
    graph_export   a graph as NetworkX graph or DataFrames
    integer_gains  nn-IoU as gains for MTEB, or as whole grades for tools without real-valued ones
"""
