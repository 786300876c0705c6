"""Folders that the service writes in: tried as it uses them, with one wording for what fails."""

from __future__ import annotations

import os
from pathlib import Path
from tempfile import TemporaryDirectory

from cuihop.errors import OutputError, reason_of


def not_written(path: Path, error: OSError, setting: str) -> OutputError:
    """The error of a file or folder that cannot be written, which ``setting`` names."""
    return OutputError(
        f"{path}: not written: {reason_of(error)}; name another by {setting}, or give it to the user of the service"
    )


def check_folder(folder: Path, setting: str, *files: Path, create: bool = True) -> Path:
    """Refuse a folder that the service could not write in, by an `OutputError`. Nothing is left behind.

    The rights of a folder do not tell of quotas, of read-only file systems, of /proc, or of files of other users.

    Args:
        files: in the folder, to which the service adds.
        create: the service creates the folder where there is none.

    Returns:
        The folder that exists: this one, or the one above in which it would be created.
    """
    nearest = next(each for each in (folder, *folder.parents) if each.exists() or not create)
    problem = folder
    try:
        nearest.stat()
        with TemporaryDirectory(prefix=".cuihop-check-", dir=nearest) as scratch:
            (Path(scratch) / "file").write_bytes(bytes(4096))
        for file in files:
            problem = file
            if file.exists():
                os.close(os.open(file, os.O_WRONLY | os.O_APPEND | os.O_NONBLOCK))
    except OSError as error:
        raise not_written(problem, error, setting) from None
    return nearest
