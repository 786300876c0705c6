"""Atomic writes of files: never over a file that the program reads, never in place of a device.

A file is written next to its target under another name, ``.NAME.….partial``, synchronised, and renamed. Until then it
is locked: a partial file without a lock was left by a process that was killed, and the next one removes it.
"""

from __future__ import annotations

import contextlib
import contextvars
import errno
import os
import re
import secrets
import shutil
import stat
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import BinaryIO, cast

from cuihop.errors import InputError, OutputError

try:
    import fcntl
except ImportError:  # Windows: nothing is locked, and so nothing of others is removed
    fcntl = None  # type: ignore[assignment]

_PARTIAL = re.compile(r"\..*\.[0-9a-f]{16}\.partial", re.DOTALL)
_LONGEST_NAME = 40  # of a target, in the name of its partial file: a file system takes 255 bytes
_LINKS = 40  # more are a circle
_OPEN_FILES = re.compile(r"/proc/[^/]+(/task/[^/]+)?/fd")
_NO_ROOM = (errno.ENOSPC, errno.EDQUOT)

_Identity = tuple[int, int]
_inputs: contextvars.ContextVar[dict[_Identity, str]] = contextvars.ContextVar("inputs")


@contextlib.contextmanager
def protected_inputs(paths: Iterable[str | os.PathLike[str]]) -> Iterator[None]:
    """Refuse to write over any of these files until the block ends, under whatever name; missing ones are ignored."""
    inputs = dict(_inputs.get({}))
    for path in paths:
        identity = _identity(path)
        if identity is not None:
            inputs[identity] = os.fspath(path)
    token = _inputs.set(inputs)
    try:
        yield
    finally:
        _inputs.reset(token)


def inputs_within(folder: Path) -> list[str]:
    """The protected inputs that lie in a folder, which is about to be replaced."""
    return [path for path in _inputs.get({}).values() if Path(path).resolve().is_relative_to(folder)]


def _identity(path: str | os.PathLike[str]) -> _Identity | None:
    try:
        status = Path(path).stat()
    except (OSError, ValueError):  # ValueError: a NUL in the name
        return None
    return status.st_dev, status.st_ino


def real_target(path: Path) -> Path:
    """The path that a file is written to: symbolic links are followed, so that they stay.

    Raises:
        OutputError: they lead round in a circle, or to an open file (``/dev/stdout``), which has no name of its own.
    """
    here = path
    for _ in range(_LINKS):
        if not here.is_symlink():
            return Path(os.path.realpath(path))
        folder = os.path.realpath(here.parent)
        if _OPEN_FILES.fullmatch(folder):
            raise OutputError(f"{path}: not written: an open file of a process, and not the name of one")
        here = Path(folder) / here.readlink()
    raise OutputError(f"{path}: not written: its symbolic links lead round in a circle")


@contextlib.contextmanager
def _refusals(path: Path, expected_bytes: int | None = None) -> Iterator[None]:
    """Errors of the operating system as `OutputError`; of a full disk with the bytes that are needed, if known."""
    try:
        yield
    except OSError as error:
        full = error.errno in _NO_ROOM and expected_bytes is not None
        needed = f"; {expected_bytes:,} bytes are needed" if full else ""
        raise OutputError(f"{path}: not written: {error.strerror or error}{needed}") from error


def check_output(path: Path) -> Path:
    """Refuse at once an output that could not be written after minutes of computation. Returns the target.

    Raises:
        InputError: it is one of the protected inputs.
        OutputError: a folder, a device or a pipe has the name; or there is no folder to write it in.
    """
    try:
        with _refusals(path):
            target = real_target(path)
            status = target.stat() if target.exists() else None
    except ValueError as error:  # a NUL in the name
        raise OutputError(f"{path}: not written: {error}") from error
    if status is not None:
        source = _inputs.get({}).get((status.st_dev, status.st_ino))
        if source is not None:
            other = None if source == str(path) else source
            raise InputError("the file to write is one to read", file=path, found=other, advice="Give another name.")
        if stat.S_ISDIR(status.st_mode):
            raise OutputError(f"{path}: not written: there is a folder of that name")
        if not stat.S_ISREG(status.st_mode):
            raise OutputError(f"{path}: not written: a device or a pipe, and not a file")
    _check_parent(path, target.parent)
    return target


