"""Files that are meant for score cards: every fault is reported by file and field."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cuihop.collection.dataset import Dataset
from cuihop.comparison import score_card
from cuihop.comparison.comparison import compare
from cuihop.comparison.score_card import ScoreCard
from cuihop.errors import InputError
from cuihop.evaluation.evaluate import evaluate
from cuihop.files.content_digest import content_digest
from program_run import Run

QRELS = {"q1": {"a": 1, "b": 0}, "q2": {"a": 1}, "q3": {"b": 2}}


def example_card(system: str = "x") -> ScoreCard:
    ranking = {"q1": ["b", "a"], "q2": ["a"], "q3": ["a", "b"]}
    return ScoreCard.of(evaluate(Dataset(qrels=QRELS), ranking, measures=["AP", "P@1"]), system)


def content() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(example_card().to_json())
    return found


def sealed(changed: dict[str, Any]) -> str:
    """The card with a digest that fits, as somebody writes it who knows how."""
    unsealed = {name: value for name, value in changed.items() if name != "sha256"}
    return json.dumps({**unsealed, "sha256": content_digest(unsealed)})


def refused(path: Path) -> InputError:
    with pytest.raises(InputError) as caught:
        ScoreCard.read(path)
    assert caught.value.file == str(path)
    return caught.value


T = TypeVar("T")


def outcome(call: Callable[[], T]) -> T | InputError:
    """The result of the call, or its error."""
    try:
        return call()
    except InputError as error:
        return error


@pytest.mark.parametrize(
    ("raw", "message"),
    [
        (b"", "not JSON"),
        (b"1 Q0 a 1 0.5 run", "not JSON"),
        (b'{"score_card": 1', "not JSON"),
        (b'{"score_card": 1, "values": {"AP": [NaN]}}', "not finite; found NaN"),
        (b'{"score_card": 1, "values": {"AP": [-Infinity]}}', "not finite; found -Infinity"),
        (b"[" * 200_000, "nested too deeply"),
        (b'{"a":' * 200_000, "nested too deeply"),
        (b'{"score_card": ' + b"9" * 5_000 + b"}", "not JSON"),
        (b"[]", "not a score card"),
        (b"null", "not a score card"),
        (b"{}", "not a score card"),
        (b'{"score_card": 1}', "another format; found '1'; expected format 2"),
        (b'{"score_card": true}', "another format"),
        (b'{"score_card": "1"}', "another format"),
        (b'{"score_card": 2}', "field system: a field is missing"),
        (b"\xff\xfe{\x00", "not UTF-8"),
        (b'{\n"a": "\xe9"}', "line 2, byte 7: not UTF-8; found 0xE9"),
        (b"\x1f\x8b\x08damaged", "gzip"),
        (gzip.compress(b'{"score_card": 1}' * 50, mtime=0)[:30], "the gzip stream ends early"),
    ],
    ids=lambda given: given[:20].decode("latin-1") if isinstance(given, bytes) else given[:40],
)
def test_files_that_hold_no_card(tmp_path: Path, raw: bytes, message: str) -> None:
    path = tmp_path / "card.json"
    path.write_bytes(raw)
    assert message in str(refused(path))


def test_a_folder_and_a_file_that_is_not_there(tmp_path: Path) -> None:
    assert "cannot be read" in str(refused(tmp_path))
    assert "no such file" in str(refused(tmp_path / "none.json"))


def test_a_card_may_be_zipped(tmp_path: Path) -> None:
    path = tmp_path / "card.json.gz"
    path.write_bytes(gzip.compress(example_card().to_json().encode()))
    assert ScoreCard.read(path).digest == example_card().digest


def test_a_file_that_unzips_to_more_than_any_card_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(score_card, "LARGEST_CARD", 1_000_000)
    path = tmp_path / "card.json"
    path.write_bytes(gzip.compress(b" " * 50_000_000))
    assert "too large; expected 1,000,000 bytes at most" in str(refused(path))


Change = Callable[[dict[str, Any]], object]

FAULTS: dict[str, tuple[str, Change]] = {
    "no system": ("system", lambda card: card.pop("system")),
    "system is a number": ("system", lambda card: card.update(system=3)),
    "system is empty": ("system", lambda card: card.update(system="")),
    "conditions are a list": ("conditions", lambda card: card.update(conditions=[])),
    "counts are missing": ("counts", lambda card: card.pop("counts")),
    "a version is a number": ("versions, 'numpy'", lambda card: card["versions"].update(numpy=2)),
    "queries are a mapping": ("queries", lambda card: card.update(queries={"q1": 1})),
    "a query is a number": ("queries", lambda card: card.update(queries=["q1", "q2", 3])),
    "a query is null": ("queries", lambda card: card.update(queries=["q1", "q2", None])),
    "a query stands twice": ("queries", lambda card: card.update(queries=["q1", "q2", "q1"])),
    "no queries": ("queries", lambda card: card.update(queries=[], values={"AP": []}, means={"AP": None})),
    "no values": ("values", lambda card: card.update(values={}, means={})),
    "values are a list": ("values", lambda card: card.update(values=[])),
    "a column is null": ("values, 'AP'", lambda card: card["values"].update(AP=None)),
    "a column is text": ("values, 'AP'", lambda card: card["values"].update(AP="0.5")),
    "a value too few": ("values, 'AP'", lambda card: card["values"]["AP"].pop()),
    "a value too many": ("values, 'AP'", lambda card: card["values"]["AP"].append(0.5)),
    "a value is text": ("values, 'AP', query 2", lambda card: card["values"]["AP"].__setitem__(1, "0.5")),
    "a value is true": ("values, 'AP', query 1", lambda card: card["values"]["AP"].__setitem__(0, True)),
    "a value is a list": ("values, 'AP', query 1", lambda card: card["values"]["AP"].__setitem__(0, [0.5])),
    "a value is huge": ("values, 'AP', query 3", lambda card: card["values"]["AP"].__setitem__(2, 1e308)),
    "a value is a huge whole number": (
        "values, 'AP', query 3", lambda card: card["values"]["AP"].__setitem__(2, 10**400)
    ),
    "a value is negative": ("values, 'AP', query 3", lambda card: card["values"]["AP"].__setitem__(2, -0.5)),
    "no measure": ("values, 'quality'", lambda card: card["values"].update(quality=[0.5, 0.5, 0.5])),
    "two measures": ("values, 'P@1,2'", lambda card: card["values"].update({"P@1,2": [0.5, 0.5, 0.5]})),
    "another mean": ("means, 'AP'", lambda card: card["means"].update(AP=0.75)),
    "a mean is missing": ("means", lambda card: card["means"].pop("AP")),
    "no queries of a mean": ("mean_queries", lambda card: card["mean_queries"].pop("AP")),
    "queries of a mean are a number": ("mean_queries, 'AP'", lambda card: card["mean_queries"].update(AP=3)),
    "a count is missing": ("mean_queries, 'AP'", lambda card: card["mean_queries"]["AP"].pop("unjudged")),
    "a count is true": ("mean_queries, 'AP'", lambda card: card["mean_queries"]["AP"].update(unjudged=True)),
    "a count is negative": ("mean_queries, 'AP'", lambda card: card["mean_queries"]["AP"].update(nothing_relevant=-1)),
    "more than there are queries": ("mean_queries, 'AP'", lambda card: card["mean_queries"]["AP"].update(unjudged=4)),
    "not those that have a value": ("mean_queries, 'AP'", lambda card: card["mean_queries"]["AP"].update(scored=2)),
    "a field of another format": ("more", lambda card: card.update(more=1)),
    "a digest of another type": ("sha256", lambda card: card.update(sha256=5)),
}  # fmt: skip


@pytest.mark.parametrize("fault", FAULTS)
def test_a_card_of_a_wrong_shape_is_refused_by_field_though_its_digest_fits(tmp_path: Path, fault: str) -> None:
    field, change = FAULTS[fault]
    card = content()
    change(card)
    path = tmp_path / "card.json"
    path.write_text(json.dumps(card) if field == "sha256" else sealed(card))
    assert refused(path).column == field


def test_numbers_that_only_python_calls_infinite_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "card.json"
    text = example_card().to_json()
    path.write_text(text.replace('"missing": "error"', '"missing": 1e999'))
    assert "not what a score card may hold" in str(refused(path))
    path.write_text(text.replace('"missing": "error"', '"missing": "\\ud800"'))
    assert "not what a score card may hold" in str(refused(path))


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)


@given(field=st.sampled_from(sorted(content())), value=JSON)
def test_whatever_stands_in_a_field_a_card_is_read_or_refused(
    tmp_path_factory: pytest.TempPathFactory, field: str, value: object
) -> None:
    path = tmp_path_factory.mktemp("card") / "card.json"
    path.write_text(sealed({**content(), field: value}))
    read = outcome(lambda: ScoreCard.read(path))
    if isinstance(read, InputError):
        assert read.file == str(path)
        return
    found = outcome(lambda: compare({"a": example_card(), "b": read}, resamples=10).summary())
    assert not isinstance(found, InputError) or found.column is not None


@given(st.data())
def test_a_file_that_was_cut_or_overwritten_is_read_as_it_was_or_refused(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    raw = bytearray(example_card().to_json().encode())
    place = data.draw(st.integers(0, len(raw) - 1))
    if data.draw(st.booleans()):
        del raw[place:]
    else:
        raw[place] = data.draw(st.integers(0, 255))
    path = tmp_path_factory.mktemp("card") / "card.json"
    path.write_bytes(raw)
    read = outcome(lambda: ScoreCard.read(path))
    assert read.file == str(path) if isinstance(read, InputError) else read.digest == example_card().digest


def test_the_command_tells_file_and_field(tmp_path: Path, program: Run) -> None:
    good, bad = tmp_path / "good.json", tmp_path / "bad.json"
    example_card().write(good)
    card = content()
    card["values"]["AP"].pop()
    bad.write_text(sealed(card))
    done = program("compare", str(good), str(bad))
    assert (done.code, done.out) == (3, "")
    assert "bad.json, field values, 'AP': not a value for each query; found '2 values'" in " ".join(done.err.split())
