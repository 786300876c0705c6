"""Options of a long run: threads, memory, progress bars, a folder of finished blocks to resume from, and shards."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import typer

from cuihop.cli.command_files import FileUse
from cuihop.cli.option_groups import is_stated, option, option_group
from cuihop.cli.output import note, print_json, progress_bars
from cuihop.collection.dataset import Dataset
from cuihop.errors import output_errors
from cuihop.evaluation.shards import OpenShard, open_places, queries_of_shard
from cuihop.resources.block_work import Cluster
from cuihop.resources.memory_budget import DEFAULT_MEMORY
from cuihop.resources.optional_packages import OptionalPackage
from cuihop.resources.progress import Progress
from cuihop.resources.resources import Resources
from cuihop.resources.shard import Shard

RESOURCES_PANEL = "Resources"
_option = partial(option, panel=RESOURCES_PANEL)

RANKING, EVALUATION, BY_RANK = "ranking.blocks", "evaluation.blocks", "by-rank.blocks"
CAPTIONS = "captions"

OF_A_RUN = frozenset({"threads", "memory", "checkpoint", "shard", "cluster", "cluster_folder"})
"""Parameters of a run, which no result depends on. Those of the shards of one job may differ."""


@option_group
class ThreadsOptions:
    """Number of threads."""

    threads: int | None = _option("Number of threads; all cores by default.", min=1)


@option_group
class RunOptions(ThreadsOptions):
    """Threads, checkpoints, shards and clusters of a run; no result depends on them."""

    checkpoint: Path | None = _option(
        "Folder for finished blocks: after an interrupt, the same command resumes from there.",
        mark=FileUse.WRITES_FOLDER,
    )
    shard: str | None = _option(
        "Compute only part I of N of the queries, into the folder of --checkpoint. Then run cuihop shards merge.",
        metavar="I/N",
    )
    cluster: str | None = _option(
        "Compute in a Dask cluster: local:N, tcp://HOST:PORT, tls://HOST:PORT, or its scheduler file.",
        metavar="CLUSTER", mark=OptionalPackage("distributed", "cuihop[cluster]"),
    )  # fmt: skip
    cluster_folder: Path | None = _option(
        "With --cluster: a folder for the data of the job, which all machines of the cluster can access.",
        metavar="FOLDER", mark=FileUse.WRITES_FOLDER,
    )  # fmt: skip

    def job(self, context: typer.Context) -> Job:
        """The job of the command. A cluster is connected until the command ends.

        Raises:
            ClusterError: the cluster cannot be reached, or has other versions.
        """
        if self.shard is not None and self.checkpoint is None:
            raise typer.BadParameter("--shard needs --checkpoint FOLDER, the same for all shards")
        shard = None if self.shard is None else Shard.parse(self.shard)
        cluster, command = (
            _connected(context, self.cluster, self.cluster_folder),
            context.command_path.partition(" ")[2],
        )
        arguments = given_arguments(context)
        return Job(self.threads, DEFAULT_MEMORY, self.checkpoint, shard, command, arguments, cluster=cluster)


@option_group
class MemoryRunOptions(RunOptions):
    """As `RunOptions`, with a bound on memory."""

    memory: str = _option(
        "Memory to use in addition to the inputs, such as 500MB. Results do not depend on it.", default=DEFAULT_MEMORY
    )

    def job(self, context: typer.Context) -> Job:
        """As `RunOptions.job`, with the memory of the option."""
        return replace(super().job(context), memory=self.memory)


@dataclass(frozen=True)
class Job:
    """A run of a command: its resources, its folder of finished blocks, its shard.

    Attributes:
        memory: allowance without the inputs. checkpoint: folder. shard: selects the queries to compute.
        command, arguments: of the command line, for the record of a shard. opened: the shard, once it is open.
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
        queries = None if self.opened is None else self.opened.places
        return Resources(self.threads, self.memory, places=queries, cluster=self.cluster)

    @property
    def folder(self) -> Path | None:
        """The folder of finished blocks: of the shard, or of the job."""
        return self.checkpoint if self.opened is None else self.opened.folder

    @contextlib.contextmanager
    def open_shard(self, of: Dataset | int, *, by_position: bool = False) -> Iterator[Job]:
        """The job on the queries of the shard; printed and recorded as finished at the end of the block.

        ``of`` is the collection, or the number of all queries, which are then dealt out by position; the rest is as in
        `cuihop.evaluation.open_shard`.
        """
        if self.shard is None or self.checkpoint is None:
            raise ValueError("no shard")
        if isinstance(of, int):
            queries, of_queries = self.shard.of_positions(of), of
        else:
            queries, of_queries = queries_of_shard(self.shard, of, by_position=by_position)
        with open_places(
            self.shard, self.checkpoint, queries, of_queries, self.limits(), self.command, self.arguments
        ) as opened:  # fmt: skip
            yield replace(self, opened=opened)
        merge = f"cuihop shards merge {self.checkpoint}"
        if (self.arguments or {}).get("json"):
            print_json({"shard": str(self.shard), "queries": len(queries), "of_queries": of_queries,
                        "folder": str(opened.folder), "then": merge})  # fmt: skip
        else:
            typer.echo(f"shard {self.shard}: {len(queries):,} of {of_queries:,} queries, in {opened.folder}; {merge}")

    @contextlib.contextmanager
    def progress_bars(self) -> Iterator[Callable[[str], Progress]]:
        """Create the folder, and open progress bars as `cuihop.cli.output.progress_bars`."""
        if self.checkpoint is not None:
            with output_errors(f"{self.checkpoint}: not a folder for checkpoints"):
                self.checkpoint.mkdir(parents=True, exist_ok=True)
        with resumable(self.checkpoint, "blocks"), progress_bars() as bar_of:
            yield bar_of

    def finish(self) -> None:
        """Remove the finished blocks, but not those of shards, and the folder if it is empty then."""
        if self.checkpoint is None:
            return
        from cuihop.resources.checkpoint import remove_finished

        for name in (RANKING, EVALUATION, BY_RANK, f"{CAPTIONS}-"):
            for file in self.checkpoint.glob(f"{name}*"):  # judged blocks have names of their own
                remove_finished(file)
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


@contextlib.contextmanager
def resumable(checkpoint: Path | None, finished: str) -> Iterator[None]:
    """Note, if the block is interrupted, the folder that the same command resumes from."""
    try:
        yield
    except KeyboardInterrupt:
        if checkpoint is not None:
            note(f"finished {finished} are in {checkpoint}; the same command resumes from there")
        raise


def given_arguments(context: typer.Context) -> dict[str, Any]:
    """The arguments of the command line or the environment, as values of JSON, without those of the run."""
    names = [str(parameter.name) for parameter in context.command.params]
    return {
        name: _plain(context.params.get(name))
        for name in names
        if name not in OF_A_RUN and is_stated(context, name, ("COMMANDLINE", "ENVIRONMENT"))
    }


def _plain(value: Any) -> Any:
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    return value if value is None or isinstance(value, bool | int | float) else str(value)
