"""Write four synthetic submissions of IRMA codes of two groups, with their truth, codes and training images.

Group B has wildcards in doubtful axes; frequent codes are easier.
"""

import random
from pathlib import Path

generator = random.Random(318)
axes = [("213", "700"), ("441", "600"), ("500", "000")]
codes = [f"{t}-{d}-{a}-{b}" for t in ("1121", "1123", "112d") for d in ("120", "210", "310") for a, b in axes]
often = {code: 2 ** (1 + position % 9) for position, code in enumerate(codes)}
training = [code for code, times in often.items() for _ in range(times)]
true = [generator.choice(codes) for _ in range(300)]
Path("codes.txt").write_text("\n".join(codes) + "\n")
Path("training.txt").write_text("".join(f"train{n} {code}\n" for n, code in enumerate(training, start=1)))
Path("truth.txt").write_text("".join(f"test{n} {code}\n" for n, code in enumerate(true, start=1)))


def predicted(code: str, strength: float, careful: bool) -> str:
    """Return the code of an image, or with `careful` its agreement with a wrong one."""
    if generator.random() < strength * often[code] / (often[code] + 20):
        return code
    other = generator.choice(codes)
    parts = zip(code.split("-"), other.split("-"), strict=True)
    return "-".join(o if o == c else "*" * len(o) for c, o in parts) if careful else other


for name, strength, careful in (("A1", 1.0, False), ("A2", 0.9, False), ("B1", 0.95, True), ("B2", 0.6, True)):
    lines = [f"test{n} {predicted(code, strength, careful)}\n" for n, code in enumerate(true, start=1)]
    Path(f"{name}.txt").write_text("".join(lines))
Path("groups.csv").write_text("system,group\nA1,A\nA2,A\nB1,B\nB2,B\n")
