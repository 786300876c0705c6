"""Models of transformers from folders of this machine: loaded without a network, run in batches.

Nothing here fetches a model: the flags that forbid it are set before transformers is imported, and only folders are
handed over. Weights are read as safetensors, or as tensors of PyTorch without any code in them.
"""

from __future__ import annotations

import contextlib
import math
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from cuihop.captions.blocks import CaptionBlocks
from cuihop.errors import CuihopError, InputError, first_few
from cuihop.resources.arrays import Float64
from cuihop.resources.cores import checked_threads
from cuihop.resources.optional_packages import OptionalPackage, installed_by
from cuihop.resources.progress import Progress
from cuihop.resources.resources import Resources

__all__ = ["LOCAL", "ModelRun", "ModelValues", "batched", "check_folder", "loaded", "loading", "packages", "padded",
           "token_limit"]  # fmt: skip


LOCAL = {"local_files_only": True, "trust_remote_code": False}
"""Arguments of ``from_pretrained`` of the Auto classes: no hub, and no code from the folder."""

_TRANSFORMERS = "torch transformers"

PACKAGES = (OptionalPackage("torch", _TRANSFORMERS), OptionalPackage("transformers", _TRANSFORMERS))
"""What every model needs."""
_OFFLINE = ("HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE")
_SHIFTED_POSITIONS = ("roberta", "xlm-roberta", "camembert")  # these count positions from behind the padding token
_LARGEST_BATCH = 4096
_CONFIGURATION = "config.json"
_SAVED = "the configuration, weights and tokenizer that save_pretrained of transformers writes"


@dataclass(frozen=True)
class ModelRun:
    """Device, batches and threads of a model.

    Attributes:
        device: of torch, such as ``cpu`` or ``cuda``.
        batch_size: pairs of texts that the model reads at once. It bounds the memory, and changes values by no more
            than the rounding of single precision.
        threads: of the processor; all cores without it.
        progress: callback with the pairs done and their total.
        layer: of the model, from 1, whose vectors BERTScore compares. Without it 40 of the 48 layers of DeBERTa-xlarge,
            which is that of the campaign, and otherwise the last.
        blocks: in place of `progress`: progress, a checkpoint of finished batches, and a shard.
        depends: everything that values depend on, for the checkpoint.

    Raises:
        InputError: the size of a batch is not 1 to 4096.
    """

    device: str = "cpu"
    batch_size: int = 32
    threads: int | None = None
    progress: Progress | None = None
    layer: int | None = None
    blocks: CaptionBlocks | None = None
    depends: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not 1 <= self.batch_size <= _LARGEST_BATCH:
            raise InputError(
                "not a size of batches", column="batch_size", found=str(self.batch_size),
                expected=f"1 to {_LARGEST_BATCH}",
            )  # fmt: skip


@dataclass(frozen=True, eq=False)
class ModelValues:
    """Values of pairs of captions by a model.

    Attributes:
        columns: measure → its values, float64, shape (pairs,).
        account: kind of the model and treatment of the captions, in one line.
    """

    columns: dict[str, Float64]
    account: str


def packages() -> tuple[Any, Any]:
    """The modules torch and transformers, without access to a hub.

    Raises:
        ModuleNotFoundError: one of them is not installed; the message says how to install them.
    """
    for name in _OFFLINE:
        os.environ[name] = "1"
    with installed_by(_TRANSFORMERS):
        import torch
        import transformers
    transformers.utils.logging.disable_progress_bar()
    return torch, transformers


def check_folder(folder: Path, measure: str) -> None:
    """Refuse what is not the folder of a model.

    Args:
        folder: of this machine. measure: its name in messages.

    Raises:
        InputError: it is no folder, or has no config.json.
    """
    if not folder.is_dir():
        raise InputError(
            "not a folder of this machine", column=f"field model of {measure}", found=str(folder),
            expected="a folder with config.json, the weights and the files of the tokenizer",
            advice="Models are never fetched from a hub: save one to a folder first.",
        )  # fmt: skip
    if not (folder / _CONFIGURATION).is_file():
        names = sorted(path.name for path in folder.iterdir())
        raise InputError(
            f"the folder of {measure} lacks a file", file=folder, found=first_few(names) or "none",
            expected=_CONFIGURATION, advice="A folder that save_pretrained of transformers wrote has it.",
        )  # fmt: skip


