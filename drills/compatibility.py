"""Drill: compatibility. What other versions made and asked is answered the same, or refused with advice.

Other versions are files of earlier ones, an earlier client and service, other versions of the dependencies, and code
for a processor without AVX.

Files of earlier versions stand in ``drills/golden``, each in a folder named by the commit whose code made it, from the
graph and the collection of ``tests/example_files.py``. The earlier client and service come out of the history of this
repository; environments of other versions are made in ``.cache/drills``.
"""

from __future__ import annotations

import io
import json
import os
import random
import re
import shutil
import subprocess
import sys
import tarfile
import tomllib
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from cuihop import ConceptGraph, Evaluation, NeighbourDictionary, Resources, SnapshotGraph, evaluate
from cuihop.collection.image_concepts import ImageConcepts
from cuihop.comparison.score_card import ScoreCard
from cuihop.errors import CuihopError, DamageWarning
from cuihop_server import running_service
from drills.answers_of_a_version import CONCEPTS, edges
from drills.drill import Case, Found, Setting
from example_files import write_example_files

ROOT = Path(__file__).resolve().parents[1]
GOLDEN = ROOT / "drills" / "golden"
_SERVED = "b6606849"
"""The commit whose client and service are tried against those of today."""
_MINORS = range(11, 15)  # of Python 3
_PROGRAM = ROOT / "drills" / "answers_of_a_version.py"
_CONCEPTS = ["C0018800", "C0032227", "C0032326", "C3887491"]
_PACKAGES = ("client", "graph_loader", "service", "proto", "tests")
_ADVICE = re.compile(r"again|[Uu]pgrade|another file|--checkpoint")
_SERVE = """
import sys
from cuihop import SnapshotGraph
from cuihop_server import running_service
with running_service(SnapshotGraph.open(sys.argv[1])) as service:
    print(service.http, service.grpc, flush=True)
    sys.stdin.read()
"""


@contextmanager
def cases(setting: Setting) -> Iterator[Case]:
    """A case is one kind of other version, as a whole."""
    ways: list[Callable[[Path], Iterator[str | None]]] = [earlier_files]
    if not setting.small:
        ways += [_without_avx, _oldest, _newest, _earlier_client, _earlier_service]

    def case(rng: random.Random) -> Found:
        folder = setting.folder / "case"
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        results = list(rng.choice(ways)(folder))
        return Found(len(results), [result for result in results if result is not None])

    yield case


def earlier_files(folder: Path) -> Iterator[str | None]:
    """Each golden file, read by the code of today: the answers of a file made today, or a refusal with advice."""
    today = folder / "today"
    today.mkdir()
    write_example_files(today)
    for version in sorted(path for path in GOLDEN.iterdir() if path.is_dir()):
        for file in sorted(path for path in version.rglob("*") if path.is_file() and path.name in _READERS):
            where = folder / f"{version.name}-{file.name}"
            shutil.copytree(today, where)
            yield _read(file, where, f"{file.relative_to(GOLDEN)}")


def _read(file: Path, where: Path, name: str) -> str | None:
    copied = where / file.name
    shutil.copy(file, copied)
    expected = _expected(file.name, where)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DamageWarning)  # of an index that is set aside
        try:
            found = _READERS[file.name](where)
        except CuihopError as error:
            problem = str(error)
            good = file.name in problem and _ADVICE.search(problem)
            return None if good else f"{name}: refused without its name or advice: {problem}"
    return None if found == expected else f"{name}: {found} in place of {expected}"


def _expected(name: str, where: Path) -> object:
    """The answers of today's file of this name, made from the same data."""
    graph = SnapshotGraph.open(where.parent / "today" / "graph.cuihop")
    if name in ("graph.cuihop", "graph.cuihop.index"):
        return _distances(graph, None)
    if name == "near.cuihop":
        return _distances(NeighbourDictionary.of(graph, _CONCEPTS, hops=2), 2)
    return _values(_evaluated(where))


def _distances(graph: ConceptGraph, hops: int | None) -> object:
    pairs = [(a, b) for a in _CONCEPTS for b in _CONCEPTS] * 5
    with graph:
        return [
            list(graph.distances(pairs, max_hops=hops).to_list()),
            graph.distance("C3887491", "C0018800", max_hops=2),
        ]


def _evaluated(where: Path, **resources: object) -> Evaluation:
    graph = SnapshotGraph.open(where.parent / "today" / "graph.cuihop")
    return evaluate(
        ImageConcepts.read(where / "concepts.csv"), where / "run-a.csv", graph,
        resources=Resources(**resources),  # type: ignore[arg-type]
    )  # fmt: skip


def _values(evaluation: Evaluation) -> object:
    return [list(evaluation.queries), evaluation.values.tolist()]


def _card(where: Path) -> object:
    card = ScoreCard.read(where / "card.json")
    return [list(card.queries), [list(row) for row in zip(*(of.tolist() for of in card.values.values()), strict=True)]]


