"""A small model of MedCAT 2 and its answer: ``python tests/adapters/medcat_model.py`` renews the recorded answer.

MedCAT needs an older pandas than this project is tested with, so it runs in an environment of its own
(``pip install medcat==2.9.0``), and the tests read what it answered there.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

TEXT = "Veins of the brain stem; no fracture in the head."
RECORDED = Path(__file__).parent / "medcat_entities.json"
NAMES = [
    ("C0006121", "brain stem", "P", "T023"), ("C0006121", "brainstem", "A", "T023"), ("C0042449", "veins", "P", "T023"),
    ("C0018670", "head", "P", "T029"),
]  # fmt: skip


def entities() -> dict[str, Any]:
    """The answers about the text, with and without everything but the concepts."""
    import pandas as pd
    from medcat.cat import CAT
    from medcat.config import Config
    from medcat.model_creation.cdb_maker import CDBMaker
    from medcat.vocab import Vocab

    config = Config()
    config.general.nlp.provider = "regex"  # without spaCy
    config.components.linking.train = False
    cdb = CDBMaker(config).prepare_csvs([pd.DataFrame(NAMES, columns=["cui", "name", "name_status", "type_ids"])])
    vocabulary = Vocab()
    for word in TEXT.lower().replace(";", "").split():
        vocabulary.add_word(word, cnt=10, vec=[1.0, 0.5, 0.2])
    cat = CAT(cdb, vocabulary)
    return {"entities": cat.get_entities(TEXT), "only_cui": cat.get_entities(TEXT, only_cui=True)}


if __name__ == "__main__":
    RECORDED.write_text(json.dumps(entities(), indent=1) + "\n")
