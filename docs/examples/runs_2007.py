"""Write a synthetic campaign: eight runs of three groups on twelve topics, labels of runs and topics, and grades.

The scores of `east-mix` rise with the rank, as those of a few runs of 2007 did.
"""

import random
from pathlib import Path

generator = random.Random(2007)
topics = {str(n): kind for n, kind in enumerate(("visual", "mixed", "textual") * 4, start=1)}
images = [f"img{n:03}" for n in range(1, 201)]
relevance = {topic: dict.fromkeys(images, "NR") for topic in topics}
for topic in topics:
    for position, image in enumerate(generator.sample(images, 24)):
        relevance[topic][image] = "DR" if position < 16 else "PR"
systems = {  # group, medium, strength
    "north-txt1": ("north", "textual", 1.4),
    "north-txt2": ("north", "textual", 1.1),
    "north-mix": ("north", "mixed", 1.5),
    "south-img1": ("south", "visual", 0.9),
    "south-img2": ("south", "visual", 0.5),
    "south-img3": ("south", "visual", 0.2),
    "east-txt": ("east", "textual", 0.8),
    "east-mix": ("east", "mixed", 1.3),
}
Path("runs").mkdir()
for system, (_, medium, strength) in systems.items():
    lines = []
    for topic, kind in topics.items():
        skill = strength * (1.5 if kind == medium else 1)
        score = {i: skill * (relevance[topic][i] != "NR") + generator.gauss(0, 0.6) for i in images}
        best = sorted(images, key=lambda i: -score[i])[:100]
        for rank, image in enumerate(best, start=1):
            printed = rank if system == "east-mix" else 101 - rank
            lines.append(f"{topic} Q0 {image} {rank} {printed} {system}")
    Path(f"runs/{system}.run").write_text("\n".join(lines) + "\n")
labels = [f"{system},{group},{medium},automatic" for system, (group, medium, _) in systems.items()]
Path("systems.csv").write_text("\n".join(["system,group,media,interaction", *labels]) + "\n")
Path("topics.csv").write_text("\n".join(["topic,type", *(f"{t},{kind}" for t, kind in topics.items())]) + "\n")
grades = [f"{topic} 0 {image} {grade}" for topic in topics for image, grade in relevance[topic].items()]
Path("grades.txt").write_text("\n".join(grades) + "\n")
