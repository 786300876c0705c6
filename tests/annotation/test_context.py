"""Contexts of mentions: the kernel against plain Python, and sentences as the papers and radiology reports have them.

In a sentence of the table a mention stands in brackets, which are taken out: ``n`` before it means negated, ``u``
uncertain, ``f`` of a relative, and none of them a plain statement.
"""

from __future__ import annotations

import random
import re
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotation.plain_sentences import in_word, small, stops
from cuihop.annotation.characters import CharacterClasses, coded
from cuihop.annotation.context import TRIGGERS, contexts
from cuihop.annotation.options import CONTEXTS, Context

Spans = list[tuple[int, int]]
LETTERS = {"n": "negated", "u": "uncertain", "f": "family"}
WORD = re.compile(r"[^\W_]+")
PHRASES = {tuple(WORD.findall(trigger.phrase)): trigger for trigger in TRIGGERS}
LONGEST = max(map(len, PHRASES))
ASSERTIONS = ("negated", "uncertain")

SENTENCES = """
No evidence of n[pneumonia].
No n[pneumothorax] or n[pleural effusion] is seen.
There is no n[fracture].
The lungs are clear without n[consolidation].
The patient denies n[chest pain].
She denied any n[fever], n[cough] or n[dyspnoea].
The abdomen is free of n[tenderness].
The study is negative for n[pulmonary embolism].
Absence of n[flow void] in the left vertebral artery.
n[Pulmonary embolism] was ruled out.
n[Fracture] has been ruled out by CT.
n[Cholecystitis] is unlikely.
n[Pneumothorax] is not seen.
n[Lymphadenopathy] was not identified.
n[Metastasis] not detected on this scan.
No n[mass], but a [cyst] is seen.
Neither n[haemorrhage] nor n[infarct] is present.
The scan failed to reveal n[stenosis].
Lack of n[enhancement] in the nodule.
He never had n[seizures].
[Effusion] is present; no n[pneumothorax].
No n[effusion]. [Cardiomegaly] is noted.
No n[effusion]
[Cardiomegaly] is noted.
No n[ascites]; however, the [spleen] is enlarged.
No n[mass] except a [lipoma].
No increase in [effusion].
No significant change in the [nodule].
The rule (out of three) for [sepsis] holds.
Not only [oedema] but also [erythema].
Gram negative [bacteraemia] was treated.
The catheter was removed without difficulty; [haematoma] remains.
CT without contrast shows a [haemorrhage].
With or without [fever], treat at once.
[No-reflow phenomenon] after stenting.
[Non-small cell lung cancer] in the right upper lobe.
Possible u[pneumonia] in the left lower lobe.
Findings suspicious for u[malignancy].
Findings are suggestive of u[sarcoidosis].
This may represent u[atelectasis].
The opacity could be u[infection].
Cannot exclude u[early appendicitis].
u[Appendicitis] cannot be excluded.
u[Malignancy] cannot be ruled out.
Rule out u[pulmonary embolism].
r/o u[sepsis]
Probable u[viral myocarditis].
u[Abscess] versus u[seroma].
The differential diagnosis includes u[lymphoma] and u[sarcoid].
Concerning for u[osteomyelitis].
Worrisome for u[metastatic disease].
Suspected u[deep vein thrombosis].
u[Tuberculosis] is suspected.
[Gallstones], [cholecystitis] and suspected u[carcinoma].
u[Endometriosis] is likely.
The lesion probably is a u[haemangioma].
Questionable u[nodule] at the left apex.
No n[fracture], possible u[effusion].
Possible u[fracture], no n[effusion].
No n[mass] suspicious for nu[malignancy].
Family history of f[breast cancer].
Family history: f[colon cancer], f[diabetes].
Her mother had f[breast cancer].
The mother had f[breast cancer] and the patient has [asthma].
f[Breast cancer] in her mother and two aunts.
His father died of f[myocardial infarction].
Sister with f[lupus]. She has [arthritis].
No family history of nf[colon cancer].
[Family Poaceae] pollen.
Sister chromatid [exchange] was measured.
The daughter cells show [aneuploidy].
A 2.5 cm [mass] and no n[calcification].
Seen by Dr. Smith, no n[melanoma].
n[Ca]. prostate was ruled out
No E. coli n[infection] was found.
A cyst vs. u[abscess] of the liver.
No growth, e.g. n[tumour], was found.
Due to [stenosis], no n[flow] is seen.
No cause of [death] was found.
Axial CT shows a [liver lesion] (arrow) without n[wall thickening].
Chest radiograph: [cardiomegaly], no n[effusion], pacemaker in place? No n[pneumothorax]!
[Fever] was noted although n[infection] was ruled out.
"""


