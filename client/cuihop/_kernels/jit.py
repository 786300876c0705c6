"""Compilation of functions to machine code, the one cache of that code, and instructions that only such code has."""

from __future__ import annotations

import contextlib
import errno
import functools
import hashlib
import os
import pickle
import shutil
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType
from typing import Any, ParamSpec, TypeVar

import llvmlite
import llvmlite.binding
import llvmlite.ir as llvm
import numba
import numba.core.caching
import numba.core.codegen
import numba.core.compiler
import numba.core.event
import numba.core.registry
import numba.core.runtime
import numpy as np
import numpy.typing as npt
from numba import types
from numba.extending import intrinsic, overload

from cuihop.errors import OutputError
from cuihop.files.written_files import replaced_file
from cuihop.resources.compilation import compilation_begins, compilation_ends

P = ParamSpec("P")
R = TypeVar("R")

try:
    import fcntl
except ImportError:  # Windows: several processes may compile the same
    fcntl = None  # type: ignore[assignment]

_caching: Any = numba.core.caching
_codegen: Any = numba.core.codegen
_compiler: Any = numba.core.compiler
_event: Any = numba.core.event
_registry: Any = numba.core.registry
_runtime: Any = numba.core.runtime
_settings: Any = numba.config

_PACKAGE = Path(__file__).parents[1]

SHIPPED = _PACKAGE / "compiled"
"""Machine code that came with the installation, as in the image: read, never written, and absent elsewhere."""

OTHER_SOURCES = ("snapshot/layout.py",)
"""Modules of this package outside the folders of kernels whose functions or constants compiled code contains."""

_OPTIONS = {
    "nopython": True, "nogil": True, "error_model": "numpy", "boundscheck": None, "no_cfunc_wrapper": True
}  # fmt: skip
"""Settings of numba; a wrapper for callers in C is of no use."""

_LONGEST_WAIT = 60.0
"""Seconds to wait for another process that compiles the same."""

_KEPT = 4
"""Number of folders of other versions that stay: those used last."""


def _check_processor() -> None:
    """Compile for this processor, if it lacks what the variables of numba promise: that code would end the process."""
    promised = (_settings.CPU_FEATURES or "").split(",")
    has = llvmlite.binding.get_host_cpu_features()
    if not all(has.get(feature[1:]) for feature in promised if feature.startswith("+")):
        _settings.CPU_NAME = _settings.CPU_FEATURES = None


_check_processor()


def compiled(function: Callable[P, R]) -> Callable[P, R]:
    """Compile a function on its first call; it runs without the interpreter lock.

    Machine code is cached on disk. The folder is named by a digest of all sources that compiled code is made of, so
    that a change of a callee is a change of its callers. If no folder can be written (a read-only installation, a
    full disk), each process compiles again, as it does if a file cannot be read.
    """
    if _settings.DISABLE_JIT:
        return function
    fast: Any = _Kernel(function, targetoptions=_OPTIONS)
    compilation = fast.compile
    with contextlib.suppress(RuntimeError):  # no folder can be written
        fast._cache = _Cache(function)
        compilation = fast._cache.unlocked_after(compilation)
    fast.compile = _interrupted_after(compilation)
    answer: Callable[P, R] = fast
    return answer


class _Kernel(_registry.CPUDispatcher):  # type: ignore[misc]
    """A compiled function, which is another one where compiled code calls it: `_CalleeCompiler` has the reason."""

    def __init__(self, function: Any, **settings: Any) -> None:
        super().__init__(function, **settings)
        inner = {**settings["targetoptions"], "no_cpython_wrapper": True}
        self._callee = self
        if function.__name__ not in function.__code__.co_names:  # numba follows a function that calls itself only once
            self._callee = _registry.CPUDispatcher(function, targetoptions=inner, pipeline_class=_CalleeCompiler)

    @property
    def _numba_type_(self) -> Any:
        return types.Dispatcher(self._callee)


class _CalleeCompiler(_compiler.Compiler):  # type: ignore[misc]
    """Compiles a function for its callers: as they contain its code, it is optimised and made machine code in them.

    numba does both at each level of calls, and adds a way in from Python: more than half of the time of a compilation.
    """

    def __init__(self, typing_context: Any, target: Any, _: None, *others: Any) -> None:
        super().__init__(typing_context, target, _CalleeCode(target.codegen(), "callee"), *others)


class _CalleeCode(_codegen.JITCodeLibrary):  # type: ignore[misc]
    """Code that is linked into that of its callers, and runs only there."""

    class codegen:  # noqa: N801 - the name in numba
        """The environment is of use to code that builds Python objects only, which no kernel does."""

        @staticmethod
        def set_env(name: str, environment: object) -> None:
            """Leave it unset."""

    def get_pointer_to_function(self, name: str) -> int:
        return 0

    def _optimize_final_module(self) -> None:
        pass

    def _finalize_final_module(self) -> None:
        self._finalize_dynamic_globals()
        self._finalized = True