def _check_parent(path: Path, parent: Path) -> None:
    if not parent.is_dir():
        problem = "not a folder" if parent.exists() else "no such folder"
        raise OutputError(f"{path}: not written: {problem}: {parent}")
    if not os.access(parent, os.W_OK | os.X_OK):
        raise OutputError(f"{path}: not written: no right to write in {parent}, or a read-only file system")


def check_output_folder(path: Path) -> Path:
    """Refuse at once a folder that can neither be created nor written in. Returns the target.

    Raises:
        OutputError: it is a file, or what is above it is one, or cannot be written in.
    """
    target = nearest = real_target(path)
    while not nearest.exists() and nearest != nearest.parent:
        nearest = nearest.parent
    if not nearest.is_dir():
        raise OutputError(f"{path}: not written: not a folder: {nearest}")
    _check_parent(path, nearest)
    return target


def check_free_disk(path: Path, needed: int) -> None:
    """Refuse a file of ``needed`` bytes or more that does not fit on the disk; its folder exists.

    Raises:
        OutputError: fewer bytes are free.
    """
    free = shutil.disk_usage(real_target(path).parent).free
    if needed > free:
        problem = os.strerror(errno.ENOSPC)
        raise OutputError(f"{path}: not written: {problem}; {needed:,} bytes are needed, and {free:,} are free")


@contextlib.contextmanager
def replaced_file(
    path: Path, *, expected_bytes: int | None = None, mode: int = 0o666, durable: bool = True
) -> Iterator[BinaryIO]:
    """A new file that takes the place of ``path`` when the block ends well, and vanishes when it does not.

    A file that is replaced keeps its mode and its owner; the owner may change only where everybody may read it.
    Symbolic links are followed.

    Args:
        expected_bytes: size of the content; refused at once if the disk has no room for it.
        mode: of a file that is new, less what the process's mask takes away.
        durable: wait until it is on the disk; not needed for content that is checked when it is read.

    Raises:
        InputError: ``path`` is one of the protected inputs.
        OutputError: see `check_output`; or the operating system refused: says what, where, and for a full disk how
            much was needed.
    """
    target = check_output(path)
    with _refusals(path):
        clear_abandoned(target.parent)
        if expected_bytes is not None:
            check_free_disk(path, expected_bytes)
        temporary, file = _locked_partial(target, mode)
    with _refusals(path, expected_bytes):
        try:
            with file:
                yield file
                _put_file(file, temporary, target, durable=durable)  # before the lock is given up
        except BaseException:
            _discard(temporary)
            raise


@contextlib.contextmanager
def scratch_file(path: Path) -> Iterator[tuple[Path, BinaryIO]]:
    """A new file next to ``path`` that only its owner can read; it vanishes when the block ends.

    Until then it is locked: if this process is killed, the next one that writes into the folder removes the file.

    Raises:
        OutputError: the operating system refused.
    """
    with _refusals(path):
        clear_abandoned(path.parent)
        temporary, file = _locked_partial(path, 0o600)
    try:
        with file:
            yield temporary, file
    finally:
        _discard(temporary)


def put_in_place(temporary: Path, path: Path) -> None:
    """Let a finished file, which lies next to ``path``, take its place, as `replaced_file` does.

    Raises:
        InputError, OutputError: as `replaced_file`.
    """
    target = check_output(path)
    with _refusals(path), temporary.open("r+b") as file:
        _put_file(file, temporary, target, durable=True)


def _put_file(file: BinaryIO, temporary: Path, target: Path, *, durable: bool) -> None:
    file.flush()
    _keep_owner(file, target)
    if durable:
        os.fsync(file.fileno())
    temporary.replace(target)
    if durable:
        _synchronise(target.parent)


def write_whole(path: str | os.PathLike[str], content: str | bytes) -> None:
    """Write a file by `replaced_file`, which raises the same errors."""
    raw = content.encode() if isinstance(content, str) else content
    with replaced_file(Path(path), expected_bytes=len(raw)) as file:
        file.write(raw)


