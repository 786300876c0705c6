"""``--identifiers`` and ``--many``: codes in the arguments and files of every command, and what is said of them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from cuihop import ImageConcepts, SnapshotGraph
from cuihop.graph import Many
from cuihop.graph_wrapper import GraphOfCodes
from cuihop.relevance.image_collection import ImageCollection
from example_graph import coded_graph
from program_run import Run

BRAIN, STEM = "C0006104", "C0006121"


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path: Path = tmp_path_factory.mktemp("codes") / "graph.cuihop"
    coded_graph((0, 5, "LOCAL", "both", ""), (1, 5, "LOCAL", "both", "")).save(path)
    return path


@pytest.mark.parametrize(
    "command",
    [
        ("distance", "D001933", "D001921"),
        ("path", "D001933", "D001921"),
        ("neighbours", "D001933"),
        ("ancestors", "D001933"),
        ("ancestors", "D001933", "D001921"),
        ("descendants", "D001921"),
        ("concept", "D001933"),
        ("similarity", "D001933", "D001921"),
        ("similarity", "D001933;D001921", "D001921"),
        ("explain", "concepts", "D001933", "D001921"),
    ],
    ids=" ".join,
)
def test_every_command_reads_codes(program: Run, graph: Path, command: tuple[str, ...]) -> None:
    concepts = [text.replace("D001933", STEM).replace("D001921", BRAIN) for text in command]
    written = [text.replace("D", "MSH:D") if text.startswith("D") else text for text in command]
    expected = json.loads(program(*concepts, "--json", "-g", graph).out)
    for arguments in ((*command, "--identifiers", "MSH"), (*written,)):
        done = program(*arguments, "--json", "-g", graph)
        assert done.code == 0, done.err
        found = json.loads(done.out)
        assert found["merged"].items() >= {"MSH:D001933": STEM}.items() or "D001933" not in command[1]
        for field in ("hops", "total", "steps", "neighbours", "parents", "values", "nn_iou", "common_ancestors"):
            assert found.get(field) == expected.get(field)
    done = program(*command, "--identifiers", "MSH", "-g", graph)
    assert "identifiers are read as codes of MSH" in done.err
    assert "read as the concept of a code: MSH:D0019" in done.err
    assert program(*concepts, "-g", graph).err.count("MSH") == 0  # of this command alone


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("distance", "D001933", "D1", "--identifiers", "MSH"), "unknown in release coded: MSH:D1"),
        (("distance", STEM, "D001921", "--identifiers", "MSH"), f"MSH:{STEM} (did you mean {STEM}?)"),
        (("distance", "d001933", "D001921", "--identifiers", "MSH"), "MSH:d001933 (did you mean MSH:D001933?)"),
        (("distance", "MSH:D001933", "D001921", "--identifiers", "LOCAL"), "LOCAL:MSH:D001933"),
        (("distance", "D001933", "D001921", "--identifiers", "MESH"), "Did you mean MSH?"),
        (("distance", "D001933", "D001921", "--identifiers", "a b"), "--identifiers takes a vocabulary"),
        (("distance", "old", "both", "--identifiers", "LOCAL"), "LOCAL:old (suppressed C0018670)"),
        (("distance", "both", "x", "--identifiers", "LOCAL"), f"LOCAL:both ({BRAIN}, {STEM})"),
        (("distance", "both", "x", "--identifiers", "LOCAL", "--many", "all"), f"LOCAL:both ({BRAIN}, {STEM})"),
        (("distance", "D001933", "D001921"), "D001933"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)  # fmt: skip
def test_wrong_codes_are_errors(program: Run, graph: Path, arguments: tuple[str, ...], message: str) -> None:
    done = program(*arguments, "-g", graph)
    assert (done.code != 0, done.out) == (True, "")
    assert message in done.err


def test_the_first_of_several_concepts_is_taken_and_said(program: Run, graph: Path, tmp_path: Path) -> None:
    done = program("distance", "LOCAL:both", STEM, "--many", "first", "--json", "-g", graph)
    answer = json.loads(done.out)
    assert (answer["hops"], answer["merged"]) == (1, {"LOCAL:both": BRAIN})
    assert "of a code of several concepts, the first counts" in done.err
    assert f"LOCAL:both → {BRAIN}" in program("path", "LOCAL:both", STEM, "--many", "first", "-g", graph).err
    (tmp_path / "names.csv").write_text(f"CUI,name\n{BRAIN},Encephalon\n", encoding="utf-8")
    named = ("similarity", "LOCAL:both", STEM, "--many", "first", "--names", tmp_path / "names.csv", "-g", graph)
    assert "Encephalon" in program(*named).out
    (tmp_path / "codes.csv").write_text("CUI,name\nD001921,Encephalon\n", encoding="utf-8")
    named = ("similarity", "D001933", "D001921", "--identifiers", "MSH", "--names", tmp_path / "codes.csv", "-g", graph)
    assert "Encephalon" in program(*named).out


def test_files_of_pairs_have_codes(program: Run, graph: Path, tmp_path: Path) -> None:
    pairs = tmp_path / "pairs.tsv"
    pairs.write_text("a\tb\nD001933\tD001921\nD001921\tD001921\nD9\tD001921\n", encoding="utf-8")
    out = tmp_path / "hops.tsv"
    given = ("distance", "--pairs", pairs, "-o", out, "--identifiers", "MSH", "-g", graph)
    done = program(*given)
    assert done.code != 0
    assert "line 4, column 1: unknown concept; found 'MSH:D9'" in done.err
    done = program(*given, "--on-bad-row", "skip")
    assert out.read_text(encoding="utf-8") == "a\tb\thops\nMSH:D001933\tMSH:D001921\t1\nMSH:D001921\tMSH:D001921\t0\n"
    assert f"MSH:D001933 → {STEM}" in done.err
    pairs.write_text("LOCAL:both\tMSH:D001933\n", encoding="utf-8")
    done = program("distance", "--pairs", pairs, "-o", out, "-g", graph)
    assert f"line 1, column 1: code of several concepts; found 'LOCAL:both' ({BRAIN}, {STEM})" in done.err
    program("distance", "--pairs", pairs, "-o", out, "--many", "first", "-g", graph)
    assert out.read_text(encoding="utf-8") == "LOCAL:both\tMSH:D001933\t1\n"


def test_eight_characters_of_a_code_are_no_identifier(program: Run, graph: Path, tmp_path: Path) -> None:
    """The quick way of pairs reads identifiers of eight characters, which codes may have, too."""
    pairs, out = tmp_path / "pairs.tsv", tmp_path / "hops.tsv"
    pairs.write_text(f"{STEM}\t{BRAIN}\n", encoding="utf-8")
    done = program("distance", "--pairs", pairs, "-o", out, "--identifiers", "MSH", "--header", "no", "-g", graph)
    assert (done.code != 0, out.exists()) == (True, False)
    assert f"MSH:{STEM}" in done.err


def test_an_evaluation_of_codes_is_that_of_their_concepts(program: Run, graph: Path, tmp_path: Path) -> None:
    (tmp_path / "codes.csv").write_text("ID,CUIs\na,D001933\nb,D001921;D001933\nc,D9\n", encoding="utf-8")
    (tmp_path / "cuis.csv").write_text(f"ID,CUIs\na,{STEM}\nb,{BRAIN};{STEM}\nc,C9999999\n", encoding="utf-8")
    (tmp_path / "run.trec").write_text("a Q0 b 1 2 r\na Q0 c 2 1 r\nb Q0 a 1 1 r\nc Q0 a 1 1 r\n", encoding="utf-8")

    command = ("evaluate", tmp_path / "run.trec", "--unknown", "isolated", "-m", "nn-CUI@1", "-g", graph)

    def evaluated(*arguments: object) -> tuple[dict[str, object], str]:
        done = program(*command, *arguments)
        assert done.code == 0, done.err
        return json.loads(done.out), done.err

    by_codes, said = evaluated("--concepts", tmp_path / "codes.csv", "--identifiers", "MSH", "--json")
    by_concepts, _ = evaluated("--concepts", tmp_path / "cuis.csv", "--json")
    assert by_codes["means"] == by_concepts["means"]
    counts = by_codes["counts"]
    assert isinstance(counts, dict)
    assert counts["concepts_of_codes"] == {"MSH:D001921": BRAIN, "MSH:D001933": STEM}
    assert (counts["unknown_codes"]["identifiers"], counts["unknown"]["identifiers"]) == (["MSH:D9"], [])
    assert "identifiers are read as codes of MSH" in said
    text = program(*command, "--concepts", tmp_path / "codes.csv", "--identifiers", "MSH", "--verbose").out
    assert "codes that the release does not hold" in text
    assert "codes, read as their concepts (MSH:D001921 → C0006104" in text


def test_all_concepts_of_a_code_count_in_sets(program: Run, graph: Path) -> None:
    command = ("explain", "concepts", "LOCAL:both", f"{BRAIN};{STEM}", "-n", "0", "-g", graph)
    assert f"LOCAL:both ({BRAIN}, {STEM})" in program(*command).err
    answer = json.loads(program(*command, "--many", "all", "--json").out)
    assert (answer["nn_iou"], answer["merged"]) == (1.0, {"LOCAL:both": f"{BRAIN};{STEM}"})


def test_results_with_other_concepts_of_codes_are_not_mixed(program: Run, graph: Path, tmp_path: Path) -> None:
    """The release has one digest, whatever its codes and their treatment: cards and checkpoints tell them apart."""
    (tmp_path / "codes.csv").write_text(f"ID,CUIs\na,LOCAL:both\nb,{STEM}\nc,{BRAIN}\n", encoding="utf-8")
    (tmp_path / "run.trec").write_text("a Q0 b 1 2 r\nb Q0 a 1 1 r\nc Q0 a 1 1 r\n", encoding="utf-8")
    images, opened = ImageConcepts.read(tmp_path / "codes.csv"), SnapshotGraph.open(graph)
    kept = []
    treatments: tuple[Many, ...] = ("first", "all")
    for many in treatments:
        done = program(
            "evaluate", tmp_path / "run.trec", "--concepts", tmp_path / "codes.csv", "-m", "nn-CUI@1", "-g", graph,
            "--many", many, "--card", tmp_path / f"{many}.json",
        )  # fmt: skip
        assert done.code == 0, done.err
        with_codes = GraphOfCodes(opened, many)
        kept.append(ImageCollection.of(images, with_codes, "error").depends(with_codes)["concepts of codes"])
    refused = program("compare", *(f"{many}={tmp_path / many}.json" for many in treatments))
    assert refused.code != 0
    assert "content of codes" in refused.err
    assert kept[0] != kept[1]
