"""WNDB and WN-LMF: synsets, instances, names, vocabularies; and faults."""

from __future__ import annotations

import gzip
import itertools
import random
from collections.abc import Mapping
from pathlib import Path

import networkx as nx
import pytest
import wn
import wn._config
import wn.taxonomy

from cuihop import SnapshotGraph
from cuihop.errors import InputError
from cuihop_loader import LoadOptions, load, xml_elements
from loader.rrf_made import concepts, edges, sabs_of_edges
from loader.wordnet_made import Synset, in_folder, lexicon, lmf, wndb
from shared_data import wordnet

NOUNS = [
    Synset(["city"]),
    Synset(["domestic_dog", "dog", "Canis_familiaris"], ["carnivore"]),
    Synset(["carnivore"]),
    Synset(["Berlin", "German_capital"], [], ["city"]),
]
VERBS = [Synset(["chase", "dog"], ["pursue"]), Synset(["pursue"])]
ADJECTIVES = [Synset(["able(p)"]), Synset(["galore(ip)", "in_plenty(a)"], kind="s")]

LEMMAS = {"x-1-n": ["carnivore"], "x-2-n": ["dog", "domestic dog"], "x-3-n": ["Rex & <Co>"]}
PARENTS = {"x-2-n": [("hypernym", "x-1-n"), ("similar", "x-3-n")], "x-3-n": [("instance_hypernym", "x-2-n")]}


def written(folder: Path, text: str, name: str = "x.xml") -> Path:
    path = folder / name
    path.write_bytes(text.encode())
    return path


def refused(path: Path) -> InputError:
    with pytest.raises(InputError) as error:
        load([path])
    assert error.value.expected
    return error.value


def test_a_folder_of_wordnet_is_one_graph_with_a_vocabulary_for_each_part_of_speech(tmp_path: Path) -> None:
    nouns = in_folder(tmp_path / "dict", NOUNS)
    verbs = in_folder(tmp_path / "dict", VERBS, "verb")
    adjectives = in_folder(tmp_path / "dict", ADJECTIVES, "adj")
    for source in (tmp_path, tmp_path / "dict"):
        loaded = load([source])
        assert edges(loaded) == {
            (nouns["domestic_dog"], nouns["carnivore"]), (nouns["Berlin"], nouns["city"]),
            (verbs["chase"], verbs["pursue"]),
        }  # fmt: skip
        assert concepts(loaded) == {*nouns.values(), *verbs.values(), *adjectives.values()}
        assert sabs_of_edges(loaded)[verbs["chase"], verbs["pursue"]] == ("WordNet-verb",)
        report = loaded.report
        assert report.relation_rows == {"is_a": 2, "instance_of": 1}
        assert {sab: found.rows for sab, found in report.sabs.items()} == {"WordNet-noun": 2, "WordNet-verb": 1}
        assert (report.release, report.identifiers) == ("WordNet 3.9", "any")
    assert adjectives["galore(ip)"].endswith("-s")


def test_words_are_names_with_blanks_and_without_markers(tmp_path: Path) -> None:
    nouns, adjectives = in_folder(tmp_path, NOUNS), in_folder(tmp_path, ADJECTIVES, "adj")
    graph = SnapshotGraph(load([tmp_path]).sections)
    dog, galore = graph.concepts([nouns["domestic_dog"], adjectives["galore(ip)"]])
    assert (dog.name, dog.synonyms) == ("domestic dog", ("dog", "Canis familiaris"))
    assert (galore.name, galore.synonyms) == ("galore", ("in plenty",))


def test_one_file_alone_and_compressed(tmp_path: Path) -> None:
    text, identifiers = wndb(NOUNS)
    path = tmp_path / "data.noun.gz"
    path.write_bytes(gzip.compress(text.encode()))
    assert concepts(load([path])) == set(identifiers.values())


@pytest.mark.parametrize(
    ("old", "new", "problem", "found"),
    [
        ("n 01 carnivore", "v 01 carnivore", "not a type of synset of this file", "v"),
        ("n 01 carnivore", "n 00 carnivore", "a synset without words", "00"),
        ("n 01 carnivore", "n 0x carnivore", "not a number", "0x"),
        ("n 03 domestic_dog", "n 0f domestic_dog", "too few fields", "the end of the line"),
        ("000 | a gloss", "999 | a gloss", "too few fields", ""),
        ("@i 00000", "@i x0000", "not an offset", "x0000"),
        (" n 0000 | a gloss", " v 0000 | a gloss", "a hypernym of another part of speech", "v"),
        ("@i 000000", "@i 990000", "a pointer to a synset that is not in the file", "990000"),
    ],
)
def test_a_bad_field_of_wordnet_is_named(tmp_path: Path, old: str, new: str, problem: str, found: str) -> None:
    text = wndb(NOUNS)[0]
    assert old in text
    error = refused(written(tmp_path, text.replace(old, new, 1), "data.noun"))
    assert error.line == text[: text.index(old)].count("\n") + 1
    assert error.problem == problem
    assert found in str(error.found)
    if found != "the end of the line":
        line = text.replace(old, new, 1).splitlines()[error.line - 1]
        assert isinstance(error.column, int)
        assert line[error.column - 1 :].startswith(str(error.found).strip("'"))
    skipped = load([tmp_path / "data.noun"], LoadOptions(on_bad_row="skip")).report
    assert skipped.files[0].bad >= 1


