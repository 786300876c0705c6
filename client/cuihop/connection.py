"""Connection to a graph by its address."""

from __future__ import annotations

import re
import warnings
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

from cuihop.addresses import is_neo4j_address, is_remote_address, scheme_of
from cuihop.errors import InputError
from cuihop.files.text_lines import quoted
from cuihop.graph import ConceptGraph
from cuihop.resources.optional_packages import installed_by
from cuihop.snapshot.graph import SnapshotGraph
from cuihop.snapshot.neighbour_dictionary import NeighbourDictionary, is_neighbour_dictionary

__all__ = ["connect", "load"]

_HOST_AND_PORT = re.compile(r"(\w[\w.-]*|\[[0-9a-fA-F:]+\]):\d{2,5}")


def connect(address: str) -> ConceptGraph:
    """The graph at an address.

    Args:
        address: the path of a snapshot or of a neighbour dictionary, with or without ``snapshot:`` in front; or a
            Neo4j server, such as ``bolt://host:7687``, or cluster, such as ``neo4j://host``, whose user and password
            come from the environment (``NEO4J_USER``; ``NEO4J_PASSWORD`` or ``NEO4J_PASSWORD_FILE``); or a cuihop
            service, such as ``grpc://host:50051`` or ``https://host``, whose key and certificates come from the
            environment (``CUIHOP_API_KEY`` and others: see `cuihop.remote.settings.RemoteSettings.from_environment`).

    Raises:
        InputError: an address of an unsupported kind, a missing password, or a key that would travel
            unencrypted.
        SnapshotError: no usable snapshot at that path.
        GraphUnavailable, SchemaMismatch: the server cannot be used.
        NotAuthenticated, NotAllowed: the service does not accept the key.
        ModuleNotFoundError: the extra that the address needs is not installed; the message names it.
    """
    if is_neo4j_address(address):
        from cuihop.neo4j_graph.graph import Neo4jGraph

        return Neo4jGraph.open(address)
    if is_remote_address(address):
        from cuihop.remote.graph import RemoteGraph

        return RemoteGraph.open(address)
    if scheme := scheme_of(address):
        raise InputError(
            "no graph can be reached by this kind of address",
            column="graph",
            found=f"{scheme}://…",  # the rest may hold a password
            expected="the path of a snapshot, such as graph.cuihop; a service, such as grpc://host:50051 or "
            "https://host; or a Neo4j server, such as bolt://localhost:7687",
        )
    if _HOST_AND_PORT.fullmatch(address) and not Path(address).exists():
        raise InputError(
            "an address without its scheme", column="graph", found=quoted(address),
            expected=f"http://{address}, grpc://{address} or bolt://{address}",
        )  # fmt: skip
    path = address.removeprefix("snapshot:")
    return NeighbourDictionary.open(path) if is_neighbour_dictionary(path) else SnapshotGraph.open(path)


def load(sources: str | Path | Sequence[str | Path], **options: Any) -> SnapshotGraph:
    """The graph of a release, of an ontology or of edges, read into memory; ``save`` of it writes a snapshot.

    A warning states each reservation of the load about the files, such as bad rows that were left out.

    Args:
        sources: a folder of a release (RRF, RF2 or WordNet), a zip archive of it, a file, or several of them; in every
            form that ``cuihop load`` reads.
        options: those of `cuihop_loader.LoadOptions` by their names, such as ``include_sabs=["MSH"]``.

    Raises:
        InputError: a file is missing or malformed, an option is out of its range, or there is no is_a relation.
        LimitExceeded: there is not enough memory.
        ModuleNotFoundError: the loader, or a package for this form, is not installed; the message names the extra.
    """
    with installed_by("cuihop[loader]"):
        loader = import_module("cuihop_loader")  # a package above this one, which may be absent
    files = [sources] if isinstance(sources, str | Path) else list(sources)
    if snapshots := [str(file) for file in files if Path(file).suffix == ".cuihop"]:
        raise InputError("a snapshot", file=snapshots[0], expected="files to load", advice="cuihop.connect opens it.")
    loaded = loader.load(files, loader.LoadOptions(**options))
    for reservation in loaded.report.warnings:
        warnings.warn(reservation, stacklevel=2)
    return SnapshotGraph(loaded.sections)