class _Folder(_caching._CacheLocator):  # type: ignore[misc]
    """The folder of the machine code of one module's functions."""

    def __init__(self, function: Any, file: str, path: Path) -> None:
        self._py_file = file  # numba's name, for its warnings
        self._path = str(path)
        self._line = function.__code__.co_firstlineno

    @classmethod
    def from_function(cls, function: Any, file: str) -> _Folder | None:
        path = _folder_of(Path(file).parent)
        return None if path is None else cls(function, file, path)

    def get_cache_path(self) -> str:
        return self._path

    def get_source_stamp(self) -> str:
        return Path(self._path).name

    def get_disambiguator(self) -> str:
        return str(self._line)


class _Results(_caching.CompileResultCacheImpl):  # type: ignore[misc]
    _locator_classes = [_Folder]  # noqa: RUF012


class _Files:
    """The files of one function, one for each signature and processor.

    numba's own form keeps an index of numbered files; two processes that write to it at once can leave it with the code
    of another signature. Here the name of a file is the digest of its key. A process that compiles holds a lock, so
    that the others, such as the workers of a service, wait for its file in place of compiling the same.
    """

    def __init__(self, base: Path) -> None:
        self._base = base
        self._locked: list[int] = []

    def save(self, key: object, data: object) -> None:
        with replaced_file(self._of(key), durable=False) as file:
            file.write(_caching.dumps(data))

    def load(self, key: object) -> object:
        file = self._of(key)
        for attempt in (self._lock, None):
            for path in (file, SHIPPED / file.parent.name / file.name):
                with contextlib.suppress(FileNotFoundError):
                    return pickle.loads(path.read_bytes())  # noqa: S301 - the user's own folder
            if attempt is not None:
                attempt(int(file.suffixes[-2][1:9], 16))
        return None

    def flush(self) -> None:
        for file in self._base.parent.glob(f"{self._base.name}.*.nbc"):
            file.unlink()

    def unlock(self) -> None:
        """End the locks of what has been compiled, or could not be; another thread may be ending them."""
        with contextlib.suppress(IndexError):
            while True:
                number = self._locked.pop()
                fcntl.lockf(_lock_file(self._base.parent), fcntl.LOCK_UN, 1, number)

    def _lock(self, number: int) -> None:
        """Wait until no other process compiles this, but not for one that is suspended; without locks, do not wait."""
        try:
            lock = _lock_file(self._base.parent)
        except OSError:  # the folder is only read
            return
        if fcntl is None or self._taken(lock, number):
            return
        compilation_begins()
        try:
            deadline = time.monotonic() + _LONGEST_WAIT
            while time.monotonic() < deadline and not self._taken(lock, number):
                time.sleep(0.02)
        finally:
            compilation_ends()

    def _taken(self, lock: int, number: int) -> bool:
        """True if the lock of this number was taken, or cannot be; false while another process holds it."""
        try:
            fcntl.lockf(lock, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, number)
        except OSError as error:
            return error.errno not in (errno.EACCES, errno.EAGAIN)
        self._locked.append(number)
        return True

    def _of(self, key: object) -> Path:
        return self._base.with_name(f"{self._base.name}.{hashlib.sha256(repr(key).encode()).hexdigest()[:32]}.nbc")


@functools.cache
def _lock_file(folder: Path) -> int:
    """The open lock file of a folder: closing it would end all locks of the process."""
    return os.open(folder / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)


class _Cache(_caching.FunctionCache):  # type: ignore[misc]
    _impl_class = _Results

    def __init__(self, function: object) -> None:
        super().__init__(function)
        self._cache_file = _Files(Path(self.cache_path) / self._impl.filename_base)

    def unlocked_after(self, compilation: Callable[P, R]) -> Callable[P, R]:
        def unlocked(*args: P.args, **options: P.kwargs) -> R:
            try:
                return compilation(*args, **options)
            finally:
                self._cache_file.unlock()

        return unlocked

    def save_overload(self, *machine_code: object) -> None:
        with contextlib.suppress(OSError, OutputError):
            super().save_overload(*machine_code)

    def load_overload(self, signature: object, context: object) -> object:
        """As numba's, without its implementations of all functions: half a second, and only compilation needs them."""
        try:
            _runtime.rtsys.initialize(context)
            return self._load_overload(signature, context)
        except Exception:  # a truncated file, or one of another version: pickle raises many types
            with contextlib.suppress(OSError):
                self.flush()
            return None