@pytest.mark.parametrize(
    ("change", "line", "advice"),
    [
        (lambda text: text.replace("\n", "\r\n"), 3, "line ends were converted to those of Windows"),
        (lambda text: text[3:], 3, "load the file as it was published"),
        (lambda text: text.replace("dog", "dogs", 1), 5, "load the file as it was published"),
        (lambda text: "\n" + text, 4, "load the file as it was published"),
    ],
)
def test_offsets_are_compared_with_the_file(tmp_path: Path, change: object, line: int, advice: str) -> None:
    assert callable(change)
    error = refused(written(tmp_path, change(wndb(NOUNS)[0]), "data.noun"))
    assert (error.problem, error.line) == ("not the offset of the line", line)
    assert advice in str(error)


def test_wordnet_that_is_cut_off(tmp_path: Path) -> None:
    text, identifiers = wndb([*NOUNS[::-1]])
    error = refused(written(tmp_path, text[:-10], "data.noun"))
    assert (error.problem, error.line) == ("the last line is cut off", 6)
    whole_lines = "".join(text.splitlines(keepends=True)[:-1])
    error = refused(written(tmp_path, whole_lines, "data.noun"))
    assert (error.problem, error.line) == ("a pointer to a synset that is not in the file", 3)
    assert identifiers["city"][:8] in str(error.found)


def test_two_wordnets_at_once_are_refused(tmp_path: Path) -> None:
    in_folder(tmp_path / "a", NOUNS)
    in_folder(tmp_path / "b", VERBS[1:])
    (tmp_path / "b" / "data.noun").write_bytes((tmp_path / "a" / "data.noun").read_bytes())
    with pytest.raises(InputError, match=r"two files data\.noun; found .*a/data\.noun and .*b/data\.noun"):
        load([tmp_path / "a", tmp_path / "b"])


def test_wordnet_without_synsets(tmp_path: Path) -> None:
    assert refused(written(tmp_path, "  1 licence\n", "data.verb")).problem == "no synsets in the file"


def raw_edges(folder: Path, part: str) -> set[tuple[str, str]]:
    """(child, parent) of a data file, read as its manual page says: pointers are fours of fields before the bar."""
    found = set()
    for line in (folder / f"data.{part}").read_text(encoding="ascii").splitlines():
        if not line.startswith("  "):
            fields = line.split(" | ")[0].split()
            words = int(fields[3], 16)
            rest = fields[5 + 2 * words :]
            pointers = [rest[i : i + 4] for i in range(0, 4 * int(fields[4 + 2 * words]), 4)]
            own = f"{fields[0]}-{part[0]}"
            found |= {(own, f"{p[1]}-{p[2]}") for p in pointers if p[0] in ("@", "@i")}
    return found


@pytest.fixture(scope="module")
def real(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, object]:
    loaded = load([wordnet()])
    return {"loaded": loaded, "graph": SnapshotGraph(loaded.sections)}


@pytest.mark.slow
def test_wordnet_has_the_edges_of_its_files_and_distances_of_networkx(real: Mapping[str, object]) -> None:
    loaded, graph = real["loaded"], real["graph"]
    assert isinstance(graph, SnapshotGraph)
    expected = raw_edges(wordnet(), "noun") | raw_edges(wordnet(), "verb")
    assert edges(loaded) == expected  # type: ignore[arg-type]
    upward, either = nx.DiGraph(expected), nx.Graph(expected)
    drawn = random.Random(30)
    nodes = sorted(upward)
    for start in drawn.sample(nodes, 4):
        targets = drawn.sample(nodes, 400)
        away, above = nx.single_source_shortest_path_length(either, start), nx.descendants(upward, start)
        assert graph.distances(list(zip(itertools.repeat(start), targets))) == [away.get(to) for to in targets]
        up = nx.single_source_shortest_path_length(upward, start)
        assert [graph.distance(start, to, direction="up") for to in sorted(above)] == [up[to] for to in sorted(above)]


