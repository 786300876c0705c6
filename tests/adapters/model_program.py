"""Tiny models with random weights, their values by cuihop, and those by the packages of the measures' authors.

It runs in the environment of ``make model-environment``, which has torch; see `model_environment`. ::

    python model_program.py make FOLDER      writes the models
    python model_program.py values FOLDER    prints the values by cuihop, and its errors, as JSON
    python model_program.py oracle FOLDER    prints the values by bert-score, bleurt-pytorch, AlignScore and CLIP
"""

from __future__ import annotations

import importlib.machinery
import json
import os
import random
import sys
import types
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

WORDS = (
    *("chest", "x-ray", "ct", "of", "the", "abdomen", "shows", "heart", "lesion", "left", "right", "lower", "lobe"),
    *("number", "mm", "arrow", "in", "with", "a", "and"),
)
LAYERS = {"bert": 2, "roberta": 1, "deberta": 3}
TRAINING = "The chest is shown. The heart is large. A lesion lies in the left lobe. The arrow shows it. " * 5


def captions() -> tuple[list[str], list[str]]:
    """References and candidates: random words, sentences, repeats, and empty ones."""
    made = random.Random(18)
    sides = [
        [" ".join(made.choices(WORDS, k=made.randrange(1, 14))).capitalize() + "." for _ in range(40)] for _ in range(2)
    ]
    references, candidates = sides
    candidates[3] = references[3]
    references[5], candidates[6], candidates[7] = "", "", "  "
    references[8] = candidates[9] = ""
    references[9] = "The heart is large. A lesion lies in the left lobe. The arrow shows it."
    candidates[8] = "The chest is shown. The heart is large."
    candidates[10] = "A lesion lies in the lobe. The arrow shows the heart. CT of the abdomen."
    references[11] = "The chest is shown. A lesion lies in the left lobe. " * 60  # in two parts, too long
    return references, candidates


def make(folder: Path) -> None:
    """Write models of BERT, RoBERTa, DeBERTa, BLEURT, AlignScore and CLIP, pictures, and NLTK's data of sentences."""
    import numpy as np
    import tokenizers
    import torch
    import transformers as hf
    from bleurt_pytorch import BleurtConfig, BleurtForSequenceClassification
    from bleurt_pytorch.bleurt.tokenization_bleurt_fast import BleurtTokenizerFast
    from nltk.tokenize.punkt import PunktTrainer, save_punkt_params
    from PIL import Image

    torch.manual_seed(18)
    sizes = {"hidden_size": 16, "num_attention_heads": 2, "intermediate_size": 32, "initializer_range": 0.3}
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *sorted({w for word in WORDS for w in word.split("-")}), "."]
    for name in ("bert", "bleurt"):
        (folder / name).mkdir()
        (folder / name / "vocab.txt").write_text("\n".join(words))
    hf.BertTokenizerFast(str(folder / "bert" / "vocab.txt"), model_max_length=512).save_pretrained(folder / "bert")
    hf.BertModel(hf.BertConfig(vocab_size=len(words), num_hidden_layers=3, **sizes)).save_pretrained(folder / "bert")
    BleurtTokenizerFast(str(folder / "bleurt" / "vocab.txt")).save_pretrained(folder / "bleurt")
    BleurtForSequenceClassification(BleurtConfig(vocab_size=len(words), num_hidden_layers=2, **sizes)).save_pretrained(
        folder / "bleurt"
    )

    roberta = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
    _byte_pairs(tokenizers, folder / "roberta", roberta)
    tokenizer = hf.RobertaTokenizerFast.from_pretrained(folder / "roberta", model_max_length=128)
    for name in ("roberta", "align-roberta"):
        tokenizer.save_pretrained(folder / name)
    config = hf.RobertaConfig(vocab_size=400, num_hidden_layers=2, max_position_embeddings=130, type_vocab_size=1,
                              **sizes)  # fmt: skip
    hf.RobertaForMaskedLM(config).save_pretrained(folder / "roberta")
    hf.RobertaModel(config).save_pretrained(folder / "roberta")
    _byte_pairs(tokenizers, folder / "deberta", ["[PAD]", "[CLS]", "[SEP]", "[UNK]", "[MASK]"])
    hf.DebertaTokenizerFast.from_pretrained(folder / "deberta", model_max_length=512).save_pretrained(
        folder / "deberta"
    )
    deberta = hf.DebertaConfig(vocab_size=400, num_hidden_layers=4, relative_attention=True, type_vocab_size=0,
                               pos_att_type=["c2p", "p2c"], position_biased_input=False, **sizes)  # fmt: skip
    hf.DebertaModel(deberta).save_pretrained(folder / "deberta")

    align = folder / "align-roberta"
    encoder = hf.RobertaForMaskedLM(config)
    encoder.save_pretrained(align)
    heads = {"bin": 2, "tri": 3, "reg": 1}
    state = {f"base_model.{name}": value for name, value in hf.RobertaModel(config).state_dict().items()}
    state |= {f"mlm_head.{name}": value for name, value in encoder.lm_head.state_dict().items()}
    for name, classes in heads.items():
        state[f"{name}_layer.weight"], state[f"{name}_layer.bias"] = torch.randn(classes, 16), torch.randn(classes)
    torch.save(
        {"state_dict": state, "hyper_parameters": {"model": str(align)}, "pytorch-lightning_version": "1.9.5",
         "epoch": 1, "global_step": 1, "loops": {}}, align / "tiny.ckpt",
    )  # fmt: skip
    data = folder / "nltk_data" / "tokenizers" / "punkt_tab" / "english"
    trainer = PunktTrainer()
    trainer.train(TRAINING)
    data.mkdir(parents=True)
    save_punkt_params(trainer.get_params(), dir=str(data))

    clip = folder / "clip"
    _byte_pairs(tokenizers, clip, ["<|startoftext|>", "<|endoftext|>"], "</w>")
    hf.CLIPTokenizerFast.from_pretrained(clip, model_max_length=20).save_pretrained(clip)
    hf.CLIPImageProcessor(size={"shortest_edge": 32}, crop_size={"height": 32, "width": 32}).save_pretrained(clip)
    text = {"vocab_size": 400, "hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2,
            "intermediate_size": 32, "max_position_embeddings": 20, "bos_token_id": 0, "eos_token_id": 1}  # fmt: skip
    vision = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 32,
              "image_size": 32, "patch_size": 16}  # fmt: skip
    model = hf.CLIPModel(hf.CLIPConfig(text_config=text, vision_config=vision, projection_dim=8))
    with torch.no_grad():
        for weights in model.parameters():  # so that angles are of all sizes
            weights += torch.randn_like(weights) * 0.5
        model.text_projection.weight.neg_()  # most of them below a right angle
    model.save_pretrained(clip)
    (folder / "pictures").mkdir()
    pixels = np.random.default_rng(18).integers(0, 256, (40, 40, 50, 3), dtype=np.uint8)
    for number, picture in enumerate(pixels):
        Image.fromarray(picture).save(folder / "pictures" / f"image{number}.png")


