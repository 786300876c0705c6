"""``cuihop export``: a graph, a neighbourhood, or codes, as files for other programs."""

from __future__ import annotations

from pathlib import Path

import typer

from cuihop.adapters.graph_export import HoldsSections, to_kgx, to_sssom
from cuihop.cli.command_files import TSV, FileForm
from cuihop.cli.graph_option import GraphOptions, SearchOptions, note_merged, read_identifiers
from cuihop.cli.option_groups import JsonOptions, argument, option, option_group
from cuihop.cli.output import print_json, print_lines
from cuihop.errors import InputError, parameter_named

_SSSOM = FileForm("SSSOM", (".tsv",))


@option_group
class _ExportOptions(JsonOptions, SearchOptions, GraphOptions):
    cui: str | None = argument("Only this concept, and those within --max-hops of it.", default=None)
    nodes: Path | None = option("File for the concepts, as nodes of KGX; goes with --edges.", mark=TSV)
    edges: Path | None = option("File for the is_a edges, as edges of KGX; goes with --nodes.", mark=TSV)
    mappings: Path | None = option("File for the codes of the concepts, as mappings of SSSOM.", mark=_SSSOM)
    sab: list[str] | None = option("With --mappings: only codes of this vocabulary. May be repeated.")

    def __post_init__(self) -> None:
        if (self.nodes is None) != (self.edges is None) or (self.nodes is None and self.mappings is None):
            raise typer.BadParameter("give --nodes and --edges, or --mappings, or all three")
        if self.mappings is None and self.sab:
            raise typer.BadParameter("--sab goes with --mappings")
        if (self.cui is None) != (self.max_hops is None) or (self.cui is None and self.direction != "any"):
            raise typer.BadParameter("a concept and --max-hops go together, and --direction with both")


def export(options: _ExportOptions) -> None:
    """Write a graph or a neighbourhood for other programs: KGX, and codes as SSSOM."""
    counts: dict[str, int] = {}
    with options.opened() as graph:
        cuis = None
        if options.cui is not None:
            (centre,) = read_identifiers(graph, [options.cui])
            (hood,) = graph.neighbours([centre], hops=options.max_hops, direction=options.direction)
            note_merged(hood.merged)
            cuis = [hood.cui, *(near.cui for near in hood)]
        elif not isinstance(graph, HoldsSections):
            raise InputError("this graph cannot be read as a whole", advice="Give a concept and --max-hops.")
        if options.nodes is not None and options.edges is not None:
            counts["nodes"], counts["edges"] = to_kgx(graph, options.nodes, options.edges, cuis=cuis)
        if options.mappings is not None:
            with parameter_named("sabs", "--sab"):
                counts["mappings"] = to_sssom(graph, options.mappings, sabs=options.sab or (), cuis=cuis)
        release = graph.release
    files = {kind: str(getattr(options, kind)) for kind in counts}
    if options.json:
        print_json({"counts": counts, "files": files, "release": release.digest, "release_name": release.name})
    else:
        print_lines(f"{files[kind]}: {count:,} {kind}" for kind, count in counts.items())