@pytest.mark.slow
def test_published_values_of_wordnet_hold(real: Mapping[str, object]) -> None:
    """NLTK's how-to on WordNet: path similarity of dog and cat 0.2, so 4 hops through their lowest common hypernym."""
    graph = real["graph"]
    assert isinstance(graph, SnapshotGraph)
    assert [hit.name for hit in graph.search("carnivore")][:1] == ["carnivore"]
    dog, cat, carnivore = "02084071-n", "02121620-n", "02075296-n"
    hops = [graph.distance(animal, carnivore, direction="up") for animal in (dog, cat)]
    assert 1 / (1 + sum(hop for hop in hops if hop is not None)) == 0.2
    assert graph.distance(dog, cat) == 3  # down again from domestic animal through domestic cat


def test_lmf_is_read_as_it_says(tmp_path: Path) -> None:
    text = lmf(lexicon("x", LEMMAS, PARENTS), lexicon("y", {"y-1-n": ["Hund"]}, {"y-1-n": [("hypernym", "x-1-n")]}))
    for path in (written(tmp_path, text), tmp_path / "x.xml.gz"):
        if path.suffix == ".gz":
            path.write_bytes(gzip.compress(text.replace("\n", "\r\n").encode()))
        loaded = load([path])
        assert edges(loaded) == {("x-2-n", "x-1-n"), ("x-3-n", "x-2-n"), ("y-1-n", "x-1-n")}
        assert loaded.report.relation_rows == {"is_a": 2, "instance_of": 1}
        assert {sab: (found.version, found.edges) for sab, found in loaded.report.sabs.items()} == {
            "x": ("2030", 2), "y": ("2030", 1),
        }  # fmt: skip
        assert (loaded.report.release, loaded.report.terms and loaded.report.terms.undefined_parents) == (
            "x:2030, y:2030", 0,
        )  # fmt: skip
        graph = SnapshotGraph(loaded.sections)
        assert [(found.name, found.synonyms) for found in graph.concepts(["x-2-n", "x-3-n"])] == [
            ("dog", ("domestic dog",)), ("Rex & <Co>", ()),
        ]  # fmt: skip
    assert loaded.report.files[0].line_ends == "CRLF"


def test_lmf_with_more_bytes_than_a_text_may_have_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(xml_elements, "LONGEST_TEXT", 1_000)
    monkeypatch.setattr(xml_elements, "BLOCK_BYTES", 500)
    relations = {f"x-{number}-n": [("hypernym", f"x-{number + 1}-n")] for number in range(1, 100)}
    text = lmf(lexicon("x", {f"x-{number}-n": ["word"] for number in range(1, 101)}, relations))
    assert load([written(tmp_path, text)]).report.edges == 99


def test_the_members_of_a_synset_may_be_senses(tmp_path: Path) -> None:
    text = lmf(lexicon("x", LEMMAS, PARENTS)).replace('members="x-2-n-e0 x-2-n-e1"', 'members="x-2-n-e0-s x-2-n-e1-s"')
    assert "-s x-2" in text
    (concept,) = SnapshotGraph(load([written(tmp_path, text)]).sections).concepts(["x-2-n"])
    assert [concept.name, *concept.synonyms] == LEMMAS["x-2-n"]


def test_a_hyponym_without_its_hypernym_is_used_and_counted(tmp_path: Path) -> None:
    relations = {
        "x-1-n": [("hyponym", "x-2-n"), ("hyponym", "x-3-n"), ("instance_hyponym", "x-4-n")],
        "x-2-n": [("hypernym", "x-1-n")],
    }
    text = lmf(lexicon("x", {f"x-{n}-n": [f"word {n}"] for n in range(1, 5)}, relations))
    graph = load([written(tmp_path, text)])
    assert edges(graph) == {("x-2-n", "x-1-n"), ("x-3-n", "x-1-n"), ("x-4-n", "x-1-n")}
    assert graph.report.relation_rows == {"is_a": 2, "instance_of": 1}
    assert graph.report.warnings == [
        f"{tmp_path}/x.xml: hyponyms without the hypernym that mirrors them, used as is_a: 2, such as x-3-n of x-1-n"
    ]


@pytest.mark.parametrize("relation", ["hypernym", "hyponym"])
def test_a_synset_that_only_relations_name_counts_as_not_defined(relation: str, tmp_path: Path) -> None:
    relations = {"x-1-n": [(relation, "y-9-n")], "x-2-n": [("hypernym", "y-9-n")]}
    text = lmf(lexicon("x", {"x-1-n": ["word"], "x-2-n": ["other"]}, relations))
    terms = load([written(tmp_path, text)]).report.terms
    assert terms is not None
    assert terms.undefined_parents == 1