def lines() -> list[str]:
    """The sentences; a line that begins with a mention after one without a full stop belongs to it."""
    joined = SENTENCES.strip().replace("n[effusion]\n[Card", "n[effusion]\x00[Card")
    return [line.replace("\x00", "\n") for line in joined.split("\n")]


def parsed(line: str) -> tuple[str, Spans, list[tuple[str, ...]]]:
    """Text, mentions and their contexts of a line of the table."""
    text, spans, expected = "", [], []
    for part in re.split(r"((?:\b[nuf]+|\b|(?<=\W)|^)\[[^\]]+\])", line):
        match = re.fullmatch(r"([nuf]*)\[([^\]]+)\]", part)
        if match:
            spans.append((len(text), len(text) + len(match[2])))
            expected.append(tuple(name for letter, name in LETTERS.items() if letter in match[1]))
        text += match[2] if match else part
    return text, spans, expected


def contexts_in(text: str, spans: Spans) -> list[tuple[Context, ...]]:
    """Contexts of the mentions in a text, from start and end of each, by start."""
    starts, ends = np.array(spans, dtype=np.int64).reshape(-1, 2).T.copy()
    codes, offsets = coded([text])
    characters = CharacterClasses()
    characters.classify(codes)
    flags = contexts(codes, offsets, characters, np.zeros(len(spans), dtype=np.int64), starts, ends)
    return [tuple(context for bit, context in enumerate(CONTEXTS) if flag >> bit & 1) for flag in flags.tolist()]


@pytest.mark.parametrize("line", lines())
def test_sentences(line: str) -> None:
    text, spans, expected = parsed(line)
    assert contexts_in(text, spans) == expected


def test_the_table_has_sentences_of_every_kind() -> None:
    held = Counter(context for line in lines() for contexts in parsed(line)[2] for context in contexts or ("plain",))
    assert len(lines()) >= 60
    assert all(held[kind] >= 8 for kind in (*CONTEXTS, "plain"))


def test_no_trigger_stands_twice() -> None:
    assert len(PHRASES) == len(TRIGGERS) == 281  # as its docstring states
    assert {trigger.direction for trigger in TRIGGERS if trigger.kind in ("pseudo", "termination")} == {"both"}


