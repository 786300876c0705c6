"""BERTScore, BLEURT and AlignScore of captions, by models from folders.

BERTScore: Zhang et al. BERTScore: Evaluating Text Generation with BERT. ICLR 2020, sections 3 and 3.1 (importance
weighting). The formula is computed here because the package bert-score 0.3.13 (2023) fails with transformers 5; its
values are the oracle of the tests.

BLEURT: Sellam, Das, Parikh. BLEURT: Learning Robust Metrics for Text Generation. ACL 2020. By the package
bleurt-pytorch.

AlignScore: Zha et al. AlignScore: Evaluating Factual Consistency with a Unified Alignment Function. ACL 2023, section
3. By a RoBERTa of transformers and a checkpoint of the AlignScore project. The project's own package (2023) asks for
NumPy 1 and torch 1 and fetches RoBERTa from a hub, so its head is computed here; its values are the tests' oracle.
"""

from __future__ import annotations

import math
from collections import Counter
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
    loaded,
    loading,
    packages,
    padded,
    token_limit,
)
from cuihop.errors import InputError, first_few
from cuihop.files.text_lines import counted
from cuihop.resources.optional_packages import OptionalPackage, installed_by

__all__ = ["alignscore", "bertscore", "bleurt"]

_DEBERTA_XLARGE = ("deberta", 48)
_TUNED_LAYER = 40  # of deberta-xlarge-mnli, in bert_score/utils.py
_WITH_PREFIX_SPACE = ("roberta", "gpt2")

_BLEURT_TOKENS = 512
_BLEURT_INSTALL = "bleurt-pytorch 'transformers<5' torch sentencepiece"
BLEURT_PYTORCH = OptionalPackage("bleurt_pytorch", _BLEURT_INSTALL)

_WORDS_A_CHUNK = 350
_HEAD = ("tri_layer.weight", "tri_layer.bias")
_ENCODER = "base_model."
_CHECKPOINT = "tensors under state_dict, and no objects of Python, which could run any program"


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
    check_folder(folder, "BERTScore")
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

    def values(indices: list[int]) -> Any:
        sides = []
        for rows, _ in tokens:
            batch = [rows[index] for index in indices]
            numbers, mask = padded(batch, tokenizer.pad_token_id, run.device)
            vectors = model(input_ids=numbers, attention_mask=mask)[0]
            weights = [[*map(idf, row), *[0.0] * (vectors.shape[1] - len(row))] for row in batch]
            sides.append((vectors, mask, vectors.new_tensor(weights)))
        return _precision_recall_f1(*sides)

    pairs = list(zip(tokens[0][0], tokens[1][0], strict=True))
    scores = batched([max(map(len, pair)) for pair in pairs], run, values, 3)
    cut = tokens[0][1] + tokens[1][1]
    weightless = sum(not any(map(idf, ours)) or not any(map(idf, theirs)) for ours, theirs in pairs)
    summary = (
        f"{config.model_type}, layer {layer} of {layers}, idf over "
        f"{counted(len(references), 'reference')}, {counted(cut, 'caption')} cut at {limit} tokens, "
        f"{counted(weightless, 'pair')} without a token of weight, scored 0"
    )
    names = ("BERTScore(value=precision)", "BERTScore", "BERTScore(value=F1)")
    columns = zip(names, scores.T.clip(max=1.0), strict=True)  # rounded in single precision
    return ModelValues(dict(columns), summary)


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
    numbers = [tokenizer(text.strip(), verbose=False)["input_ids"] for text in texts]
    long = [index for index, row in enumerate(numbers) if len(row) > limit]
    for index in long:
        numbers[index] = tokenizer(texts[index].strip(), truncation=True, max_length=limit)["input_ids"]
    return numbers, len(long)


class _Idf:
    """Weight of each token by the number of references that hold it."""

    def __init__(self, references: Sequence[Sequence[int]]) -> None:
        self._documents = len(references) + 1
        self._holding = Counter(token for tokens in references for token in set(tokens))

    def __call__(self, token: int) -> float:
        return math.log(self._documents / (self._holding[token] + 1))


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