def _table(where: Path) -> object:
    header, *rows = [line.split(",") for line in (where / "values.csv").read_text("utf-8").splitlines()]
    measures = [index for index, name in enumerate(header) if name.startswith("nn-CUI@")]
    return [[row[0] for row in rows], [[float(row[index]) for index in measures] for row in rows]]


_READERS: dict[str, Callable[[Path], object]] = {
    "graph.cuihop": lambda where: _distances(SnapshotGraph.open(where / "graph.cuihop"), None),
    "graph.cuihop.index": lambda where: _distances(SnapshotGraph.open(where / "graph.cuihop"), None),
    "near.cuihop": lambda where: _distances(NeighbourDictionary.open(where / "near.cuihop"), 2),
    "evaluation.blocks": lambda where: _values(_evaluated(where, checkpoint=where / "evaluation.blocks")),
    "card.json": _card,
    "values.csv": _table,
}


def _answers(python: Path | str, *arguments: str, **variables: str) -> dict[str, object]:
    """The answers of a version, by name of their source."""
    done = subprocess.run(
        [str(python), str(_PROGRAM), *arguments], capture_output=True, text=True, check=False,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(str(ROOT / each) for each in _PACKAGES)} | variables,
    )  # fmt: skip
    if done.returncode:
        return {" ".join(arguments): (done.stdout + done.stderr)[-1500:]}
    answers: dict[str, object] = json.loads(done.stdout)
    return answers


def _compared(name: str, folder: Path, answers: dict[str, object]) -> Iterator[str | None]:
    [right, *_] = _answers(sys.executable, str(folder)).values()
    for source, found in answers.items():
        yield None if found == right else f"{name}, {source}: {str(found)[:1500]} in place of {str(right)[:500]}"


def _without_avx(folder: Path) -> Iterator[str | None]:
    baseline = {"NUMBA_CPU_NAME": "x86-64", "NUMBA_CPU_FEATURES": "+sse2"}
    yield from _compared("x86-64", folder, _answers(sys.executable, str(folder), **baseline))


def _oldest(folder: Path) -> Iterator[str | None]:
    yield from _compared("oldest", folder, _answers(environment("oldest"), str(folder)))


def _newest(folder: Path) -> Iterator[str | None]:
    yield from _compared("newest", folder, _answers(environment("newest"), str(folder)))


def environment(name: str) -> Path:
    """The interpreter of an environment with the oldest or the newest versions that are allowed."""
    place = ROOT / ".cache" / "drills" / name
    python = place / "bin" / "python"
    if not python.exists():
        project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
        wanted = project["dependencies"] + project["optional-dependencies"]["loader"]
        if name == "oldest":
            wanted = [each.replace(">=", "==") for each in wanted]
        subprocess.run([_pythons()[0 if name == "oldest" else -1], "-m", "venv", "--clear", str(place)], check=True)
        subprocess.run([str(python), "-m", "pip", "install", "--quiet", *wanted], check=True)
    return python


def _pythons() -> list[str]:
    """The interpreters of this machine that are allowed, the oldest first."""
    pythons = []
    for minor in _MINORS:
        managed = [str(path) for path in Path.home().glob(f".pyenv/versions/3.{minor}.*/bin/python")]
        for path in (shutil.which(f"python3.{minor}"), *managed):
            if path is not None and not subprocess.run([path, "-c", ""], capture_output=True, check=False).returncode:
                pythons.append(path)
    return pythons


def _earlier(folder: Path) -> str:
    """The packages of the earlier commit, as a path of Python."""
    archive = subprocess.run(["git", "archive", _SERVED, *_PACKAGES], cwd=ROOT, capture_output=True, check=True).stdout
    with tarfile.open(fileobj=io.BytesIO(archive)) as files:
        files.extractall(folder / "earlier", filter="data")
    return os.pathsep.join(str(folder / "earlier" / each) for each in _PACKAGES)


def _earlier_client(folder: Path) -> Iterator[str | None]:
    path = _earlier(folder)
    with running_service(SnapshotGraph.of(edges(), concepts=CONCEPTS)) as service:
        for address in (service.http, service.grpc):
            yield from _compared("earlier client", folder, _answers(sys.executable, address, PYTHONPATH=path))


def _earlier_service(folder: Path) -> Iterator[str | None]:
    path = _earlier(folder)
    (folder / "made").mkdir()
    graph = folder / "made" / "graph.cuihop"
    variables = os.environ | {"PYTHONPATH": path}
    _answers(sys.executable, str(folder / "made"), PYTHONPATH=path)
    with subprocess.Popen(
        [sys.executable, "-c", _SERVE, str(graph)], env=variables, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        text=True,
    ) as service:  # fmt: skip
        outputs = service.stdout
        for address in "" if outputs is None else outputs.readline().split():
            yield from _compared("earlier service", folder, _answers(sys.executable, address))
        if service.stdin is not None:
            service.stdin.close()
