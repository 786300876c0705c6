"""The invented files that ``cuihop demo`` writes: images with captions, systems, judgements, and small inputs.

``python tests/made_examples.py`` writes ``graph_loader/cuihop_loader/demo_data`` again, the same each time. The
findings are terms of the Human Phenotype Ontology that refer to one UMLS concept. All that is said of an image is
invented.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from math import log2
from pathlib import Path

import cuihop
import cuihop_loader
from cuihop_loader.demo import ontology

FOLDER = Path(cuihop_loader.__file__).parent / "demo_data"
DEPTH = 10  # of the rankings
POOL = 5  # of the judgements

CHEST, ABDOMEN, HEAD, LIMB = "chest", "abdo", "head", "limb"

# Region; organ; modalities; images; the main finding, and a further one, by alternatives.
GROUPS = [
    (CHEST, "pleura", "X-ray CT Ultrasound", 8,
     "Pleural effusion|Exudative pleural effusion|Transudative pleural effusion|Pleural empyema|Chylothorax",
     "Atelectasis|Pneumonia|Aspiration pneumonia|Cardiomegaly"),
    (CHEST, "pleura", "X-ray CT", 6, "Pneumothorax|Spontaneous pneumothorax", "Emphysema|Atelectasis|Pleural effusion"),
    (CHEST, "heart", "X-ray CT", 6, "Cardiomegaly", "Pulmonary edema|Pleural effusion|Transudative pleural effusion"),
    (CHEST, "heart", "MRI CT Ultrasound", 6,
     "Ventricular hypertrophy|Left ventricular hypertrophy|Right ventricular hypertrophy",
     "Pericardial effusion|Cardiomegaly"),
    (CHEST, "lung", "X-ray CT", 6, "Pneumonia|Aspiration pneumonia",
     "Pleural effusion|Exudative pleural effusion|Pleural empyema"),
    (CHEST, "lung", "CT", 5, "Pulmonary fibrosis|Interstitial pneumonitis", "Bronchiectasis|Emphysema"),
    (CHEST, "lung", "CT X-ray", 6, "Neoplasm of the lung|Non-small cell lung carcinoma|Small cell lung carcinoma",
     "Lymphadenopathy|Mediastinal lymphadenopathy|Pleural effusion"),
    (CHEST, "aorta", "CT MRI", 5, "Thoracic aortic aneurysm|Aortic aneurysm",
     "Aortic dissection|Left ventricular hypertrophy"),
    (ABDOMEN, "liver", "CT Ultrasound MRI", 8, "Hepatomegaly|Splenomegaly|Hepatosplenomegaly",
     "Ascites|Portal hypertension|Cirrhosis"),
    (ABDOMEN, "liver", "Ultrasound CT", 6, "Cirrhosis|Hepatic fibrosis", "Ascites|Splenomegaly|Portal vein thrombosis"),
    (ABDOMEN, "pancreas", "CT", 6, "Pancreatitis|Acute pancreatitis|Chronic pancreatitis",
     "Cholelithiasis|Pancreatic calcification|Ascites"),
    (ABDOMEN, "gallbladder", "Ultrasound", 4, "Cholelithiasis", "Cholecystitis|Hepatic steatosis"),
    (ABDOMEN, "kidney", "Ultrasound CT", 5, "Hydronephrosis", "Nephrolithiasis|Multiple renal cysts"),
    (HEAD, "brain", "CT MRI", 7, "Intracranial hemorrhage|Subdural hemorrhage|Subarachnoid hemorrhage",
     "Hydrocephalus|Stroke|Communicating hydrocephalus"),
    (HEAD, "brain", "MRI CT", 5, "Hydrocephalus|Communicating hydrocephalus", "Ventriculomegaly|Arachnoid cyst"),
    (HEAD, "brain", "MRI CT", 5, "Stroke|Ischemic stroke", "Leukoencephalopathy|Cerebral calcification"),
    (HEAD, "brain", "MRI", 6, "Glioma|Astrocytoma|Glioblastoma multiforme", "Hydrocephalus|Intracranial hemorrhage"),
    (LIMB, "knee", "X-ray MRI", 6, "Osteoarthritis|Knee osteoarthritis",
     "Joint swelling|Genu valgum|Chondrocalcinosis"),
    (LIMB, "hip", "X-ray", 4, "Osteoarthritis|Hip osteoarthritis", "Coxa vara|Osteoporosis"),
    (LIMB, "hand", "X-ray", 5, "Arthritis|Rheumatoid arthritis", "Joint swelling|Osteoporosis|Synovitis"),
    (LIMB, "hand", "X-ray", 5, "Polydactyly|Postaxial polydactyly|Postaxial hand polydactyly",
     "Syndactyly|Brachydactyly"),
]  # fmt: skip

# How captions mention a finding, the mention in brackets; a wording that is no name of the ontology is found by nobody.
WORDS = {
    "Pleural effusion": ["a small [pleural effusion]", "[pleural effusions] on both sides",
                         "[fluid in the pleural space]"],
    "Exudative pleural effusion": ["a loculated [exudative pleural effusion]"],
    "Transudative pleural effusion": ["[transudative pleural effusions] on both sides"],
    "Pleural empyema": ["a [pleural empyema]"],
    "Chylothorax": ["a large [chylothorax]"],
    "Atelectasis": ["basal [atelectasis]", "[atelectasis] of a lower lobe"],
    "Pneumonia": ["lobar [pneumonia]", "[pneumonia] of the right lower lobe"],
    "Cardiomegaly": ["[cardiomegaly]", "an [enlarged heart]"],
    "Pneumothorax": ["a [pneumothorax] at the apex", "a tension [pneumothorax]"],
    "Spontaneous pneumothorax": ["a [spontaneous pneumothorax]"],
    "Emphysema": ["upper lobe [emphysema]", "[pulmonary emphysema]"],
    "Pulmonary edema": ["[pulmonary oedema]", "interstitial [pulmonary edema]"],
    "Pericardial effusion": ["a [pericardial effusion]"],
    "Ventricular hypertrophy": ["[ventricular hypertrophy]"],
    "Left ventricular hypertrophy": ["concentric [left ventricular hypertrophy]"],
    "Interstitial pneumonitis": ["basal [interstitial pneumonitis]"],
    "Bronchiectasis": ["cylindrical [bronchiectasis]"],
    "Neoplasm of the lung": ["a [lung tumour] in the right upper lobe", "a [lung tumor] with ill-defined margins"],
    "Non-small cell lung carcinoma": ["a [non-small cell lung carcinoma] next to the hilum"],
    "Small cell lung carcinoma": ["a large [small cell lung carcinoma]"],
    "Lymphadenopathy": ["hilar [lymphadenopathy]"],
    "Mediastinal lymphadenopathy": ["[mediastinal lymphadenopathy]"],
    "Aortic aneurysm": ["an [aortic aneurysm] of 6 cm"],
    "Thoracic aortic aneurysm": ["a [thoracic aortic aneurysm]"],
    "Aortic dissection": ["an [aortic dissection] with an intimal flap"],
    "Ascites": ["[ascites]", "[free fluid around the liver]"],
    "Portal vein thrombosis": ["partial [portal vein thrombosis]"],
    "Acute pancreatitis": ["oedematous [acute pancreatitis]"],
    "Cholelithiasis": ["[cholelithiasis]", "multiple [gallstones]"],
    "Hydronephrosis": ["[hydronephrosis] of both kidneys", "[hydronephrosis]"],
    "Intracranial hemorrhage": ["an [intracranial haemorrhage]", "a large [intracranial hemorrhage]"],
    "Subdural hemorrhage": ["a [subdural haemorrhage] with midline shift"],
    "Subarachnoid hemorrhage": ["[subarachnoid haemorrhage] in the basal cisterns"],
    "Hydrocephalus": ["obstructive [hydrocephalus]"],
    "Arachnoid cyst": ["an [arachnoid cyst] of the middle fossa"],
    "Stroke": ["a recent [stroke] of the middle cerebral artery"],
    "Ischemic stroke": ["an [ischemic stroke] of the posterior circulation"],
    "Cerebral calcification": ["frontal [cerebral calcification]"],
    "Glioma": ["a frontal [glioma]"],
    "Astrocytoma": ["a low-grade [astrocytoma]"],
    "Glioblastoma multiforme": ["a [glioblastoma multiforme] with ring enhancement"],
    "Osteoarthritis": ["advanced [osteoarthritis]"],
    "Genu valgum": ["[genu valgum]", "[knock knees]"],
    "Rheumatoid arthritis": ["erosive [rheumatoid arthritis]"],
}  # fmt: skip
ABSENT = {
    CHEST: ["pneumothorax", "pulmonary embolism", "pleural effusion", "mediastinal lymphadenopathy"],
    ABDOMEN: ["ascites", "hydronephrosis", "intestinal obstruction", "portal vein thrombosis"],
    HEAD: ["intracranial hemorrhage", "hydrocephalus", "meningioma"],
    LIMB: ["osteoporosis", "chondrocalcinosis", "joint swelling"],
}
PLACES = {CHEST: "chest", ABDOMEN: "abdomen", HEAD: "head", LIMB: ""}
CODES = {"pleura": "1123-127-500-000", "lung": "1123-127-500-000", "heart": "1123-127-500-000",
         "knee": "1121-120-942-700", "hip": "1121-120-800-700", "hand": "1121-120-421-700"}  # fmt: skip
KINDS = {"X-ray": "radiograph", "CT": "CT", "MRI": "MRI", "Ultrasound": "ultrasound"}


@dataclass(frozen=True)
class Image:
    """An invented image: its findings by name, and its caption with the mentions in brackets."""

    name: str
    region: str
    organ: str
    modality: str
    findings: tuple[str, ...]
    marked: str

    @property
    def caption(self) -> str:
        """The caption."""
        return re.sub(r"[\[\]]", "", self.marked)

    def mentions(self) -> list[tuple[int, int]]:
        """Start and end of each mention in the caption."""
        found = list(re.finditer(r"\[([^]]+)\]", self.marked))
        return [(m.start() - 2 * n, m.end() - 2 * n - 2) for n, m in enumerate(found)]


def images(rng: random.Random) -> list[Image]:
    """The images of the collection, those of a region numbered."""
    counts = dict.fromkeys(PLACES, 0)
    made = []
    for region, organ, modalities, number, first, second in GROUPS:
        mains, others = first.split("|"), second.split("|")
        for n in range(number):
            counts[region] += 1
            modality = modalities.split()[n % len(modalities.split())]
            findings = [mains[n % len(mains)]]
            if n % 4:
                findings += rng.sample(others, min(1 + (n % 4 == 3), len(others)))
            absent = [name for name in ABSENT[region] if name not in f"{first}|{second}".lower()]
            text = caption(rng, PLACES[region] or organ, modality, findings, absent)
            made.append(Image(f"{region}-{counts[region]:02}", region, organ, modality, tuple(findings), text))
    return made


def caption(rng: random.Random, place: str, modality: str, findings: Sequence[str], absent: Sequence[str]) -> str:
    """A caption with one mention of each finding, in their order."""
    words = [rng.choice(WORDS.get(name, [f"[{name[0].lower()}{name[1:]}]"])) for name in findings]
    study = f"{KINDS[modality]} of the {place}"
    age, person = rng.randrange(19, 88), rng.choice(["man", "woman"])
    patient = f"{'an' if age // 10 == 8 else 'a'} {age}-year-old {person}"
    first, *further = words
    plain = [re.sub("^an? ", "", each) for each in further]
    texts = [
        f"{study} of {patient}: {listed(words)}.",
        f"{patient}. The {study} shows {listed(words)}.",
        f"{study} showing {listed(words)}.",
        f"follow-up {study} after three months: {first}, unchanged{''.join(f'; {each}' for each in further)}.",
        f"{study} with {first}.{f' Possible {listed(plain)}.' if plain else ''}",
    ]
    text = rng.choice(texts)
    if rng.random() < 0.45 and absent:
        text += f" No {rng.choice(absent)}."
    return text[0].upper() + text[1:]


def listed(words: Sequence[str]) -> str:
    """Words as a list in a sentence."""
    return " and ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)


class Nearness:
    """Concepts of the findings, and the concepts within one hop of each."""

    def __init__(self, graph: cuihop.SnapshotGraph, names: Iterable[str]) -> None:
        self.cui = {name: _concept(graph, name) for name in names}
        ordered = sorted(set(self.cui.values()))
        near = graph.neighbours(ordered, hops=1)
        self.near = {cui: {each.cui for each in of} for cui, of in zip(ordered, near, strict=True)}

    def iou(self, a: Image, b: Image, weight: float = 0.0) -> float:
        """IoU of the findings, or nn-IoU with a weight for what is within one hop."""
        first, second = ({self.cui[name] for name in each.findings} for each in (a, b))
        related = sum(any(other in self.near[cui] for other in second) for cui in first - second)
        related += sum(any(other in self.near[cui] for other in first) for cui in second - first)
        return (len(first & second) + weight * related) / len(first | second)


def _concept(graph: cuihop.SnapshotGraph, name: str) -> str:
    (cui,) = {hit.cui for hit in graph.search(name, limit=5) if hit.name and hit.name.lower() == name.lower()}
    return cui


def ranking(
    rng: random.Random, collection: Sequence[Image], score: Callable[[Image, Image], float], noise: float
) -> dict[str, list[tuple[str, float]]]:
    """For each image the others by a score with noise, with falling scores."""
    run = {}
    for query in collection:
        scored = {other.name: score(query, other) + rng.gauss(0, noise) for other in collection if other is not query}
        best = sorted(scored, key=lambda name: -scored[name])[:DEPTH]
        run[query.name] = [(name, 1 / log2(rank + 1)) for rank, name in enumerate(best, 1)]
    return run


def files(graph: cuihop.SnapshotGraph) -> dict[str, str]:
    """Name and text of each file; the graph is that of the ontology."""
    rng = random.Random(31)
    collection = images(rng)
    names = sorted({name for *_, first, second in GROUPS for name in f"{first}|{second}".split("|")})
    near = Nearness(graph, names)
    by_name = {image.name: image for image in collection}

    def exact(a: Image, b: Image) -> float:
        return 0.8 * near.iou(a, b) + 0.10 * (a.organ == b.organ) + 0.05 * (a.modality == b.modality)

    def related(a: Image, b: Image) -> float:
        return exact(a, b) + 0.8 * (near.iou(a, b, 0.5) - near.iou(a, b))

    runs = {
        "run-a.csv": ranking(rng, collection, exact, 0.17),
        "run-b.csv": ranking(rng, collection, related, 0.15),
    }
    texts = {
        "concepts.csv": rows("ID,CUIs", (f"{i.name},{cuis(near, i.findings)}" for i in collection)),
        "captions.csv": rows("ID,Caption", (f"{i.name},{quoted(i.caption)}" for i in collection)),
        "labels.csv": rows("image,modality,organ", (f"{i.name},{i.modality},{i.organ}" for i in collection)),
        "mentions.csv": rows(
            "ID,start,end,cui",
            (
                f"{i.name},{start},{end},{near.cui[finding]}"
                for i in collection
                for (start, end), finding in zip(i.mentions(), i.findings, strict=True)
            ),
        ),
    }
    for name, run in runs.items():
        texts[name] = rows(
            "query,document,rank,score",
            (
                f"{query},{document},{rank},{score:.3f}"
                for query, of in run.items()
                for rank, (document, score) in enumerate(of, 1)
            ),
        )
    pooled = {q: sorted({d for run in runs.values() for d, _ in run[q][:POOL]}) for q in by_name}
    texts["qrels.txt"] = "".join(
        f"{q} 0 {d} {grade(near, by_name[q], by_name[d])}\n" for q, documents in pooled.items() for d in documents
    )
    detected = {image: detection(rng, near, image, names) for image in collection}
    texts["predictions.csv"] = rows("ID,CUIs", (f"{i.name},{cuis(near, found)}" for i, found in detected.items()))
    texts["captions-a.csv"] = rows(
        "ID,Caption", (f"{i.name},{quoted(generated(i, found))}" for i, found in detected.items())
    )
    texts["pairs.csv"] = pairs(rng, graph, near)
    texts["distances.csv"] = rows(
        "a,b", (f"{near.cui[a]},{near.cui[b]}" for a, b in (rng.sample(names, 2) for _ in range(12)))
    )
    plain = [image for image in collection if image.modality == "X-ray"]
    texts["irma-truth.csv"] = rows("ID,code", (f"{i.name},{CODES[i.organ]}" for i in plain))
    texts["irma-a.csv"] = rows("ID,code", (f"{i.name},{wrong_code(rng, CODES[i.organ])}" for i in plain))
    return texts


def rows(header: str, lines: Iterable[str]) -> str:
    """A table."""
    return "\n".join([header, *lines]) + "\n"


def quoted(text: str) -> str:
    """A field of CSV."""
    return f'"{text}"' if "," in text else text


def cuis(near: Nearness, findings: Iterable[str]) -> str:
    """The concepts of findings, each once."""
    return ";".join(dict.fromkeys(near.cui[name] for name in findings))


def grade(near: Nearness, a: Image, b: Image) -> int:
    """2 for a finding in common in the same organ, 1 for near findings or one in common, else 0."""
    if near.iou(a, b) and a.organ == b.organ:
        return 2
    return int(near.iou(a, b, 0.5) > 0)


def detection(rng: random.Random, near: Nearness, image: Image, names: Sequence[str]) -> list[str]:
    """The findings that an invented system detects: some missed, some replaced by near ones, some too many."""
    found = []
    for name in image.findings:
        related = [
            each for each in names if near.cui[each] in near.near[near.cui[name]] and near.cui[each] != near.cui[name]
        ]
        chance = rng.random()
        if chance < 0.68 or (chance < 0.86 and not related):
            found.append(name)
        elif chance < 0.86:
            found.append(rng.choice(related))
    if rng.random() < 0.2 or not found:
        found.append(rng.choice(names))
    return list(dict.fromkeys(found))


def generated(image: Image, findings: Sequence[str]) -> str:
    """A caption as an invented system writes it."""
    names = [name[0].lower() + name[1:] for name in findings]
    return f"{KINDS[image.modality]} of the {PLACES[image.region] or image.organ} showing {listed(names)}"


def pairs(rng: random.Random, graph: cuihop.SnapshotGraph, near: Nearness) -> str:
    """Pairs of terms with invented scores from 1 to 4, the lower the farther apart."""
    chosen = [group[4].split("|")[:2] for group in GROUPS if "|" in group[4]]
    chosen += [[group[4].split("|")[0], group[5].split("|")[0]] for group in GROUPS]
    chosen = [list(pair) for pair in dict.fromkeys(map(tuple, chosen))]
    lines = []
    for a, b in chosen:
        hops = graph.distance(near.cui[a], near.cui[b])
        assert hops is not None
        score = min(4.0, max(1.0, 4.2 - 0.35 * hops + rng.gauss(0, 0.35)))
        lines.append(f"{a.lower()},{b.lower()},{score:.1f}")
    return rows("term1,term2,score", lines)


def wrong_code(rng: random.Random, code: str) -> str:
    """The code that an invented system gives: right for two images of three."""
    chance = rng.random()
    if chance < 0.66:
        return code
    axes = code.split("-")
    axis = rng.randrange(4)
    axes[axis] = axes[axis][:-1] + (
        "*" if chance < 0.83 else rng.choice([d for d in "123456789" if d != axes[axis][-1]])
    )
    return "-".join(axes)


def main() -> None:
    """Write the files again."""
    graph = cuihop.SnapshotGraph(cuihop_loader.load([ontology()]).sections)
    for name, text in files(graph).items():
        (FOLDER / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