def bleurt(
    references: Sequence[str], candidates: Sequence[str], folder: Path, run: ModelRun | None = None
) -> ModelValues:
    """The model's judgement of each candidate compared with its reference, about 0 to 1.

    Args:
        references, candidates: texts in the form to compare, one candidate for each reference. Empty ones are judged
            by the model too.
        folder: of a checkpoint in the form of bleurt-pytorch, such as BLEURT-20 or BLEURT-20-D12.

    Returns:
        The column ``BLEURT``.

    Raises:
        InputError: the folder holds no such model, or the installed transformers is too new for the package.
        ModuleNotFoundError: bleurt-pytorch, torch or transformers is not installed.
    """
    run = run or ModelRun()
    check_folder(folder, "BLEURT")
    package = _bleurt_package()
    with loading(folder):
        tokenizer = package.BleurtTokenizer.from_pretrained(str(folder), local_files_only=True)
    model = loaded(package.BleurtForSequenceClassification, folder, run)
    limit = min(_BLEURT_TOKENS, int(model.config.max_position_embeddings))
    lengths = [len(row) for row in tokenizer(list(references), list(candidates), verbose=False)["input_ids"]]

    def values(indices: list[int]) -> Any:
        pairs = [[texts[index] for index in indices] for texts in (references, candidates)]
        inputs = tokenizer(*pairs, padding="longest", truncation=True, max_length=limit, return_tensors="pt")
        return model(**inputs.to(run.device)).logits[:, 0]

    scores = batched(lengths, run, values)[:, 0]
    cut = counted(sum(length > limit for length in lengths), "pair")
    return ModelValues({"BLEURT": scores}, f"{model.config.num_hidden_layers} layers, {cut} cut at {limit} tokens")


def _bleurt_package() -> Any:
    """The module bleurt_pytorch."""
    _, transformers = packages()
    try:
        with installed_by(_BLEURT_INSTALL):
            import bleurt_pytorch
    except ModuleNotFoundError:
        raise
    except ImportError as error:
        raise InputError(
            f"bleurt-pytorch cannot be imported: {error}", found=f"transformers {transformers.__version__}",
            expected="transformers 4",
            advice=f"In an environment of its own: pip install {_BLEURT_INSTALL}",
        ) from error  # fmt: skip
    return bleurt_pytorch


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
    check_folder(folder, "AlignScore")
    split = _sentence_splitter()
    model, head, tokenizer = _loaded_alignscore(folder, run)
    limit = token_limit(tokenizer, model.config)
    pairs: list[tuple[int, str, str]] = []
    shapes = []
    for index, (reference, candidate) in enumerate(zip(references, candidates, strict=True)):
        chunks, sentences = _chunks(reference, split), split(candidate)
        shapes.append((len(chunks), len(sentences)))
        pairs += [(index, chunk, sentence) for chunk in chunks for sentence in sentences]
    encoded = [_encoded_pair(tokenizer, chunk, sentence, limit) for _, chunk, sentence in pairs]

    def values(indices: list[int]) -> Any:
        inputs = tokenizer.pad([encoded[index] for index in indices], return_tensors="pt").to(run.device)
        return (model(**inputs).pooler_output @ head[0].T + head[1]).softmax(-1)[:, 0]

    entailed = batched([len(row["input_ids"]) for row in encoded], run, values)[:, 0]
    ends = np.cumsum([chunks * sentences for chunks, sentences in shapes])
    scores = np.array([
        entailed[end - chunks * sentences : end].reshape(chunks, sentences).max(axis=0).mean() if sentences else 0.0
        for end, (chunks, sentences) in zip(ends, shapes, strict=True)
    ])  # fmt: skip
    without = counted(sum(not sentences for _, sentences in shapes), "candidate")
    summary = (
        f"{model.config.model_type}, {counted(len(pairs), 'pair')} of sentences, {without} without a sentence, scored 0"
    )
    return ModelValues({"AlignScore": scores}, summary)


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


def _chunks(reference: str, split: Any) -> list[str]:
    """The reference in parts of whole sentences."""
    sentences = split(reference) or [""]
    chunks = len(reference.split()) // _WORDS_A_CHUNK + 1
    size = max(len(sentences) // chunks, 1)
    return [" ".join(sentences[first : first + size]) for first in range(0, len(sentences), size)]


def _encoded_pair(tokenizer: Any, chunk: str, sentence: str, limit: int) -> Any:
    """Tokens of the pair; the reference is cut where both are too long, and the sentence where it alone is."""
    alone = len(tokenizer(sentence, verbose=False)["input_ids"])
    cut = "only_first" if alone + 2 < limit else True
    return tokenizer(chunk, sentence, truncation=cut, max_length=limit)


def _loaded_alignscore(folder: Path, run: ModelRun) -> tuple[Any, tuple[Any, Any], Any]:
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
