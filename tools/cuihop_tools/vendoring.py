"""Vendored libraries, in the form that browsers load: fetched from npm's registry and checked against a lock file.

They are part of the project, so that neither building nor running it needs the network. ``make vendor`` fetches them
again and fails where a single byte differs from the lock. To change a version, write it into the lock and run
``make vendor ACCEPT=--accept``, which writes the new hashes down.
"""

from __future__ import annotations

import argparse
import base64
import hashlib
import io
import json
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path
from typing import Any

VENDOR = Path(__file__).parents[2] / "service" / "cuihop_service" / "explorer" / "static" / "vendor"
"""Folder of the libraries."""

LOCK = VENDOR / "vendor.lock.json"
"""Lock file: packages, versions, licences, and the hashes of each package and file."""


def fetched(package: str, version: str) -> bytes:
    """Fetch the tarball of a package by npm itself, with the user's registry and proxy."""
    with tempfile.TemporaryDirectory() as folder:
        command = ["npm", "pack", "--silent", "--pack-destination", folder, f"{package}@{version}"]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)  # noqa: S603
        return next(Path(folder).glob("*.tgz")).read_bytes()


def main(arguments: list[str]) -> int:
    """Fetch the packages of the lock, compare, and write the files; return the exit code."""
    parser = argparse.ArgumentParser(prog="make vendor", description=__doc__)
    parser.add_argument("--accept", action="store_true", help="write the hashes found into the lock")
    accept = parser.parse_args(arguments).accept
    lock: list[dict[str, Any]] = json.loads(LOCK.read_text(encoding="utf-8"))
    wrong = []
    for package in lock:
        tarball = fetched(package["package"], package["version"])
        integrity = "sha512-" + base64.b64encode(hashlib.sha512(tarball).digest()).decode()
        if integrity != package["integrity"] and not accept:
            wrong.append(f"{package['package']} {package['version']}")
            continue
        package["integrity"] = integrity
        with tarfile.open(fileobj=io.BytesIO(tarball)) as archive:
            for file in package["files"]:
                member = archive.extractfile(f"package/{file['from']}")
                body = b"" if member is None else member.read()
                digest = hashlib.sha256(body).hexdigest()
                if digest != file["sha256"] and not accept:
                    wrong.append(f"{package['package']} {package['version']}: {file['from']}")
                    continue
                file["sha256"] = digest
                VENDOR.joinpath(file["to"]).write_bytes(body)
    if wrong:
        print("not what the lock says: " + ", ".join(wrong), file=sys.stderr)
        return 1
    LOCK.write_text(json.dumps(lock, indent=2) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
