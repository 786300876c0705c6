from pathlib import Path

import pytest

from cuihop_tools.plain_language import main, problems


def causes(folder: Path, text: str, name: str = "made.py") -> list[tuple[int, str]]:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return list(problems(path))


@pytest.mark.parametrize(
    ("text", "line", "cause"),
    [
        ('"""What the module does."""\n', 1, "docstring begins with “What”"),
        ('class Graph:\n    """Where hops are counted."""\n', 1, "docstring begins with “Where”"),
        ('def hops() -> int:\n    """How many hops."""\n', 1, "docstring begins with “How”"),
        ('async def hops() -> int:\n    """Whether there are hops."""\n', 1, "docstring begins with “Whether”"),
        ("x = 1\n# the caller is told\n", 2, "“told”"),
        ('x = "there is No Such Way"\n', 1, "“No Such Way”"),
        ("class kept: ...\n", 1, "the name “kept”"),
        ("def tell_all() -> None: ...\n", 1, "the name “tell_all”"),
        ("x = 1\nasync def _known() -> None: ...\n", 2, "the name “_known”"),
        ("def f(asked: int) -> None: ...\n", 1, "the name “asked”"),
        ("shown_rows = 1\n", 1, "the name “shown_rows”"),
        ("when_settled = 1\n", 1, "the name “when_settled”"),
        ('def hops() -> int:\n    """Of a path."""\n', 1, "docstring begins with “Of”"),
        ('def hops() -> int:\n    """The same for a path."""\n', 1, "docstring begins with “The same”"),
        ("x = 1\n# rows are passed over\n", 2, "“passed over”"),
        ('"""Hops; None for what is none."""\n', 1, "“for what is none”"),
        ('"""Hops.\n\nThey end. Where there are none, all is\nin vain.\n"""\n', 3, "sentence begins with “Where”"),
        ("x = 1\n# Hops end. Of several\n# the first counts.\n", 2, "sentence begins with “Of several”"),
        ("# Who calls gets an answer.\n", 1, "sentence begins with “Who”"),
    ],
)
def test_each_rule_finds_the_place_that_breaks_it(tmp_path: Path, text: str, line: int, cause: str) -> None:
    assert causes(tmp_path, text) == [(line, cause)]


@pytest.mark.parametrize(
    "text",
    [
        '"""Whatever."""\n',
        '"""Hops.\n\nWhat they are."""\n',
        "unknown = makers = knowns = 1\n",
        "print(asked)\n",  # another package's name is used, none is given
        "x = 'toldness'\n",
        '"""The same graph."""\n',
        '"""Hops.\n\nWhere are they?\n"""\n',
        "# no hops where there is no path, so that all is well\n",
        "def hops() -> None:\n    found = 1\n",  # no part of what is shipped
    ],
)
def test_plain_text_passes(tmp_path: Path, text: str) -> None:
    assert causes(tmp_path, text) == []


@pytest.mark.parametrize(
    "text",
    [
        "def hops(found: int) -> None: ...\n",
        "def hops() -> None: place = 1\n",
        "class Graph:\n    def hops(self) -> list[int]: return [places for places in (1,)]\n",
        "def hops() -> None:\n    if (found := 1): ...\n",
        "hops = lambda place: 1\n",
    ],
)
def test_a_local_of_what_is_shipped_has_a_noun(tmp_path: Path, text: str) -> None:
    (tmp_path / "client").mkdir()
    ((_, cause),) = causes(tmp_path / "client", text)
    assert cause in ("the name “found”", "the name “place”", "the name “places”")
    assert causes(tmp_path / "client", text, "errors.py") == []  # `InputError.found` is public
    assert causes(tmp_path / "client", "class Path:\n    found: int\n\nclass Hops(Path): place = 1\n") == []


def test_names_in_tests_are_free_and_their_words_are_not(tmp_path: Path) -> None:
    (tmp_path / "tests").mkdir()
    text = 'def test_hops() -> None:\n    """What hops are."""\n    found = kept = 1  # anew\n'
    assert sorted(causes(tmp_path / "tests", text)) == [(1, "docstring begins with “What”"), (3, "“anew”")]


def test_a_sentence_of_a_page_is_read_and_its_headings_are_not(tmp_path: Path) -> None:
    text = "## Where hops are\n\n- Where they end, all ends.\n\nWhere do they? It ends. So that is it.\n"
    assert causes(tmp_path, text, "page.md") == [
        (3, "sentence begins with “Where”"), (5, "sentence begins with “So that”"),
    ]  # fmt: skip


def test_a_page_is_read_for_its_words_alone(tmp_path: Path) -> None:
    assert causes(tmp_path, "What this is\n\nkept = 1\n\nIt tells more.\n", "page.md") == [(5, "“tells”")]


def test_a_script_is_read_for_its_words_and_for_the_names_that_it_declares(tmp_path: Path) -> None:
    text = (
        "const asked = 1;\n// nobody asks\nfunction tellMore(shown) { let makers = askedFor(shown); }\nclass Told {}\n"
    )
    assert causes(tmp_path, text, "page.js") == [
        (1, "the name “asked”"), (2, "“nobody asks”"), (3, "the name “tellMore”"),
        (4, "“Told”"), (4, "the name “Told”"),
    ]  # fmt: skip


def test_the_command_lists_every_place_and_fails(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "one.py").write_text("made = told = 1\n", encoding="utf-8")
    (tmp_path / "one_pb2.py").write_text("told = 1\n", encoding="utf-8")
    (tmp_path / "data.csv").write_text("told\n", encoding="utf-8")
    (tmp_path / "vendor").mkdir()
    (tmp_path / "vendor" / "library.js").write_text("// told\n", encoding="utf-8")
    assert main([str(tmp_path)]) == 1
    printed = capsys.readouterr()
    assert printed.out.splitlines() == [
        f"{tmp_path / 'one.py'}:1: {cause}" for cause in ("“told”", "the name “made”", "the name “told”")
    ]
    assert printed.err == "3 problems\n"
    (tmp_path / "one.py").write_text("hops = 1\n", encoding="utf-8")
    assert main([str(tmp_path)]) == 0