def _byte_pairs(tokenizers: Any, folder: Path, special: list[str], suffix: str | None = None) -> None:
    """A tokenizer of pairs of bytes, trained on the words."""
    made = tokenizers.ByteLevelBPETokenizer(end_of_word_suffix=suffix)
    text = [" ".join(WORDS), " ".join(WORDS).capitalize()] * 3
    made.train_from_iterator(text, vocab_size=400, min_frequency=1, special_tokens=special)
    folder.mkdir()
    made.save_model(str(folder))


def values(folder: Path) -> dict[str, Any]:
    """Columns and accounts of each measure by cuihop, and the messages of its errors."""
    from cuihop.adapters.image_similarity import image_similarity
    from cuihop.adapters.local_models import ModelRun
    from cuihop.adapters.text_models import alignscore, bertscore, bleurt
    from cuihop.errors import InputError

    def attempt(call: Callable[[], Any]) -> dict[str, Any]:
        try:
            found = call()
        except InputError as error:
            return {"error": str(error)}
        return {"account": found.account, **{name: column.tolist() for name, column in found.columns.items()}}

    references, candidates = captions()
    run = ModelRun(batch_size=7, threads=1)
    steps: list[tuple[int, int]] = []
    found = {
        name: attempt(partial(bertscore, references, candidates, folder / name, replace(run, layer=layer)))
        for name, layer in LAYERS.items()
    }
    pictured = {f"image{number}": caption for number, caption in enumerate(candidates)}
    (folder / "empty").mkdir(exist_ok=True)
    found |= {
        "last": attempt(partial(bertscore, references, candidates, folder / "bert", run)),
        "alone": attempt(lambda: bertscore(references, candidates, folder / "bert", ModelRun(
            batch_size=1, threads=1, progress=lambda done, total: steps.append((done, total)), layer=2))),
        "bleurt": attempt(partial(bleurt, references, candidates, folder / "bleurt", run)),
        "align": attempt(partial(alignscore, references, candidates, folder / "align-roberta", run)),
        "clip": attempt(partial(image_similarity, pictured, folder / "clip", folder / "pictures", run)),
        "none": attempt(partial(bertscore, ["a"], ["a"], folder / "absent", run)),
        "hub": attempt(partial(bertscore, ["a"], ["a"], Path("microsoft/deberta-xlarge-mnli"), run)),
        "bare": attempt(partial(bertscore, ["a"], ["a"], folder / "empty", run)),
        "layer": attempt(partial(bertscore, ["a"], ["a"], folder / "bert", replace(run, layer=4))),
        "no encoder": attempt(partial(bertscore, ["a"], ["a"], folder / "clip", run)),
        "device": attempt(partial(bertscore, ["a"], ["a"], folder / "bert", ModelRun(device="cuda"))),
        "no checkpoint": attempt(partial(alignscore, ["a"], ["a"], folder / "roberta", run)),
        "picture": attempt(partial(image_similarity, {"x": "a"}, folder / "clip", folder / "pictures", run)),
        "texts only": attempt(partial(image_similarity, pictured, folder / "bert", folder / "pictures", run)),
    }  # fmt: skip
    weights = folder / "bert" / "model.safetensors"
    for name, damage in (("cut", weights.read_bytes()[:5000]), ("missing", _without_a_layer(weights))):
        harmed = folder / f"bert-{name}"
        harmed.mkdir(exist_ok=True)
        for path in (folder / "bert").iterdir():
            (harmed / path.name).write_bytes(damage if path == weights else path.read_bytes())
        found[name] = attempt(partial(bertscore, references, candidates, harmed, run))
    found["steps"] = {"steps": steps}
    _write_program(folder / "align-program", folder / "align-roberta", folder / "program was run")
    found["program"] = attempt(partial(alignscore, ["A."], ["A."], folder / "align-program", run))
    found["program"]["run"] = (folder / "program was run").exists()
    return found