def test_an_extension_adds_names_and_relations_to_another_lexicon(tmp_path: Path) -> None:
    extension = lexicon("e", {"e-1-n": ["pup"]}, {"e-1-n": [("hypernym", "x-2-n")]})
    extension = extension.replace("Lexicon", "LexiconExtension")
    external = '<LexicalEntry id="n"><Lemma writtenForm="hound"/><Sense id="s" synset="x-2-n"/></LexicalEntry>'
    related = '<ExternalSynset id="x-3-n"><SynsetRelation relType="hypernym" target="e-1-n"/></ExternalSynset>'
    extension = extension.replace("<Synset", external + related + "<Synset", 1)
    loaded = load([written(tmp_path, lmf(lexicon("x", LEMMAS, PARENTS), extension))])
    assert ("x-3-n", "e-1-n") in edges(loaded)
    assert SnapshotGraph(loaded.sections).concepts(["x-2-n"])[0].synonyms == ("domestic dog", "hound")


@pytest.mark.parametrize("schema", ["1.0", "1.1", "1.4"])
def test_names_and_common_hypernyms_are_those_of_the_package_wn(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, schema: str
) -> None:
    drawn = random.Random(schema)
    synsets = {f"r-{n:04d}-n": [f"w{n} {k}" for k in range(drawn.randint(1, 3))] for n in range(60)}
    kinds = ("hypernym", "hypernym", "instance_hypernym")
    parents = {
        f"r-{n:04d}-n": [(drawn.choice(kinds), f"r-{drawn.randrange(n):04d}-n") for _ in range(drawn.randint(1, 2))]
        for n in range(1, 60)
    }
    text = lmf(lexicon("r", synsets, parents), schema=schema)
    if schema == "1.0":  # has no members
        text = "\n".join(line.split(" members=")[0] + ">" if "members" in line else line for line in text.splitlines())
    path = written(tmp_path, text)
    monkeypatch.setattr(wn._config.config, "data_directory", tmp_path / "wn")
    wn.add(path, progress_handler=None)
    graph, theirs = SnapshotGraph(load([path]).sections), wn.Wordnet("r")
    for concept in graph.concepts(list(synsets)):
        assert [concept.name, *concept.synonyms] == theirs.synset(concept.cui).lemmas()
    pairs = [tuple(drawn.sample(sorted(synsets), 2)) for _ in range(100)]
    for a, b in pairs:
        through = [
            up_a + up_b
            for above in synsets
            if (up_a := graph.distance(a, above, direction="up")) is not None
            and (up_b := graph.distance(b, above, direction="up")) is not None
        ]
        assert min(through) == len(wn.taxonomy.shortest_path(theirs.synset(a), theirs.synset(b)))


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ('<Lemma writtenForm="carnivore"', "<Lemma", "an attribute is missing"),
        (' target="x-1-n"', "", "an attribute is missing"),
        ('<Synset id="x-3-n"', '<Synset id="x-1-n"', "the identifier of another synset again"),
        ('synset="x-3-n"', 'synset="x-9-n"', "a sense of a synset that is not in the lexicon"),
        ('encoding="UTF-8"', 'encoding="UTF-08"', "an encoding that cannot be read"),
        ('encoding="UTF-8"', 'encoding="shift_jis"', "an encoding that cannot be read"),
        ("</Synset>", "</Synonym>", "not well-formed XML"),
        ("\n</LexicalResource>\n", "", "not well-formed XML"),
        ('SYSTEM "http://globalwordnet.github.io/schemas/WN-LMF-1.1.dtd"', '[<!ENTITY a "aaa">]', "an entity"),
    ],
)
def test_a_fault_of_lmf_is_named(tmp_path: Path, old: str, new: str, problem: str) -> None:
    text = lmf(lexicon("x", LEMMAS, PARENTS))
    assert old in text
    error = refused(written(tmp_path, text.replace(old, new, 1)))
    assert error.problem.startswith(problem)
    assert error.line == text[: text.index(old)].count("\n") + 1
    assert isinstance(error.column, int)


def test_lmf_without_synsets(tmp_path: Path) -> None:
    assert refused(written(tmp_path, lmf())).problem == "no synsets in the file"
    cut = written(tmp_path, "", "y.xml.gz")
    cut.write_bytes(gzip.compress(lmf(lexicon("x", LEMMAS, PARENTS)).encode())[:-20])
    assert refused(cut).problem == "the gzip file breaks off"