def plain(text: str, spans: Spans) -> list[tuple[str, ...]]:
    """The rules, literally: intervals of words that lie in the scope of each trigger."""
    words = [match.span() for match in re.finditer("x+", "".join("x" if in_word(c) else " " for c in text))]
    lower = ["".join(map(small, text[begin:end])) for begin, end in words]
    ends = sorted([*stops(text), *(at for at, sign in enumerate(text) if sign in ";\n")])
    sentence = [sum(at < begin for at in ends) for begin, _ in words]
    before = [text[words[i - 1][1] if i else 0 : words[i][0]] for i in range(len(words))]
    inside = [any(begin < last and first < end for first, last in spans) for begin, end in words]
    found = {}
    at = 0
    while at < len(words):
        for length in range(min(LONGEST, len(words) - at), 0, -1):
            joined = all(re.fullmatch(r"[^\S\n]*(?:[-'’/][^\S\n]*)*", gap) for gap in before[at + 1 : at + length])
            trigger = PHRASES.get(tuple(lower[at : at + length]))
            if trigger and joined and not any(inside[at : at + length]):
                found[at] = trigger
                break
        else:
            length = 1
        at += length
    scopes = []
    for at, trigger in found.items():
        assertion = trigger.kind in ASSERTIONS
        if trigger.kind in ("pseudo", "termination"):
            continue
        if trigger.direction != "backward":
            last = at
            while last + 1 < len(words) and sentence[last + 1] == sentence[at]:
                other = found.get(last + 1)
                over = other and (
                    other.kind == "termination"
                    or (
                        assertion
                        and other.kind in ASSERTIONS
                        and other.direction != "backward"
                        and "," in before[last + 1]
                    )
                )
                if over:
                    break
                last += 1
            scopes.append((at + 1, last, trigger.kind))
        if trigger.direction != "forward":
            first = at
            while first > 0 and sentence[first - 1] == sentence[at]:
                other = found.get(first - 1)
                if other and (
                    other.kind == "termination"
                    or (assertion and other.kind in ASSERTIONS and other.direction != "backward")
                ):
                    break
                first -= 1
            scopes.append((first, at - 1, trigger.kind))
    places = [next((i for i, (_, end) in enumerate(words) if end > start), len(words)) for start, _ in spans]
    return [
        tuple(name for name in CONTEXTS if any(a <= place <= b and kind == name for a, b, kind in scopes))
        for place in places
    ]


WORDS = [trigger.phrase for trigger in TRIGGERS]
SEPARATORS = [" ", " ", " ", " ", ", ", ". ", "; ", "\n", "-", " (", ") ", "? ", "’", "/", "", " E. "]


@st.composite
def texts(draw: st.DrawFn) -> tuple[str, Spans]:
    """A text of triggers, words and stops, and mentions in it, some within triggers, some overlapping."""
    text, spans = "", []
    for _ in range(draw(st.integers(0, 14))):
        part = draw(st.sampled_from([*WORDS, "mass", "Cyst", "É", "no", "No", "but", "possible", "mother", "not seen"]))
        if draw(st.integers(0, 3)) == 0:
            spans.append((len(text), len(text) + len(part)))
        text += part + draw(st.sampled_from(SEPARATORS))
        if draw(st.integers(0, 2)) == 0:
            spans.append((len(text), len(text) + 4))
            text += "mass" + draw(st.sampled_from(SEPARATORS))
    if len(text) > 2 and draw(st.booleans()):
        start = draw(st.integers(0, len(text) - 2))
        spans.append((start, draw(st.integers(start + 1, len(text)))))
    return text, sorted((start, end) for start, end in spans if any(map(in_word, text[start:end])))


@given(texts())
def test_the_kernel_equals_the_rules_in_plain_python(case: tuple[str, Spans]) -> None:
    text, spans = case
    assert contexts_in(text, spans) == plain(text, spans)


def test_a_batch_equals_its_texts_one_by_one() -> None:
    rng = random.Random(3)
    cases = [parsed(line)[:2] for line in lines()]
    cases = [rng.choice([*cases, ("", []), ("no mention here", [])]) for _ in range(300)]
    codes, offsets = coded([text for text, _ in cases])
    characters = CharacterClasses()
    characters.classify(codes)
    rows = [(i, offsets[i] + a, offsets[i] + b) for i, (_, spans) in enumerate(cases) for a, b in spans]
    found = contexts(codes, offsets, characters, *np.array(rows, dtype=np.int64).T.copy())
    alone = [context for text, spans in cases for context in contexts_in(text, spans)]
    assert [tuple(name for i, name in enumerate(CONTEXTS) if flag >> i & 1) for flag in found.tolist()] == alone


def test_a_batch_without_mentions_has_no_contexts() -> None:
    assert contexts_in("no fever", []) == []
    assert contexts_in("", []) == []
