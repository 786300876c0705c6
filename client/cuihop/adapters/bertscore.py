"""BERTScore by a model of transformers from a folder.

Zhang et al. BERTScore: Evaluating Text Generation with BERT. ICLR 2020, sections 3 and 3.1 (importance weighting).
The formula is computed here because the package bert-score 0.3.13 (2023) fails with transformers 5; its values are the
oracle of the tests.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from cuihop.adapters.local_models import (
    LOCAL,
    Float64,
    ModelRun,
    ModelValues,
    batched,
    check_folder,
    loaded,
    loading,
    packages,
    padded,
    token_limit,
)
from cuihop.errors import InputError
from cuihop.files.text_lines import counted

__all__ = ["bertscore"]

_NAME = "BERTScore"
_DEBERTA_XLARGE = ("deberta", 48)
_TUNED_LAYER = 40  # of deberta-xlarge-mnli, in bert_score/utils.py
_WITH_PREFIX_SPACE = ("roberta", "gpt2")


def bertscore(
    references: Sequence[str], candidates: Sequence[str], folder: Path, run: ModelRun | None = None
) -> ModelValues:
    """Precision, recall and F1 of the best matching tokens, weighted by idf over the references.

    For tokens x of the reference and y of the candidate, with unit vectors from one layer of the model: recall is the
    mean over x of the largest x·y, weighted by idf(x); precision the mean over y, weighted by idf(y); F1 their harmonic
    mean. idf(t) = log((N + 1) / (n + 1)), with n of the N references that hold t. A text whose weights are all 0, as
    those of an empty one are, has precision, recall and F1 0. Values are not rescaled.

    Args:
        references, candidates: texts in the form to compare, one candidate for each reference.
        folder: of an encoder such as BERT, RoBERTa or DeBERTa, as ``save_pretrained`` writes it.
        run: device, batches and layer.

    Returns:
        Columns ``BERTScore`` (recall), ``BERTScore(value=precision)`` and ``BERTScore(value=F1)``.

    Raises:
        InputError: the folder holds no such model, or it has no such layer.
        ModuleNotFoundError: torch or transformers is not installed.
    """
    run = run or ModelRun()
    check_folder(folder, _NAME)
    _, transformers = packages()
    with loading(folder):
        config = transformers.AutoConfig.from_pretrained(str(folder), **LOCAL)
        options = {"add_prefix_space": True} if config.model_type in _WITH_PREFIX_SPACE else {}
        tokenizer = transformers.AutoTokenizer.from_pretrained(str(folder), **LOCAL, **options)
    model = loaded(transformers.AutoModel, folder, run, optional=("pooler",))
    layer, layers = _cut_layers(model, folder, run.layer)
    limit = token_limit(tokenizer, config)
    tokens = [_tokens(tokenizer, texts, limit) for texts in (references, candidates)]
    idf = _Idf(tokens[0][0])

    def values(places: list[int]) -> Any:
        sides = []
        for rows, _ in tokens:
            chosen = [rows[place] for place in places]
            numbers, mask = padded(chosen, tokenizer.pad_token_id, run.device)
            vectors = model(input_ids=numbers, attention_mask=mask)[0]
            sides.append((vectors, mask, _padded_weights(chosen, idf, vectors)))
        return _precision_recall_f1(*sides)

    pairs = list(zip(tokens[0][0], tokens[1][0], strict=True))
    found = batched([max(map(len, pair)) for pair in pairs], run, values, 3)
    cut = tokens[0][1] + tokens[1][1]
    weightless = sum(not any(map(idf, ours)) or not any(map(idf, theirs)) for ours, theirs in pairs)
    account = (
        f"{config.model_type}, layer {layer} of {layers}, idf over "
        f"{counted(len(references), 'reference')}, {counted(cut, 'caption')} cut at {limit} tokens, "
        f"{counted(weightless, 'pair')} without a token of weight, scored 0"
    )
    return ModelValues(_columns(found), account)


def _columns(found: Float64) -> dict[str, Float64]:
    names = (f"{_NAME}(value=precision)", _NAME, f"{_NAME}(value=F1)")
    return {name: found[:, column].clip(max=1.0) for column, name in enumerate(names)}  # rounded in single precision


def _cut_layers(model: Any, folder: Path, layer: int | None) -> tuple[int, int]:
    """Drop the layers of the model behind the one that is compared. Returns it and the number of all."""
    stack = getattr(getattr(model, "encoder", None), "layer", None)
    if stack is None:
        raise InputError(
            "not an encoder", file=folder, column="field model_type of config.json", found=str(model.config.model_type),
            expected="a model such as BERT, RoBERTa or DeBERTa",
        )  # fmt: skip
    layers = len(stack)
    if layer is None:
        layer = _TUNED_LAYER if (model.config.model_type, layers) == _DEBERTA_XLARGE else layers
    if not 1 <= layer <= layers:
        raise InputError("no such layer", file=folder, column="layer", found=str(layer), expected=f"1 to {layers}")
    model.encoder.layer = stack[:layer]
    return layer, layers


def _tokens(tokenizer: Any, texts: Sequence[str], limit: int) -> tuple[list[list[int]], int]:
    """Numbers of the tokens of each text, and how many texts were cut."""
    whole = [tokenizer(text.strip(), verbose=False)["input_ids"] for text in texts]
    long = [place for place, row in enumerate(whole) if len(row) > limit]
    for place in long:
        whole[place] = tokenizer(texts[place].strip(), truncation=True, max_length=limit)["input_ids"]
    return whole, len(long)


class _Idf:
    """Weight of each token by the number of references that hold it."""

    def __init__(self, references: Sequence[Sequence[int]]) -> None:
        self._documents = len(references) + 1
        self._holding = Counter(token for tokens in references for token in set(tokens))

    def __call__(self, token: int) -> float:
        return math.log(self._documents / (self._holding[token] + 1))


def _padded_weights(tokens: Sequence[Sequence[int]], idf: _Idf, like: Any) -> Any:
    """Weights of the tokens, 0 for padding: tensor, shape (texts, longest)."""
    longest = like.shape[1]
    rows = [[*map(idf, row), *[0.0] * (longest - len(row))] for row in tokens]
    return like.new_tensor(rows)


def _precision_recall_f1(reference: tuple[Any, Any, Any], candidate: tuple[Any, Any, Any]) -> Any:
    """Tensor, shape (pairs, 3), from vectors, masks and weights of both sides."""
    torch, _ = packages()
    (ours, our_mask, our_weights), (theirs, their_mask, their_weights) = reference, candidate
    ours, theirs = (vectors / vectors.norm(dim=-1, keepdim=True) for vectors in (ours, theirs))
    cosines = theirs @ ours.transpose(1, 2)
    cosines = cosines.masked_fill(their_mask.unsqueeze(2) * our_mask.unsqueeze(1) == 0, -2.0)
    precision = _weighted(cosines.amax(2), their_weights)
    recall = _weighted(cosines.amax(1), our_weights)
    nothing = (our_weights.sum(1) == 0) | (their_weights.sum(1) == 0)
    precision, recall = precision.masked_fill(nothing, 0.0), recall.masked_fill(nothing, 0.0)
    f1 = 2 * precision * recall / (precision + recall)
    return torch.stack([precision, recall, f1.nan_to_num(0.0)], dim=1)


def _weighted(best: Any, weights: Any) -> Any:
    return (best * weights).sum(1) / weights.sum(1)