class _Program:
    """An object that makes a folder when it is unpickled."""

    def __init__(self, made: Path) -> None:
        self.made = made

    def __reduce__(self) -> tuple[Callable[[str], None], tuple[str]]:
        return os.mkdir, (str(self.made),)


def _write_program(harmed: Path, model: Path, made: Path) -> None:
    """A model whose checkpoint holds a program."""
    import torch

    harmed.mkdir(exist_ok=True)
    for path in model.glob("*.json"):
        (harmed / path.name).write_bytes(path.read_bytes())
    state = torch.load(model / "tiny.ckpt", weights_only=True)
    torch.save({**state, "callbacks": _Program(made)}, harmed / "tiny.ckpt")


def _without_a_layer(weights: Path) -> bytes:
    """The file of weights without those of the second layer."""
    from safetensors.torch import load_file, save

    return bytes(save({name: value for name, value in load_file(weights).items() if ".1." not in name}))


def oracle(folder: Path) -> dict[str, Any]:
    """Values of each pair alone, as the organisers' program computes them."""
    import torch
    from bert_score import BERTScorer
    from bleurt_pytorch import BleurtForSequenceClassification, BleurtTokenizer

    references, candidates = captions()
    found: dict[str, Any] = {}
    for name, layer in {**LAYERS, "alone": 2}.items():
        model = str(folder / ("bert" if name == "alone" else name))
        scorer = BERTScorer(model_type=model, num_layers=layer, idf=True, idf_sents=references, nthreads=0,
                            device="cpu")  # fmt: skip
        rows = [scorer.score([c], [r]) for c, r in zip(candidates, references, strict=True)]
        found[name] = [[float(value) for value in row] for row in rows]
    tokenizer = BleurtTokenizer.from_pretrained(str(folder / "bleurt"))
    judge = BleurtForSequenceClassification.from_pretrained(str(folder / "bleurt")).eval()
    with torch.no_grad():
        inputs = tokenizer(references, candidates, padding="longest", return_tensors="pt", truncation=True,
                           max_length=512)  # fmt: skip
        found["bleurt"] = judge(**inputs).logits.flatten().tolist()

    from PIL import Image
    from transformers import CLIPModel, CLIPProcessor

    clip = CLIPModel.from_pretrained(folder / "clip").eval()
    processor = CLIPProcessor.from_pretrained(folder / "clip")
    pictures = [Image.open(folder / "pictures" / f"image{number}.png") for number in range(len(candidates))]
    with torch.no_grad():
        inputs = processor(text=candidates, images=pictures, padding=True, truncation=True, return_tensors="pt")
        found["clip"] = (clip(**inputs).logits_per_image.diag() / clip.logit_scale.exp()).tolist()

    for name, used in (("spacy", "load"), ("sklearn", ""), ("sklearn.metrics", "f1_score")):
        module = types.ModuleType(name)  # imported by AlignScore, and used in training and in its other modes only
        module.__spec__ = importlib.machinery.ModuleSpec(name, None)
        setattr(module, used, lambda *_: None)
        sys.modules[name] = module
    from alignscore import AlignScore

    align = folder / "align-roberta"
    scorer = AlignScore(model=str(align), batch_size=32, device="cpu", ckpt_path=str(align / "tiny.ckpt"),
                        evaluation_mode="nli_sp", verbose=False)  # fmt: skip
    found["align"] = [
        scorer.score(contexts=[r], claims=[c])[0] if c.strip() else None
        for c, r in zip(candidates, references, strict=True)
    ]
    return found


if __name__ == "__main__":
    os.environ["HF_HUB_OFFLINE"] = "1"
    task, at = sys.argv[1], Path(sys.argv[2])
    os.environ["NLTK_DATA"] = str(at / "nltk_data")
    if task == "make":
        make(at)
    else:
        json.dump({"values": values, "oracle": oracle}[task](at), sys.stdout)
