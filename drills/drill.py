"""A drill: cases by number, each drawn from a seed, so that one that fails can be run again alone."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import NamedTuple

__all__ = ["DRILLS", "Case", "Drill", "Found", "NumberedRandom", "Setting", "Step"]


class Found(NamedTuple):
    """Result of a case: the number of units that it tried, and the faults.

    Attributes:
        tried: number of units that were tried: see `Drill.unit`.
        wrong: a sentence for each fault.
        measured: numbers by what was measured, with its unit.
    """

    tried: int
    wrong: list[str]
    measured: Mapping[str, Sequence[float]] | None = None


@dataclass(frozen=True)
class Setting:
    """Surroundings of the cases of a drill.

    Attributes:
        folder: an empty folder of this process.
        small: true in continuous integration, where a drill has seconds.
    """

    folder: Path
    small: bool = False


class NumberedRandom(random.Random):
    """The random numbers of a case, with its number: for a drill that tries all points of a list first."""

    number = 0


Case = Callable[[NumberedRandom], Found]
"""Makes and tries one case. Everything random comes from its argument."""

Step = Callable[[Setting], AbstractContextManager[Case]]


@dataclass(frozen=True)
class Drill:
    """A drill, tried by the function ``cases`` of the module of its name.

    Attributes:
        name: its module in ``drills/``, and its name on the command line.
        tries: what it does, for the table of docs/reliability.md.
        unit: what it counts.
        small, full: the number of cases in continuous integration, and of `make drill`.
        alone: true if its processes would disturb each other: it has one, and starts others itself.
    """

    name: str
    tries: str
    unit: str
    small: int
    full: int
    alone: bool = field(default=False, kw_only=True)

    @contextmanager
    def cases(self, setting: Setting) -> Iterator[Case]:
        """The function that tries a case, until the block ends."""
        step: Step = import_module(f"drills.{self.name}").cases
        with step(setting) as case:
            yield case

    def random(self, seed: int, number: int) -> NumberedRandom:
        """The random numbers of a case: the same wherever and whenever it runs."""
        drawn = NumberedRandom(f"{self.name} {seed} {number}")
        drawn.number = number
        return drawn


DRILLS = (
    Drill(
        "one_answer",
        "Distances, neighbourhoods and paths of random releases, by search, file, index, HTTP and gRPC, against "
        "NetworkX and recursive SQL in SQLite, which read the drawn graph and not its files",
        "answers",
        6,
        3_000,
    ),
    Drill(
        "one_evaluation",
        "nn-IoU with each weight, nn-CUI@K and similarity of random collections, by search, index and service, against "
        "the definitions written out",
        "evaluations",
        10,
        10_000,
    ),
    Drill(
        "answers_of_neo4j",
        "Distances, neighbourhoods, paths and nn-CUI@K of random releases in Neo4j, by Cypher, alone and through a "
        "service over HTTP and gRPC, within all vocabularies or some, against the oracles of the two drills above",
        "answers",
        1,
        1_000,
    ),
    Drill(
        "relations",
        "What must not matter, or must change an answer in a known way: the order of files and rows, mirrored and "
        "repeated rows, renamed identifiers, a new leaf, the order of images, shards, threads and memory; symmetry and "
        "the triangle inequality",
        "relations",
        6,
        2_000,
    ),
    Drill(
        "damaged_files",
        "Bits flipped, bytes cut, swapped and overwritten in snapshots, indexes, checkpoints and distance packs",
        "files",
        300,
        100_000,
    ),
    Drill(
        "fuzzed_readers",
        "Each reader of files, Cypher and keys in turn, with inputs changed by Atheris, which keeps those that reach "
        "new code: 200,000 of texts, 100,000 of snapshots, 25,000 of releases; changed sections of snapshots get "
        "right checksums. Each is read, or refused in words, within a second, with the bounds of arrays checked",
        "inputs",
        1,
        600,
    ),
    Drill(
        "faults_of_files",
        "SIGKILL, ENOSPC, EIO, EMFILE or EROFS at one call that opens, writes, syncs, renames, cuts or removes, in "
        "load, index, names, neighbour dictionary, evaluation with a checkpoint, shard, keys; then the command again. "
        "Each fault at every such call of cuihop, then at calls by which Python opens its own files",
        "points",
        4,
        2_000,
    ),
    Drill(
        "faults_of_switches",
        "SIGKILL, or a connection that fails, at one call that connects, sends or receives, in a switch of "
        "releases in Neo4j; readers get the old release or the new, and then the switch is made again",
        "points",
        1,
        1_000,
    ),
    Drill(
        "bounds_checked",
        "Cases of the drills above, and the tests of compiled code, with the bounds of every array checked "
        "(`NUMBA_BOUNDSCHECK=1`)",
        "cases and tests",
        1,
        60,
    ),
    Drill(
        "sessions",
        "16 clients over HTTP and gRPC, which retry as documented, of two replicas behind HAProxy, while releases are "
        "switched and one part fails: workers killed at any age, a replica killed, Neo4j or Redis cut off, slow or "
        "half open. Each answer is right for the release that it names, and no client gets an older release after a "
        "newer one. A case is at least 10,000 operations of each fault",
        "operations",
        1,
        14,
        alone=True,
    ),
    Drill(
        "overload",
        "Twice as many batches as a service can answer, over HTTP and gRPC, by 16 clients that retry as documented: "
        "none is answered wrongly, no client starves, and connections, threads and memory are given back",
        "requests",
        1,
        3,
        alone=True,
    ),
    Drill(
        "slow_and_stopped",
        "Callers of every operation that time out, go away at any byte, send a byte a second, never read or stop "
        "themselves, and workers that are stopped: deadlines hold, others are answered, and no thread, descriptor or "
        "memory is left",
        "abandoned calls",
        1,
        4,
        alone=True,
    ),
    Drill(
        "soak",
        "A mixed load over HTTP and gRPC at 80 % of the measured capacity, for half an hour: no wrong answer, and no "
        "thread, descriptor or memory more than before",
        "answers",
        1,
        1,
        alone=True,
    ),
    Drill(
        "restore",
        "A snapshot with index, keys and settings, or a release in Neo4j, is lost or damaged, and restored from its "
        "backup by the commands of the documentation: the answers before and after, timed to the first one",
        "answers",
        1,
        40,
        alone=True,
    ),
    Drill(
        "hostile_requests",
        "Requests of the OpenAPI document, of the gRPC contract, of FHIR and of the tools for agents, right, wrong and "
        "damaged, of callers with each scope and of strangers, and schemathesis with all its checks but one: no fault "
        "of the service, no status that the documents do not list, no name without its scope",
        "requests",
        1,
        270,
    ),
    Drill(
        "mutants",
        "One changed operator, comparison, constant, condition, statement or order of arguments in kernels, measures, "
        "loader, the guard of Cypher, supervisor and release order; the tests in process that reach it are to fail",
        "mutants",
        4,
        2_000,
    ),
    Drill(
        "compatibility",
        "Files of earlier versions; the oldest and the newest NumPy, numba and Python that are allowed; code for "
        "x86-64 without AVX; an earlier client with the service of today, and the other way round",
        "files and graphs",
        1,
        24,
        alone=True,
    ),
)