@contextlib.contextmanager
def loading(path: Path, expected: str = _SAVED) -> Iterator[None]:
    """Load a model in this block.

    Args:
        path: its folder or file. expected: what that should hold, for messages.

    Raises:
        InputError: what transformers or torch cannot read, with their reason.
    """
    try:
        yield
    except (CuihopError, ModuleNotFoundError):
        raise
    except Exception as error:  # of transformers, safetensors, tokenizers, torch and pickle: no common root
        reason = str(error).strip().partition("\n")[0] or type(error).__name__
        raise InputError(
            f"the model cannot be loaded: {reason}", file=path, expected=expected
        ) from error  # fmt: skip


def loaded(model_class: Any, folder: Path, run: ModelRun, optional: Sequence[str] = ()) -> Any:
    """A model with all its weights, ready for inference.

    Args:
        model_class: with ``from_pretrained``. folder: of the model. run: names the device.
        optional: parts of the model that are not used, and may lack weights.

    Raises:
        InputError: it cannot be loaded, or weights are missing, which would be drawn at random; or there is no such
            device.
    """
    torch, _ = packages()
    with loading(folder):
        model, report = model_class.from_pretrained(str(folder), output_loading_info=True, **LOCAL)
    missing = sorted(name for name in report["missing_keys"] if not any(name_part in name for name_part in optional))
    if missing:
        raise InputError(
            "weights of the model are missing", file=folder, found=f"no {first_few(missing)}",
            expected="all weights", advice="Is this the folder of another model?",
        )  # fmt: skip
    try:
        return model.to(torch.device(run.device)).eval()
    except (AssertionError, RuntimeError, NotImplementedError) as error:
        reason = str(error).strip().partition("\n")[0]
        raise InputError(
            f"no such device: {reason}", column="device", found=run.device, expected="cpu, or one that torch can use"
        ) from error


def token_limit(tokenizer: Any, config: Any) -> int:
    """Number of tokens that the model reads at most, special ones included."""
    positions = int(config.max_position_embeddings)
    if config.model_type in _SHIFTED_POSITIONS:
        positions -= int(config.pad_token_id) + 1
    return min(positions, int(tokenizer.model_max_length))


def padded(tokens: Sequence[Sequence[int]], pad: int, device: str) -> tuple[Any, Any]:
    """Numbers of tokens and the mask of those that are no padding: tensors, shape (texts, longest)."""
    torch, _ = packages()
    longest = max(map(len, tokens))
    numbers = torch.tensor([[*row, *[pad] * (longest - len(row))] for row in tokens], device=device)
    mask = torch.tensor([[1] * len(row) + [0] * (longest - len(row)) for row in tokens], device=device)
    return numbers, mask


@contextlib.contextmanager
def inference(run: ModelRun) -> Iterator[None]:
    """Run models in this block: without gradients, in the threads of the run."""
    torch, _ = packages()
    before = torch.get_num_threads()
    torch.set_num_threads(checked_threads(run.threads))
    try:
        with torch.inference_mode():
            yield
    finally:
        torch.set_num_threads(before)


def batched(lengths: Sequence[int], run: ModelRun, values: Callable[[list[int]], Any], columns: int = 1) -> Float64:
    """Values of pairs, computed in batches of similar length, the longest first.

    Args:
        lengths: of the pairs. values: tensor for the indices of some pairs, shape (pairs, columns) or (pairs,).

    Returns:
        Shape (pairs, columns), in the order of the pairs.
    """
    order = np.array(sorted(range(len(lengths)), key=lambda index: -lengths[index]), dtype=np.int64)
    job = _Batches(order, run.batch_size, values, columns)
    with inference(run):
        blocks = run.blocks or CaptionBlocks(Resources(progress=run.progress))
        return blocks.batches(run.depends, len(lengths), columns, job)


@dataclass(frozen=True, eq=False)
class _Batches:
    """Batches of a model as a `cuihop.resources.block_work.BlockWork`, one at a time.

    ``order``: indices of the pairs. ``compute``: tensor of the values of some pairs.
    """

    order: npt.NDArray[np.int64]
    size: int
    compute: Callable[[list[int]], Any]
    columns: int
    threads: int = 1  # torch has its own, and its mode without gradients is that of this thread

    def __len__(self) -> int:
        return math.ceil(len(self.order) / self.size)

    def places(self, number: int) -> npt.NDArray[np.int64]:
        """Places of the pairs of a batch."""
        return self.order[number * self.size : (number + 1) * self.size]

    def values(self, number: int) -> Float64:
        """Values of a batch, float64, shape (pairs, columns)."""
        indices = self.places(number).tolist()
        results: Float64 = np.reshape(self.compute(indices).double().cpu().tolist(), (len(indices), self.columns))
        return results
