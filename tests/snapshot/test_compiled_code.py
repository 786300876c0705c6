"""Machine code of earlier runs: used again, and compiled again after a change or if its file cannot be read."""

from __future__ import annotations

import importlib
import os
import pkgutil
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

import cuihop
import cuihop._kernels
import cuihop_loader._kernels
from cuihop._kernels.jit import OTHER_SOURCES, compiled
from cuihop.resources.compilation import announce_compilation, compilation_begins, compilation_ends

PROGRAM = """
import sys
import numpy as np
from cuihop._kernels.tokens import hashes_of
value = hashes_of(np.array([0, 2]), np.array([97, 98], dtype=np.uint32))[0]
print(value, sum(hashes_of.stats.cache_hits.values()), "numba.np.arraymath" in sys.modules)
"""


def run(program: str, **environment: str | Path) -> str:
    """Output of a program, in a process of its own."""
    variables = {name: str(value) for name, value in environment.items()}
    done = subprocess.run(
        [sys.executable, "-c", program], env=os.environ | variables, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


@pytest.mark.slow
def test_code_that_cannot_be_read_is_compiled_again(tmp_path: Path) -> None:
    value, *compiled = run(PROGRAM, NUMBA_CACHE_DIR=tmp_path).split()
    read = [value, "1", "False"]  # what only compilation needs is not imported
    assert compiled == ["0", "True"]
    assert run(PROGRAM, NUMBA_CACHE_DIR=tmp_path).split() == read
    for content in (b"", b"\x80\x04", b"\x80\x04\x95\x1a\x00\x00\x00\x00\x00\x00\x00\x8c\x03nothing\x94."):
        for file in tmp_path.rglob("*.nbc"):
            file.write_bytes(content)
        assert run(PROGRAM, NUMBA_CACHE_DIR=tmp_path).split() == [value, *compiled], content
        assert run(PROGRAM, NUMBA_CACHE_DIR=tmp_path).split() == read, content


@pytest.mark.slow
def test_code_that_came_with_the_installation_is_read_and_nothing_written(tmp_path: Path) -> None:
    value, *_ = run(PROGRAM, NUMBA_CACHE_DIR=tmp_path / "shipped").split()
    installed = (
        f"from pathlib import Path\nfrom cuihop._kernels import jit\njit.SHIPPED = Path({str(tmp_path / 'shipped')!r})"
    )
    assert run(installed + PROGRAM, NUMBA_CACHE_DIR=tmp_path / "own").split() == [value, "1", "False"]
    assert list((tmp_path / "own").rglob("*.nbc")) == []


@pytest.mark.slow
def test_code_for_a_processor_that_this_one_is_not_is_compiled_again(tmp_path: Path) -> None:
    of_image: dict[str, str | Path] = {"NUMBA_CACHE_DIR": tmp_path, "NUMBA_CPU_NAME": "generic"}
    of_image["NUMBA_CPU_FEATURES"] = "+sse2"
    program = PROGRAM + "import numba; print(numba.config.CPU_NAME, numba.config.CPU_FEATURES)"
    value, *compiled = run(program, **of_image).split()
    lacking = of_image | {"NUMBA_CPU_FEATURES": "+sse2,+none"}  # as an older processor lacks AVX2
    assert run(program, **lacking).split() == [value, "0", "True", "None", "None"]
    assert compiled[2:] in (["generic", "+sse2"], ["None", "None"])  # the latter on another architecture


FIRST_EVALUATION = """
import cuihop
import numba.core.event
from cuihop.relevance import random_ranking
from example_graph import example_graph

class Compiled(numba.core.event.Listener):
    def on_start(self, event):
        function = event.data["dispatcher"].py_func
        print(f"{function.__module__}.{function.__qualname__}")
    def on_end(self, event):
        pass

graph = example_graph()
numba.core.event.register("numba:compile", Compiled())
images = {f"i{k}": ["C0006121", "C0018670", "C0003483"][: 1 + k % 3] for k in range(30)}
cuihop.evaluate(images, random_ranking(images, 5), graph)
"""


@pytest.mark.slow
@pytest.mark.xdist_group("long tests")
def test_a_first_evaluation_compiles_each_kernel_once_and_no_text(tmp_path: Path) -> None:
    """A kernel is compiled again for each type of its arguments; an array assigned to a slice compiles `str`."""
    lines = run(FIRST_EVALUATION, NUMBA_CACHE_DIR=tmp_path, PYTHONPATH=Path(__file__).parents[1]).splitlines()
    own = [line for line in lines if line.startswith("cuihop._kernels") and not line.endswith(".signed")]
    assert own
    assert len(own) == len(set(own))
    assert not [line for line in lines if "unicode" in line or "quicksort" in line]


CALLER = """
import numpy as np
from cuihop._kernels.jit import compiled
from cuihop._kernels.similarity import ratio

@compiled
def halved(value):
    return ratio(value, 2.0, True)

print(halved(3.0), halved.stats.cache_hits)
"""


@pytest.mark.slow
def test_a_change_of_a_function_that_compiled_code_calls_is_seen(tmp_path: Path) -> None:
    package = tmp_path / "copy" / "cuihop"
    shutil.copytree(Path(cuihop.__file__).parent, package, ignore=shutil.ignore_patterns("__pycache__"))
    caller = tmp_path / "caller.py"
    caller.write_text(CALLER)
    program = f"import runpy; runpy.run_path({str(caller)!r})"
    environment: dict[str, str | Path] = {"PYTHONPATH": package.parent, "NUMBA_CACHE_DIR": tmp_path / "cache"}
    environment["PYTHONDONTWRITEBYTECODE"] = "1"  # Python's own files go by the time and the size
    assert run(program, **environment) == "1.5 Counter()\n"
    assert run(program, **environment).startswith("1.5 Counter({")
    callee = package / "_kernels" / "similarity.py"
    text = callee.read_text()
    times = callee.stat()
    changed = text.replace("common / united", "united / common")
    assert changed != text
    callee.write_text(changed)
    os.utime(callee, ns=(times.st_atime_ns, times.st_mtime_ns))
    assert run(program, **environment).startswith("0.66")


@compiled
def product_up_to(number: int) -> int:
    return 1 if number < 2 else number * product_up_to(number - 1)


@compiled
def twice_the_product(number: int) -> int:
    return 2 * product_up_to(number)


def test_a_function_that_calls_itself_answers_python_and_compiled_code() -> None:
    assert (twice_the_product(5), product_up_to(5), twice_the_product(3)) == (240, 120, 12)


def kernels() -> Iterator[ModuleType]:
    for package in (cuihop._kernels, cuihop_loader._kernels):
        for module in pkgutil.iter_modules(package.__path__, f"{package.__name__}."):
            yield importlib.import_module(module.name)


def test_the_digest_covers_every_module_that_compiled_code_takes_something_from() -> None:
    root = Path(cuihop.__file__).parent
    covered = {root / name for name in OTHER_SOURCES}
    used = set()
    for module in kernels():
        assert module.__file__ is not None
        source = Path(module.__file__).read_text(encoding="utf-8")
        for name in imported_modules(source):
            file = importlib.import_module(name).__file__
            assert file is not None
            used.add(Path(file))
    folders = {Path(package.__path__[0]) for package in (cuihop._kernels, cuihop_loader._kernels)}
    others = {file for file in used if file.parent not in folders}
    inner = ("errors.py", "files/written_files.py", "resources/compilation.py", "resources/arrays.py")  # of jit; types
    support = {root / name for name in inner}
    assert others - support == covered


@pytest.mark.parametrize("setting", ["BOUNDSCHECK", "OPT"])
def test_code_with_checked_bounds_or_less_optimisation_is_kept_apart(
    setting: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from cuihop._kernels import jit

    sources = Path(cuihop._kernels.__path__[0])
    usual = jit._digest(sources)
    monkeypatch.setattr(jit._settings, setting, 0 if getattr(jit._settings, setting) == 1 else 1)
    assert jit._digest(sources) != usual
    monkeypatch.undo()
    assert jit._digest(sources) == usual


def imported_modules(source: str) -> Iterator[str]:
    """The modules of cuihop that a source imports from."""
    import ast

    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ImportFrom) and node.module is not None and node.module.startswith("cuihop"):
            for name in node.names:
                try:
                    importlib.import_module(f"{node.module}.{name.name}")
                    yield f"{node.module}.{name.name}"
                except ModuleNotFoundError:
                    yield node.module


def test_code_of_the_versions_used_last_is_kept(tmp_path: Path) -> None:
    from cuihop._kernels import jit

    (tmp_path / "notes").mkdir()
    for number in range(7):
        folder = tmp_path / f"{number:032x}"
        folder.mkdir()
        os.utime(folder, (number, number))
    jit._remove_old(tmp_path, f"{6:032x}")
    kept = sorted(folder.name[-2:] for folder in tmp_path.iterdir())
    assert kept == ["02", "03", "04", "05", "06", "es"]


def test_files_of_two_signatures_are_two_files(tmp_path: Path) -> None:
    """As two processes write at once, neither of which has seen the other's."""
    from cuihop._kernels.jit import _Files

    one, other = _Files(tmp_path / "f"), _Files(tmp_path / "f")
    one.save("int64", 1)
    other.save("float64", 2.0)
    assert (other.load("int64"), one.load("float64"), one.load("uint8")) == (1, 2.0, None)
    one.flush()
    assert other.load("float64") is None


class _TakenMeanwhile(list[int]):
    """A list that another thread empties after it was looked at."""

    def __len__(self) -> int:
        return 1


def test_two_threads_end_the_locks_of_what_they_compiled(tmp_path: Path) -> None:
    from cuihop._kernels.jit import _Files

    files = _Files(tmp_path / "f")
    files._locked = _TakenMeanwhile()
    files.unlock()
    assert list.__len__(files._locked) == 0


COMPILED_ONCE = """
import sys
import numpy as np
from cuihop._kernels.tokens import hashes_of
from cuihop.resources.compilation import announce_compilation
announce_compilation(print)
print("ready", flush=True)
sys.stdin.readline()
hashes_of(np.array([0, 2]), np.array([97, 98], dtype=np.uint32))
"""


@pytest.mark.slow
def test_processes_that_need_the_same_code_compile_it_once(tmp_path: Path) -> None:
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", COMPILED_ONCE], env=os.environ | {"NUMBA_CACHE_DIR": str(tmp_path)},
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )
        for _ in range(3)
    ]  # fmt: skip
    for process in processes:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
    outputs = [process.communicate("go\n", timeout=300)[0] for process in processes]
    assert sum("compiling" in output for output in outputs) == 1


