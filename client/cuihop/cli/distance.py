"""``cuihop distance``: one pair, or a file of pairs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import typer

from cuihop.answer_fields import distance_fields, with_release
from cuihop.cli.graph_option import DirectionOption, GraphOptions, MaxHopsOption, note_merged
from cuihop.cli.output import JsonOption, console, hops_text, print_json
from cuihop.cli.pairs_file import PairAnswers
from cuihop.cli.pairs_options import PairsOptions, print_answers_of_file, upper_case_pair
from cuihop.files.text_lines import direction_text


def distance(
    a: Annotated[str | None, typer.Argument(help="Identifier of a concept.", show_default=False)] = None,
    b: Annotated[str | None, typer.Argument(help="Identifier of another concept.", show_default=False)] = None,
    *,
    graph: GraphOptions,
    files: PairsOptions,
    direction: DirectionOption = "any",
    max_hops: MaxHopsOption = None,
    json: JsonOption = False,
) -> None:
    """Print the distance in hops between two concepts, or for every pair of a file."""
    files.check(a, b)
    with graph.opened() as opened:
        if files.pairs is not None:

            def answers(some: Sequence[tuple[str, str]]) -> PairAnswers:
                found = opened.distances(some, direction=direction, max_hops=max_hops)
                texts = ["" if hops is None else str(hops) for hops in found]
                return PairAnswers(texts, int(found.reached.sum()), found.merged)

            print_answers_of_file(opened, files, ["hops"], answers, ("reached", "no_path"), json=json)
            return
        a, b = upper_case_pair(a, b)
        answer = opened.distances([(a, b)], direction=direction, max_hops=max_hops)
        hops = answer[0]
        if json:
            print_json(with_release(opened.release, distance_fields(hops, a, b, direction, max_hops), answer.merged))
            return
        note_merged(answer.merged)
        name_a, name_b = (f" {name}" if name else "" for name in opened.names([a, b]))
        console().print(
            f"{hops_text(hops, max_hops)} between {a}{name_a} and {b}{name_b} ({direction_text(direction)})"
        )