@functools.cache
def _folder_of(sources: Path) -> Path | None:
    """The folder of the machine code of the modules in a folder; ``None`` if no folder can be written."""
    digest = _digest(sources)
    for parent in _caches():
        folder = parent / digest
        try:
            new = not folder.is_dir()
            folder.mkdir(parents=True, exist_ok=True)
            tempfile.TemporaryFile(dir=folder).close()
            os.utime(folder)
            if new:
                _remove_old(parent, digest)
        except OSError:
            continue
        return folder
    return SHIPPED / digest if (SHIPPED / digest).is_dir() else None


def _caches() -> Iterator[Path]:
    """The folders to try: numba's setting, that of a checkout, that of the user."""
    if _settings.CACHE_DIR:
        yield Path(_settings.CACHE_DIR)
    checkout = _PACKAGE.parents[1]
    if (checkout / "pyproject.toml").exists() and _PACKAGE.parent.name == "client":
        yield checkout / ".cache" / "numba"
    with contextlib.suppress(RuntimeError):  # no home folder
        user = os.environ.get("XDG_CACHE_HOME")
        yield (Path(user) if user else Path.home() / ".cache") / "cuihop" / "numba"


def _digest(folder: Path) -> str:
    """A digest of the sources of compiled code and of the compiler. The processor is part of numba's keys."""
    versions = (sys.implementation.cache_tag, numba.__version__, llvmlite.__version__, np.__version__)
    state = hashlib.sha256(repr((versions, bool(_settings.BOUNDSCHECK), _settings.OPT)).encode())
    kernels = {*(_PACKAGE / "_kernels").glob("*.py"), *folder.glob("*.py")}
    for file in sorted(kernels | {_PACKAGE / name for name in OTHER_SOURCES}):
        content = file.read_bytes()
        state.update(f"{file.parent.name}/{file.name} {len(content)}\n".encode())
        state.update(content)
    return state.hexdigest()[:32]


def _remove_old(parent: Path, digest: str) -> None:
    """Remove the code of versions that were not used for the longest time."""
    others = [folder for folder in parent.iterdir() if folder.name != digest and len(folder.name) == len(digest)]
    others.sort(key=lambda folder: folder.stat().st_mtime, reverse=True)
    for folder in others[_KEPT:]:
        shutil.rmtree(folder, ignore_errors=True)


class _Reported(_event.Listener):  # type: ignore[misc]
    """Reports each compilation to ``cuihop.resources.compilation``."""

    def on_start(self, event: object) -> None:
        compilation_begins()

    def on_end(self, event: object) -> None:
        compilation_ends()


_event.register("numba:compile", _Reported())


def _interrupted_after(compilation: Callable[P, R]) -> Callable[P, R]:
    """``compilation``, after which a Ctrl-C that came meanwhile takes effect.

    Within a compilation it would come up in a function that LLVM calls, where the exception is printed and ignored.
    """

    def uninterrupted(*args: P.args, **options: P.kwargs) -> R:
        handler = signal.getsignal(signal.SIGINT)
        if threading.current_thread() is not threading.main_thread() or not callable(handler):
            return compilation(*args, **options)
        interrupts: list[tuple[int, FrameType | None]] = []
        signal.signal(signal.SIGINT, lambda *interrupt: interrupts.append(interrupt))
        try:
            return compilation(*args, **options)
        finally:
            signal.signal(signal.SIGINT, handler)
            for interrupt in interrupts[:1]:
                handler(*interrupt)

    return uninterrupted


@compiled
def signed(number: Any) -> Any:
    """An unsigned number as a signed one. Compiled ``int`` leaves it unsigned, and mixing the two gives a float."""
    return np.int64(number)


_READ, _KEEP, _DATA = 0, 2, 1  # arguments of llvm.prefetch, see LLVM's reference


def prefetch(array: npt.NDArray[Any], index: int) -> None:
    """Fetch the cache line of an element of a contiguous array. A hint, without effect where it is not compiled."""


def _generated(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    array = context.make_array(signature.args[0])(context, builder, arguments[0])
    byte = llvm.IntType(8).as_pointer()
    number = llvm.IntType(32)
    hint = builder.module.declare_intrinsic(
        "llvm.prefetch", [byte], llvm.FunctionType(llvm.VoidType(), [byte, number, number, number])
    )
    element = builder.bitcast(builder.gep(array.data, [arguments[1]]), byte)
    builder.call(hint, [element, *(number(value) for value in (_READ, _KEEP, _DATA))])
    return context.get_dummy_value()


def _typed(context: Any, array: Any, index: Any) -> Any:
    return types.void(array, types.int64), _generated


_fetch: Any = intrinsic(_typed)


def _compiled(array: Any, index: Any) -> Callable[..., None]:
    def call(array: Any, index: Any) -> None:  # numba compares the two signatures, annotations and all
        _fetch(array, index)

    return call


overload(prefetch, inline="always")(_compiled)
