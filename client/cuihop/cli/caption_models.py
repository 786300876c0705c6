"""Options of ``cuihop captions`` for measures by models with weights."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cuihop.captions.blocks import CaptionBlocks
from cuihop.captions.external_scores import ExternalScores
from cuihop.captions.reading import Captions
from cuihop.captions.scoring import CaptionRules
from cuihop.cli.command_files import FileUse
from cuihop.cli.compared_systems import named_files
from cuihop.measures.measure import Measure

if TYPE_CHECKING:
    from cuihop.adapters.local_models import ModelRun

_SIMILARITY = "similarity"

_option = partial(typer.Option, rich_help_panel="Models")


@dataclass(frozen=True, kw_only=True)
class ModelOptions:
    """Models, and embeddings of images and captions."""

    model: Annotated[
        list[str] | None,
        _option(
            "--model", metavar="MEASURE=FOLDER",
            help="Model of BERTScore, BLEURT, AlignScore or similarity, from a folder. Nothing is fetched.",
        ),
        FileUse.READS,
    ] = None  # fmt: skip
    images: Annotated[
        Path | None,
        _option(
            "--images",
            help="For similarity: folder of pictures named after the images; or their embeddings, .npz or .npy.",
        ),
    ] = None
    caption_embeddings: Annotated[
        list[str] | None,
        _option(
            "--caption-embeddings", metavar="SYSTEM=FILE",
            help="For similarity without a model: embeddings of a system's captions, .npz or .npy.",
        ),
        FileUse.READS,
    ] = None  # fmt: skip
    bertscore_layer: Annotated[
        int | None,
        _option(
            "--bertscore-layer", min=1, show_default="40 of DeBERTa-xlarge, else the last",
            help="Layer of the model that BERTScore compares.",
        ),
    ] = None  # fmt: skip
    device: Annotated[str, _option("--device", help="Device of torch, such as cuda.")] = "cpu"


@dataclass(frozen=True)
class Models:
    """Models, and embeddings of images and captions.

    Attributes:
        folders: family of measures → folder. images: see `ModelOptions`.
        captions: system → file of embeddings. device, layer, threads: of the run.
    """

    folders: Mapping[str, Path]
    images: Path | None
    captions: Mapping[str, Path]
    device: str
    layer: int | None
    threads: int | None

    @classmethod
    def of(
        cls, systems: Iterable[str], options: ModelOptions, captions: Mapping[str, Sequence[Path]], threads: int | None
    ) -> Models:  # fmt: skip
        """From the options, for systems of these names.

        Raises:
            typer.BadParameter: a model of no measure, or options that do not go together.
            ModuleNotFoundError: a package that a model needs is missing.
        """
        folders: dict[str, Path] = {}
        images, layer = options.images, options.bertscore_layer
        if options.model:
            from cuihop.adapters.caption_models import MODEL_MEASURES

            families = [*MODEL_MEASURES, _SIMILARITY]
            for family, path in named_files(options.model, "--model"):
                if family not in families or family in folders:
                    raise typer.BadParameter(f"--model takes MEASURE=FOLDER, each of {', '.join(families)} once")
                folders[family] = path
        if images is None and (captions or _SIMILARITY in folders):
            raise typer.BadParameter("similarity needs --images")
        if images is not None and bool(captions) == (_SIMILARITY in folders):
            raise typer.BadParameter("--images goes with either --model similarity=FOLDER or --caption-embeddings")
        if captions and any(len(captions.get(system, ())) != 1 for system in systems):
            raise typer.BadParameter("--caption-embeddings SYSTEM=FILE is needed once for each system")
        if layer is not None and "BERTScore" not in folders:
            raise typer.BadParameter("--bertscore-layer goes with --model BERTScore=FOLDER")
        if folders:
            from cuihop.adapters.caption_models import PACKAGES_OF_MODELS
            from cuihop.adapters.local_models import check_folder

            for family, folder in folders.items():
                check_folder(folder, family)
                for package in PACKAGES_OF_MODELS[family]:
                    package.check()
        embeddings = {name: paths[0] for name, paths in captions.items()}
        return cls(folders, images, embeddings, options.device, layer, threads)

    def scores(
        self, system: str, references: Captions, predictions: Captions, rules: CaptionRules,
        measures: Sequence[Measure], blocks: CaptionBlocks,
    ) -> list[ExternalScores]:  # fmt: skip
        """Values of a system's captions by each model."""
        if not self.folders and self.images is None:
            return []
        from cuihop.adapters.caption_models import Pictures, model_scores, similarity_scores
        from cuihop.adapters.local_models import ModelRun

        run: ModelRun = ModelRun(self.device, threads=self.threads, layer=self.layer, blocks=blocks)
        found = [
            model_scores(family, references, predictions, folder, rules=rules, run=run, measures=measures)
            for family, folder in self.folders.items()
            if family != _SIMILARITY
        ]
        if self.images is not None:
            pictures = Pictures(self.folders.get(_SIMILARITY), self.images, self.captions.get(system))
            found.append(similarity_scores(references, predictions, pictures, official=rules.official, run=run))
        return found