@contextlib.contextmanager
def replaced_folder(path: Path) -> Iterator[Path]:
    """A new, empty folder that takes the place of ``path`` when the block ends well, and vanishes when it does not.

    Raises:
        OSError: the operating system refused. The old folder is there as before.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    clear_abandoned(path.parent)
    with _locked_partial_folder(path) as folder:
        try:
            yield folder
            folder.chmod(0o755)
            _put(folder, path)
        finally:
            shutil.rmtree(folder, ignore_errors=True)


def _put(folder: Path, path: Path) -> None:
    """Let the new folder take its place; the old one comes back if that fails."""
    if not path.is_dir():
        folder.replace(path)
        return
    aside = path.with_name(f".{path.name[:_LONGEST_NAME]}.{secrets.token_hex(8)}.old")
    path.replace(aside)
    try:
        folder.replace(path)
    except BaseException:
        aside.replace(path)
        raise
    shutil.rmtree(aside.replace(_partial_name(path)), ignore_errors=True)  # the next run ends it if this one is killed


def _partial_name(target: Path) -> Path:
    return target.with_name(f".{target.name[:_LONGEST_NAME]}.{secrets.token_hex(8)}.partial")


def _locked_partial(target: Path, mode: int) -> tuple[Path, BinaryIO]:
    """A new file next to the target, locked as long as it is open."""
    while True:
        temporary = _partial_name(target)
        file = cast("BinaryIO", open(temporary, "xb", opener=lambda name, flags: os.open(name, flags, mode)))  # noqa: SIM115
        if _is_locked(file.fileno(), temporary):
            return temporary, file
        file.close()
        _discard(temporary)


@contextlib.contextmanager
def _locked_partial_folder(target: Path) -> Iterator[Path]:
    """A partial folder, locked until the end of the block."""
    while True:
        folder = _partial_name(target)
        folder.mkdir(mode=0o700)
        number = os.open(folder, os.O_RDONLY) if fcntl is not None else -1
        try:
            if _is_locked(number, folder):
                yield folder
                return
        finally:
            if number >= 0:
                os.close(number)


def _is_locked(number: int, path: Path) -> bool:
    """Lock a new file or folder; false if another process took it for abandoned in the moment before."""
    if fcntl is None:
        return True
    try:
        fcntl.flock(number, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:  # a file system without locks: there nobody can take it for abandoned
        return True
    return _is_at(number, path)


def clear_abandoned(folder: Path) -> None:
    """Remove the partial files and folders of killed processes, which nobody has locked."""
    if fcntl is None:
        return
    with os.scandir(folder) as entries:
        left = [Path(entry.path) for entry in entries if _PARTIAL.fullmatch(entry.name)]
    for path in left:
        with contextlib.suppress(OSError):  # another's, or gone meanwhile
            number = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
            try:
                fcntl.flock(number, fcntl.LOCK_EX | fcntl.LOCK_NB)
                if not _is_at(number, path):
                    continue
                if stat.S_ISDIR(os.fstat(number).st_mode):
                    shutil.rmtree(path, ignore_errors=True)
                else:
                    path.unlink()
            finally:
                os.close(number)


def _is_at(number: int, path: Path) -> bool:
    """True if an open file is still the one of that name."""
    try:
        return os.path.samestat(os.fstat(number), path.lstat())
    except FileNotFoundError:
        return False


def _keep_owner(file: BinaryIO, target: Path) -> None:
    if fcntl is None or not target.exists():
        return
    before = target.stat()
    if (before.st_uid, before.st_gid) != (os.geteuid(), os.getegid()):
        try:
            os.fchown(file.fileno(), before.st_uid, before.st_gid)
        except PermissionError:
            if not before.st_mode & stat.S_IROTH:  # the owner, perhaps a service, could not read it any more
                raise
    os.fchmod(file.fileno(), stat.S_IMODE(before.st_mode))


def _synchronise(folder: Path) -> None:
    number = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(number)
    finally:
        os.close(number)


def _discard(temporary: Path) -> None:
    with contextlib.suppress(OSError):  # the reason why the file was not written matters more
        temporary.unlink(missing_ok=True)