def test_the_first_compilation_is_announced_and_all_are_timed() -> None:
    from cuihop.resources import compilation

    before = compilation.seconds_of_compilation()
    sentences: list[str] = []
    announce_compilation(sentences.append)
    for _ in range(2):
        compilation_begins()
        compilation_begins()
        compilation_ends()
        assert compilation.seconds_of_compilation() >= before
        compilation_ends()
    assert len(sentences) == 1
    assert "once after an install" in sentences[0]
    assert compilation.seconds_of_compilation() > before


INTERRUPTED = """
import signal
import numpy as np
from numba.core.codegen import CPUCodeLibrary

hook, left = CPUCodeLibrary._object_compiled_hook, [1]

def interrupting(module, machine_code):
    if left:
        left.clear()
        signal.raise_signal(signal.SIGINT)
    hook(module, machine_code)

CPUCodeLibrary._object_compiled_hook = interrupting
from cuihop._kernels.jit import signed
try:
    signed(np.uint8(3))
except KeyboardInterrupt:
    print("interrupted", left)
print(signed(np.uint8(3)))
"""


def test_an_interrupt_while_code_is_compiled_comes_after_it(tmp_path: Path) -> None:
    assert run(INTERRUPTED, NUMBA_CACHE_DIR=tmp_path) == "interrupted []\n3\n"
