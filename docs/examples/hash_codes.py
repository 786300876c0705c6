"""Write random hash codes of 20 queries and 200 images of a gallery, with their labels."""

from pathlib import Path

import numpy as np

generator = np.random.default_rng(64)
kinds = [(modality, organ) for modality in ("CT", "MR") for organ in ("chest", "head")]
bits = {name: generator.choice([-1, 1], 16) for name in ("CT", "MR", "chest", "head")}  # half of a code each


def images(split: str, number: int) -> list[str]:
    """Write the codes and names of a split, and return its labels."""
    chosen = [kinds[kind] for kind in generator.integers(0, len(kinds), number)]
    codes = np.array([np.concatenate([bits[modality], bits[organ]]) for modality, organ in chosen])
    np.save(f"{split}.npy", np.where(generator.random(codes.shape) < 0.3, -codes, codes).astype(np.float32))
    names = [f"{split}{n}" for n in range(number)]
    Path(f"{split}.csv").write_text("ID,CUIs\n" + "".join(f"{name},\n" for name in names))  # names, without concepts
    return [f"{name},{modality},{organ}" for name, (modality, organ) in zip(names, chosen, strict=True)]


rows = images("query", 20) + images("gallery", 200)
Path("hashed.csv").write_text("image,modality,organ\n" + "\n".join(rows) + "\n")
