"""Options of a long run: threads, memory, progress bars, a folder of finished blocks to resume from, and shards."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import numpy.typing as npt
import typer

from cuihop.cli.command_files import FileUse
from cuihop.cli.output import note, print_json, progress
from cuihop.collection.dataset import Dataset
from cuihop.errors import OutputError
from cuihop.evaluation.shards import OpenShard, open_places, queries_of_shard
from cuihop.resources.block_work import Cluster
from cuihop.resources.memory_budget import DEFAULT_MEMORY
from cuihop.resources.optional_packages import OptionalPackage
from cuihop.resources.progress import Progress
from cuihop.resources.resources import Resources
from cuihop.resources.shard import Shard

RESOURCES_PANEL = "Resources"
_option = partial(typer.Option, rich_help_panel=RESOURCES_PANEL)

RANKING, EVALUATION, BY_RANK = "ranking.blocks", "evaluation.blocks", "by-rank.blocks"
CAPTIONS = "captions"

OF_A_RUN = frozenset({"threads", "memory", "checkpoint", "shard", "cluster", "cluster_folder"})
"""Parameters of a run, which no result depends on. Those of the shards of one job may differ."""


ThreadsOption = Annotated[
    int | None, _option("--threads", min=1, help="Threads; all cores by default.", show_default=False)
]


@dataclass(frozen=True, kw_only=True)
class RunOptions:
    """Threads, checkpoints, shards and clusters of a run; no result depends on them."""

    threads: ThreadsOption = None
    checkpoint: Annotated[
        Path | None,
        _option(
            "--checkpoint",
            help="Folder for finished blocks: after an interrupt, the same command resumes from there.",
        ),
        FileUse.WRITES_FOLDER,
    ] = None
    shard: Annotated[
        str | None,
        _option(
            "--shard", metavar="I/N",
            help="Compute only this part of the queries, into the folder of --checkpoint. Then run cuihop merge.",
        ),
    ] = None  # fmt: skip
    cluster: Annotated[
        str | None,
        _option(
            "--cluster", metavar="CLUSTER",
            help="Compute in a Dask cluster: local:N, tcp://HOST:PORT, tls://HOST:PORT, or its scheduler file.",
        ),
        OptionalPackage("distributed", "cuihop[cluster]"),
    ] = None  # fmt: skip
    cluster_folder: Annotated[
        Path | None,
        _option(
            "--cluster-folder", metavar="FOLDER",
            help="With --cluster: a folder that every machine of it sees, for the data of the job.",
        ),
        FileUse.WRITES_FOLDER,
    ] = None  # fmt: skip

    def job(self, context: typer.Context, memory: str = DEFAULT_MEMORY) -> Job:
        """The job of the command. A cluster is connected until the command ends.

        Raises:
            typer.BadParameter: a shard or a cluster without a folder. InputError: not a shard, or not a cluster.
            ClusterError: the cluster cannot be reached, or has other versions.
        """
        if self.shard is not None and self.checkpoint is None:
            raise typer.BadParameter("--shard needs --checkpoint FOLDER, the same for all shards")
        shard = None if self.shard is None else Shard.parse(self.shard)
        cluster = _connected(context, self.cluster, self.cluster_folder)
        arguments = given_arguments(context)
        return Job(self.threads, memory, self.checkpoint, shard, str(context.info_name), arguments, cluster=cluster)


@dataclass(frozen=True, kw_only=True)
class MemoryRunOptions(RunOptions):
    """As `RunOptions`, with a bound on memory."""

    memory: Annotated[
        str, _option("--memory", help="Memory beside the inputs, such as 500MB. Results do not depend on it.")
    ] = DEFAULT_MEMORY

    def job(self, context: typer.Context, memory: str = "") -> Job:
        """As `RunOptions.job`, with the memory of the option."""
        return super().job(context, memory or self.memory)


@dataclass(frozen=True)
class Job:
    """A run of a command: its resources, its folder of finished blocks, its shard.

    Attributes:
        threads: their maximum; ``None`` for all cores. memory: allowance beside the inputs. checkpoint: folder.
        shard: the part of the queries to compute; ``None`` for all.
        command, arguments: of the command line, for the record of a shard.
        cluster: computes the queries; ``None`` for this process. opened: the shard, once it is open.
    """

    threads: int | None
    memory: str
    checkpoint: Path | None
    shard: Shard | None = None
    command: str = ""
    arguments: dict[str, Any] | None = None
    opened: OpenShard | None = None
    cluster: Cluster | None = None

    def resources(self, file: str, progress: Progress | None = None) -> Resources:
        """The resources of a task whose finished blocks go into a file of this name."""
        path = None if self.folder is None else self.folder / file
        return replace(self.limits(), progress=progress, checkpoint=path, keep_checkpoint=True)

    def limits(self) -> Resources:
        """Threads and memory, and the queries of an open shard, without progress and checkpoint."""
        places = None if self.opened is None else self.opened.places
        return Resources(self.threads, self.memory, places=places, cluster=self.cluster)

    @property
    def folder(self) -> Path | None:
        """The folder of finished blocks: of the shard, or of the whole."""
        return self.checkpoint if self.opened is None else self.opened.folder

    @contextlib.contextmanager
    def open_shard_of(self, data: Dataset, *, by_position: bool = False) -> Iterator[Job]:
        """As `open_shard`, of the queries of a collection."""
        if self.shard is None:
            raise ValueError("no shard")
        with self.open_shard(*queries_of_shard(self.shard, data, by_position=by_position)) as opened:
            yield opened

    @contextlib.contextmanager
    def open_shard(self, places: npt.NDArray[np.int64], of_queries: int) -> Iterator[Job]:
        """The job on the queries of the shard; printed and recorded as finished at the end of the block.

        Args:
            places: of its queries. of_queries: number of all.

        Raises:
            InputError, OutputError: as `cuihop.evaluation.open_shard`.
        """
        if self.shard is None or self.checkpoint is None:
            raise ValueError("no shard")
        with open_places(
            self.shard, self.checkpoint, places, of_queries, self.limits(), self.command, self.arguments
        ) as opened:  # fmt: skip
            yield replace(self, opened=opened)
        merge = f"cuihop merge {self.checkpoint}"
        if (self.arguments or {}).get("json"):
            print_json({"shard": str(self.shard), "queries": len(places), "of_queries": of_queries,
                        "folder": str(opened.folder), "then": merge})  # fmt: skip
        else:
            typer.echo(f"shard {self.shard}: {len(places):,} of {of_queries:,} queries, in {opened.folder}; {merge}")

    def prepare(self) -> None:
        """Create the folder.

        Raises:
            OutputError: it cannot be created.
        """
        if self.checkpoint is None:
            return
        try:
            self.checkpoint.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise OutputError(f"{self.checkpoint}: not a folder for checkpoints: {error.strerror or error}") from error

    @contextlib.contextmanager
    def progress_bars(self) -> Iterator[Callable[[str], Progress]]:
        """Create the folder, and open progress bars: the value maps the label of a bar to its progress callback.

        Raises:
            OutputError: as `prepare`.
        """
        self.prepare()
        try:
            with progress() as bar:

                def bar_of(label: str) -> Progress:
                    task = bar.add_task(label, total=None)
                    return lambda done, total: bar.update(task, completed=done, total=total)

                yield bar_of
        except KeyboardInterrupt:
            if self.checkpoint is not None:
                note(f"finished blocks are in {self.checkpoint}; the same command resumes from there")
            raise

    def finish(self) -> None:
        """Remove the finished blocks, but not those of shards, and the folder if it is empty then."""
        if self.checkpoint is None:
            return
        for name in (RANKING, EVALUATION, BY_RANK, f"{CAPTIONS}-"):
            for file in self.checkpoint.glob(f"{name}*"):  # judged blocks are beside those of gains
                file.unlink(missing_ok=True)
        with contextlib.suppress(OSError):
            self.checkpoint.rmdir()


def _connected(context: typer.Context, address: str | None, folder: Path | None) -> Cluster | None:
    if address is None:
        if folder is not None:
            raise typer.BadParameter("--cluster-folder goes with --cluster")
        return None
    from cuihop.cluster import open_cluster

    opened = context.with_resource(open_cluster(address, folder))
    note(opened.account)
    return opened


def given_arguments(context: typer.Context) -> dict[str, Any]:
    """The arguments that a command line or the environment gave, as values of JSON; but those of the run."""
    given = {}
    for parameter in context.command.params:
        name = str(parameter.name)
        source = str(context.get_parameter_source(name))
        if name not in OF_A_RUN and source.endswith(("COMMANDLINE", "ENVIRONMENT")):
            given[name] = _plain(context.params.get(name))
    return given


def _plain(value: Any) -> Any:
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    return value if value is None or isinstance(value, bool | int | float) else str(value)
