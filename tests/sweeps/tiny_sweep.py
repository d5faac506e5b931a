"""A whole sweep in seconds: the built-in corpus in its quick size, a random encoder of 32 dimensions."""

from __future__ import annotations

import json
from pathlib import Path

import yaml


def save_encoder(folder: Path) -> Path:
    """Two random BERT layers over letters and a few pieces; what it learns does not matter, that it is exact does."""
    import torch
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors
    from transformers import BertConfig, BertModel

    folder.mkdir(parents=True)
    letters = "abcdefghijklmnopqrstuvwxyz0123456789.,:;!?-()'\"$%/&"
    pieces = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", *letters, *(f"##{letter}" for letter in letters)]
    tokenizer = Tokenizer(models.WordPiece({piece: place for place, piece in enumerate(pieces)}, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer()
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.post_processor = processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    tokenizer.add_special_tokens(["[PAD]", "[UNK]", "[CLS]", "[SEP]"])
    tokenizer.save(str(folder / "tokenizer.json"))
    (folder / "tokenizer_config.json").write_text(json.dumps({
        "tokenizer_class": "BertTokenizer", "model_max_length": 512, "cls_token": "[CLS]", "sep_token": "[SEP]",
        "pad_token": "[PAD]", "unk_token": "[UNK]", "mask_token": None,
    }))  # fmt: skip
    with torch.random.fork_rng():
        torch.manual_seed(0)
        config = BertConfig(
            vocab_size=len(pieces), hidden_size=32, num_hidden_layers=2, num_attention_heads=2, intermediate_size=64,
            max_position_embeddings=512, initializer_range=0.3,
        )  # fmt: skip
        BertModel(config).save_pretrained(folder)
    return folder


LIGHT = {
    "scheduler": {"kind": "none"}, "soup": {"candidates": 1},
    "evaluation": {"suites": ["context"], "inline_queries": 6, "precisions": ["float32"]},
}  # fmt: skip
"""Where it matters how a sweep runs, and not what it finds."""


def sweep_file(folder: Path, **changes: object) -> Path:
    """The YAML of the tiny sweep in `folder`; `changes` replace whole sections."""
    encoder = folder / "encoder"
    if not encoder.exists():
        save_encoder(encoder)
    content = {
        "name": "tiny",
        "corpora": {"generate": "quick", "seed": 0},
        "student": {"encoder": str(encoder), "layers": 1, "dimension": 16},
        "teacher": {"kind": "spans"},
        "recipe": {
            "weight": {"uniform": [0, 1]},
            "top_n": {"randint": [1, 4]},
            "dimensions": [16, 8],
            "documents_per_batch": 4,
            "steps": 4,
            "checkpoint_every": 2,
            "warmup_steps": 1,
            "decay_steps": 1,
        },
        "search": {"sampler": "random", "trials": 3, "seed": 0},
        "scheduler": {"kind": "asha", "grace": 2, "reduction": 2},
        "evaluation": {"suites": ["context", "q2c", "q2d"], "inline_queries": 20, "precisions": ["float32"]},
        "resources": {"slots": 2, "cpus": 1},
        "order": "deterministic",
        "mlflow": {"register": "tiny-model"},
    }
    path = folder / "sweep.yaml"
    path.write_text(yaml.safe_dump({**content, **changes}))
    return path
