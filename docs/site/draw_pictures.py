"""Draws docs/pictures/*.svg; the figures in them are computed: ``python docs/site/draw_pictures.py``.

Each picture has a plate of its own colour, so that it is legible on light and dark pages alike, and uses fonts that
every machine has.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from xml.sax.saxutils import escape

from cuihop import SnapshotGraph, iou
from cuihop.measures import concept_overlap
from cuihop.measures.dcg import dcg

__all__ = ["pictures"]

FOLDER = Path(__file__).parents[1] / "pictures"
INK, GREY, BLUE, ORANGE, GREEN = "#1c2733", "#566472", "#2b5a91", "#b3541e", "#2a7448"
TINTS = {INK: "#ffffff", GREY: "#f0f2f4", BLUE: "#eaf1f9", ORANGE: "#fbeee4", GREEN: "#e8f4ec"}


def text(
    x: float, y: float, words: str, *, colour: str = INK, size: int = 15, bold: bool = False, at: str = "start"
) -> str:
    """One line of words."""
    weight = ' font-weight="bold"' if bold else ""
    style = f'fill="{colour}" font-size="{size}" text-anchor="{at}"{weight}'
    return f'<text x="{x:g}" y="{y:g}" {style}>{escape(words)}</text>'


def plain_box(x: float, y: float, wide: float, high: float, colour: str, round_by: int = 9) -> str:
    """A box without words."""
    size = f'x="{x:g}" y="{y:g}" width="{wide:g}" height="{high:g}"'
    return f'<rect {size} rx="{round_by}" fill="{TINTS[colour]}" stroke="{colour}"/>'


def box(x: float, y: float, wide: float, high: float, title: str, lines: Iterable[str] = (), colour: str = BLUE) -> str:
    """A box with a title and lines under it, in its middle."""
    parts = [plain_box(x, y, wide, high, colour)]
    lines = list(lines)
    top = y + high / 2 - 9.5 * len(lines) + 5
    parts.append(text(x + wide / 2, top, title, colour=colour, bold=True, at="middle"))
    for number, line in enumerate(lines, 1):
        parts.append(text(x + wide / 2, top + 19 * number, line, size=13, at="middle"))
    return "".join(parts)


def line(
    x1: float, y1: float, x2: float, y2: float, *, colour: str = GREY, dashed: bool = False, tip: bool = True
) -> str:
    """A line, with a tip at its end."""
    dash = ' stroke-dasharray="6 4"' if dashed else ""
    end = ' marker-end="url(#tip)"' if tip else ""
    return f'<path d="M{x1:g} {y1:g}L{x2:g} {y2:g}" stroke="{colour}" stroke-width="2" fill="none"{dash}{end}/>'


def picture(wide: int, high: int, title: str, parts: Iterable[str]) -> str:
    """The whole file."""
    tip = (
        '<defs><marker id="tip" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="8" markerHeight="8" '
        f'orient="auto-start-reverse"><path d="M0 0 10 5 0 10z" fill="{GREY}"/></marker></defs>'
    )
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {wide} {high}" width="{wide}" height="{high}" '
        f'font-family="Helvetica, Arial, sans-serif" role="img" aria-label="{escape(title)}">'
    )
    plate = f'<rect x="0.5" y="0.5" width="{wide - 1}" height="{high - 1}" rx="12" fill="#fcfcfa" stroke="#c9d3df"/>'
    return "\n".join([head, f"<title>{escape(title)}</title>", tip, plate, *parts, "</svg>"]) + "\n"


def overview() -> str:
    """The parts of cuihop, from sources to uses."""
    sources: list[tuple[str, tuple[str, ...]]] = [
        ("UMLS release", ("MRREL, MRCONSO, …",)),
        ("Ontology", ("OBO files",)),
        ("Neo4j", ("the graph of record",)),
    ]
    uses: list[tuple[str, tuple[str, ...]]] = [
        ("Evaluators", ("nn-IoU, nn-CUI@K, CUI@K", "of whole image collections")),
        ("A department", ("one service: HTTP and gRPC", "keys, limits, metrics")),
        ("Curators", ("distances, paths, search,", "read-only Cypher")),
    ]
    parts: list[str] = []
    for number, (title, lines) in enumerate(sources):
        y = 42 + 94 * number
        parts += [box(24, y, 190, 66, title, lines, BLUE), line(216, y + 33, 292, 150 + 18 * (number - 1) + 7)]
    parts.append(text(276, 88, "load", colour=GREY, size=13, at="middle"))
    graph = ("one file: checked,", "mapped, shared", "", "exact hops over is_a,", "every answer names", "its release")
    parts.append(box(296, 72, 210, 166, "graph.cuihop", graph, ORANGE))
    for number, (title, lines) in enumerate(uses):
        y = 32 + 96 * number
        parts += [line(508, 150 + 18 * (number - 1) + 7, 584, y + 38), box(588, y, 228, 76, title, lines, GREEN)]
    parts.append(text(535, 78, "answer", colour=GREY, size=13, at="middle"))
    return picture(840, 330, "Releases are loaded once into one file, from which everything is answered", parts)


def overlap() -> str:
    """IoU against nn-IoU, for two images."""
    names = {
        "C0040405": "Computed Tomography",
        "C0042449": "Veins",
        "C0005847": "Blood Vessels",
        "C0006121": "Brain Stem",
        "C0018670": "Head",
    }
    graph = SnapshotGraph.of([("C0042449", "C0005847")], concepts=list(names))
    found = concept_overlap(["C0040405", "C0042449", "C0006121"], ["C0040405", "C0005847", "C0018670"], graph)
    shared, near, union = len(found.shared), len(found.related), len(found.A | found.B)
    plain = iou(found.A, found.B)
    parts = [
        text(140, 36, "image A", colour=BLUE, bold=True, size=17, at="middle"),
        text(580, 36, "image B", colour=BLUE, bold=True, size=17, at="middle"),
    ]
    rows = [
        ("C0040405", "C0040405", GREEN, "the same: counts 1"),
        ("C0042449", "C0005847", ORANGE, "1 hop apart: λ each"),
        ("C0006121", "C0018670", GREY, "nothing near: 0"),
    ]
    for number, (a, b, colour, words) in enumerate(rows):
        y = 54 + 62 * number
        parts += [box(30, y, 220, 46, names[a], (), colour), box(470, y, 220, 46, names[b], (), colour)]
        if colour != GREY:
            parts.append(line(252, y + 23, 468, y + 23, colour=colour, dashed=colour == ORANGE, tip=False))
        parts.append(text(360, y + 15, words, colour=colour, size=13, at="middle"))
    formula = f"{shared} + λ · {near}) / {union} = ({shared} + {found.lam:g} · {near}"
    parts += [
        text(360, 268, f"IoU = {shared} / {union} = {plain:g}", size=17, at="middle"),
        text(360, 298, f"nn-IoU = ({formula}) / {union} = {found.nn_iou:g}", size=17, bold=True, at="middle"),
        text(360, 320, f"n = {found.n}, λ = {found.lam:g}", colour=GREY, size=13, at="middle"),
    ]
    return picture(720, 336, "Two images: shared concepts, near concepts, and the two measures of their overlap", parts)


GAINS = (0.4, 0.2, 0.0, 1.0, 0.5)
"""nn-IoU of the five images that a system put first with the query; the corpus has no other that gains anything."""


def ranking() -> str:
    """nn-CUI@K: gains, discounts, and the ideal."""
    best = sorted(GAINS, reverse=True)
    values = dcg(GAINS), dcg(best)
    parts: list[str] = []
    for column, (title, gains, colour, value) in enumerate(
        [("the system's ranking", GAINS, BLUE, values[0]), ("the ideal ranking", best, GREEN, values[1])]
    ):
        left = 40 + 340 * column
        parts.append(text(left + 150, 34, title, colour=colour, bold=True, at="middle"))
        parts.append(line(left, 190, left + 300, 190, tip=False))
        for rank, gain in enumerate(gains, 1):
            x, high = left + 60 * rank - 50, 120 * gain
            parts.append(plain_box(x, 190 - high, 40, high, colour, 0))
            parts.append(text(x + 20, 183 - high, f"{gain:g}", size=13, at="middle"))
            parts.append(text(x + 20, 208, f"rank {rank}", colour=GREY, size=12, at="middle"))
        name = "DCG@5" if column == 0 else "IDCG@5"
        parts.append(text(left + 150, 238, f"{name} = {value:.4f}", at="middle"))
    said = f"nn-CUI@5 = {values[0]:.4f} / {values[1]:.4f} = {values[0] / values[1]:.4f}"
    parts.append(text(360, 276, said, size=17, bold=True, at="middle"))
    return picture(720, 300, "Gains by rank of a system and of the ideal, and their ratio", parts)


def design() -> str:
    """The packages, and who imports whom."""
    parts = [
        box(40, 40, 230, 84, "graph_loader", ("cuihop_loader: files of a", "release → a graph"), BLUE),
        box(560, 40, 230, 84, "service", ("cuihop_service: HTTP, gRPC,", "guard, cache, metrics"), BLUE),
        box(
            270,
            200,
            290,
            104,
            "client",
            ("cuihop: graph, measures,", "evaluation, command line,", "Neo4j, remote"),
            ORANGE,
        ),
        box(560, 350, 230, 64, "proto", ("cuihop_api: the contract",), GREEN),
        line(200, 126, 330, 198),
        line(630, 126, 500, 198),
        line(740, 126, 740, 348),
        line(480, 306, 600, 348, dashed=True),
        text(455, 340, "cuihop.remote only", colour=GREY, size=13, at="end"),
        text(415, 86, "never each other", colour=GREY, size=13, at="middle"),
        text(40, 400, "An arrow: imports.", colour=GREY, size=13),
    ]
    return picture(830, 436, "Four packages and the arrows of their imports", parts)


def pictures() -> dict[str, str]:
    """Every picture by the name of its file."""
    return {
        "overview.svg": overview(),
        "overlap.svg": overlap(),
        "ranking.svg": ranking(),
        "design.svg": design(),
    }


if __name__ == "__main__":
    for file, drawn in pictures().items():
        FOLDER.joinpath(file).write_text(drawn, encoding="utf-8")
