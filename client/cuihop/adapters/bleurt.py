"""BLEURT by the package bleurt-pytorch, with a model from a folder.

Sellam, Das, Parikh. BLEURT: Learning Robust Metrics for Text Generation. ACL 2020.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from cuihop.adapters.local_models import ModelRun, ModelValues, batched, check_folder, loaded, loading, packages
from cuihop.errors import InputError
from cuihop.files.text_lines import counted
from cuihop.resources.optional_packages import OptionalPackage, installed_by

__all__ = ["bleurt"]

_NAME = "BLEURT"
_TOKENS = 512
_INSTALL = "bleurt-pytorch 'transformers<5' torch sentencepiece"
BLEURT_PYTORCH = OptionalPackage("bleurt_pytorch", _INSTALL)


def bleurt(
    references: Sequence[str], candidates: Sequence[str], folder: Path, run: ModelRun | None = None
) -> ModelValues:
    """The model's judgement of each candidate beside its reference, about 0 to 1.

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
    check_folder(folder, _NAME)
    package = _package()
    with loading(folder):
        tokenizer = package.BleurtTokenizer.from_pretrained(str(folder), local_files_only=True)
    model = loaded(package.BleurtForSequenceClassification, folder, run)
    limit = min(_TOKENS, int(model.config.max_position_embeddings))
    lengths = [len(row) for row in tokenizer(list(references), list(candidates), verbose=False)["input_ids"]]

    def values(places: list[int]) -> Any:
        pairs = [[texts[place] for place in places] for texts in (references, candidates)]
        inputs = tokenizer(*pairs, padding="longest", truncation=True, max_length=limit, return_tensors="pt")
        return model(**inputs.to(run.device)).logits[:, 0]

    found = batched(lengths, run, values)[:, 0]
    cut = counted(sum(length > limit for length in lengths), "pair")
    return ModelValues({_NAME: found}, f"{model.config.num_hidden_layers} layers, {cut} cut at {limit} tokens")


def _package() -> Any:
    """The module bleurt_pytorch."""
    _, transformers = packages()
    try:
        with installed_by(_INSTALL):
            import bleurt_pytorch
    except ModuleNotFoundError:
        raise
    except ImportError as error:
        raise InputError(
            f"bleurt-pytorch cannot be imported: {error}", found=f"transformers {transformers.__version__}",
            expected="transformers 4",
            advice=f"In an environment of its own: pip install {_INSTALL}",
        ) from error  # fmt: skip
    return bleurt_pytorch
