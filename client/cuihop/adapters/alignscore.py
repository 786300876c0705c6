"""AlignScore by a RoBERTa of transformers and a checkpoint of the AlignScore project.

Zha et al. AlignScore: Evaluating Factual Consistency with a Unified Alignment Function. ACL 2023, section 3. The
project's own package (2023) asks for NumPy 1 and torch 1 and fetches RoBERTa from a hub, so its head is computed here;
its values are the oracle of the tests.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from cuihop.adapters.local_models import (
    LOCAL,
    ModelRun,
    ModelValues,
    batched,
    check_folder,
    loading,
    packages,
    token_limit,
)
from cuihop.errors import InputError, first_few
from cuihop.files.text_lines import counted
from cuihop.resources.optional_packages import installed_by

__all__ = ["alignscore"]

_NAME = "AlignScore"
_WORDS_A_CHUNK = 350
_HEAD = ("tri_layer.weight", "tri_layer.bias")
_ENCODER = "base_model."
_CHECKPOINT = "tensors under state_dict, and no objects of Python, which could run any program"


def alignscore(
    references: Sequence[str], candidates: Sequence[str], folder: Path, run: ModelRun | None = None
) -> ModelValues:
    """Mean over the sentences of a candidate of the best entailment by a part of the reference.

    The mode ``nli_sp``: the probability of the first of three classes. References are cut into parts of about 350
    words at the end of sentences. NLTK splits sentences, as in the project. A candidate without a sentence has 0; the
    project's program fails with one.

    Args:
        references, candidates: captions as they were written, one candidate for each reference.
        folder: with ``config.json`` and the tokenizer of the RoBERTa that was trained, and one ``.ckpt`` of AlignScore.

    Returns:
        The column ``AlignScore``.

    Raises:
        InputError: the folder holds no such model, or NLTK lacks its data of English sentences.
        ModuleNotFoundError: torch, transformers or nltk is not installed.
    """
    run = run or ModelRun()
    check_folder(folder, _NAME)
    split = _sentence_splitter()
    model, head, tokenizer = _loaded(folder, run)
    limit = token_limit(tokenizer, model.config)
    pairs: list[tuple[int, str, str]] = []
    shapes = []
    for place, (reference, candidate) in enumerate(zip(references, candidates, strict=True)):
        parts, sentences = _parts(reference, split), split(candidate)
        shapes.append((len(parts), len(sentences)))
        pairs += [(place, part, sentence) for part in parts for sentence in sentences]
    encoded = [_encoded(tokenizer, part, sentence, limit) for _, part, sentence in pairs]

    def values(places: list[int]) -> Any:
        inputs = tokenizer.pad([encoded[place] for place in places], return_tensors="pt").to(run.device)
        return (model(**inputs).pooler_output @ head[0].T + head[1]).softmax(-1)[:, 0]

    entailed = batched([len(row["input_ids"]) for row in encoded], run, values)[:, 0]
    ends = np.cumsum([parts * sentences for parts, sentences in shapes])
    found = np.array([
        entailed[end - parts * sentences : end].reshape(parts, sentences).max(axis=0).mean() if sentences else 0.0
        for end, (parts, sentences) in zip(ends, shapes, strict=True)
    ])  # fmt: skip
    without = counted(sum(not sentences for _, sentences in shapes), "candidate")
    account = (
        f"{model.config.model_type}, {counted(len(pairs), 'pair')} of sentences, {without} without a sentence, scored 0"
    )
    return ModelValues({_NAME: found}, account)


def _sentence_splitter() -> Any:
    """NLTK's splitter of English text into sentences."""
    with installed_by("nltk"):
        from nltk.tokenize import sent_tokenize
    try:
        sent_tokenize("One.")
    except LookupError as error:
        raise InputError(
            "NLTK has no data of English sentences", column="variable NLTK_DATA", found="no tokenizers/punkt_tab",
            expected="the folder that holds them", advice="python -m nltk.downloader punkt_tab",
        ) from error  # fmt: skip
    return sent_tokenize


def _parts(reference: str, split: Any) -> list[str]:
    """The reference in parts of whole sentences."""
    sentences = split(reference) or [""]
    wanted = len(reference.split()) // _WORDS_A_CHUNK + 1
    size = max(len(sentences) // wanted, 1)
    return [" ".join(sentences[first : first + size]) for first in range(0, len(sentences), size)]


def _encoded(tokenizer: Any, part: str, sentence: str, limit: int) -> Any:
    """Tokens of the pair; the reference is cut where both are too long, and the sentence where it alone is."""
    alone = len(tokenizer(sentence, verbose=False)["input_ids"])
    cut = "only_first" if alone + 2 < limit else True
    return tokenizer(part, sentence, truncation=cut, max_length=limit)


def _loaded(folder: Path, run: ModelRun) -> tuple[Any, tuple[Any, Any], Any]:
    """Encoder, weight and bias of the head of three classes, and tokenizer."""
    torch, transformers = packages()
    checkpoints = sorted(folder.glob("*.ckpt"))
    if len(checkpoints) != 1:
        raise InputError(
            "not one checkpoint", file=folder, found=first_few([path.name for path in checkpoints]) or "none",
            expected="one file .ckpt of AlignScore",
        )  # fmt: skip
    with loading(folder):
        config = transformers.AutoConfig.from_pretrained(str(folder), **LOCAL)
        tokenizer = transformers.AutoTokenizer.from_pretrained(str(folder), **LOCAL)
        model = transformers.AutoModel.from_config(config)
    with loading(checkpoints[0], _CHECKPOINT):
        state = torch.load(checkpoints[0], map_location="cpu", weights_only=True)["state_dict"]
        weights = {name.removeprefix(_ENCODER): state[name] for name in state if name.startswith(_ENCODER)}
        missing = model.load_state_dict(weights, strict=False).missing_keys
        head = tuple(state[name].to(run.device) for name in _HEAD)
    if missing:
        raise InputError(
            "weights of the model are missing", file=checkpoints[0], found=f"no {first_few(missing)}",
            expected=f"all weights of the {config.model_type} of config.json",
        )  # fmt: skip
    return model.to(run.device).eval(), (head[0], head[1]), tokenizer
