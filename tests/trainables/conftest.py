"""A tiny pretrained encoder, so that tests of students take milliseconds."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

WORDS = "the cat sat on a mat dog ran away from him who pays rent for repairs tenant landlord b c [ ] sep . , ? !".split()


def save_tiny_bert(folder: Path, seed: int = 0, **settings) -> Path:
    """Random weights, three layers, 24 positions; a WordPiece tokenizer of a few words."""
    import torch
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors
    from transformers import BertConfig, BertModel

    folder.mkdir(parents=True, exist_ok=True)
    vocabulary = {word: place for place, word in enumerate(["[PAD]", "[UNK]", "[CLS]", "[SEP]", *WORDS])}
    tokenizer = Tokenizer(models.WordPiece(vocabulary, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer()
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.post_processor = processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    tokenizer.add_special_tokens(["[PAD]", "[UNK]", "[CLS]", "[SEP]"])
    tokenizer.save(str(folder / "tokenizer.json"))
    (folder / "tokenizer_config.json").write_text(json.dumps({
        "tokenizer_class": "BertTokenizer", "model_max_length": 24, "cls_token": "[CLS]", "sep_token": "[SEP]",
        "pad_token": "[PAD]", "unk_token": "[UNK]", "mask_token": None,
    }))
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        config = BertConfig(**{
            "vocab_size": len(vocabulary), "hidden_size": 16, "num_hidden_layers": 3, "num_attention_heads": 2,
            "intermediate_size": 32, "max_position_embeddings": 24, "initializer_range": 0.5, **settings,
        })
        BertModel(config).save_pretrained(folder)
    return folder


@pytest.fixture(scope="session")
def tiny_encoder(tmp_path_factory) -> Path:
    """A folder as a user would name in `student.encoder`."""
    return save_tiny_bert(tmp_path_factory.mktemp("encoder") / "tiny")


@pytest.fixture(scope="session")
def tiny_base(tiny_encoder, tmp_path_factory) -> Path:
    """The base+ of two of its layers, 8 dimensions."""
    from trainables.base import build_base
    from trainables.recipe import StudentConfig

    config = StudentConfig(encoder=str(tiny_encoder), layers=2, dimension=8, base_seed=7)
    return build_base(config, tmp_path_factory.mktemp("store"))


@pytest.fixture(scope="session")
def family_corpus():
    """Eight documents in four families of two siblings, sixteen queries, and what goes wrong: d6 has the text
    of d7, q14 asks in q15's words, q12 has two targets, q13 no answers, q11 a target of grade 0."""
    from corpora.documents import Corpus, Document, Query, Target

    who = ["cat", "dog", "tenant", "landlord"]
    texts = [f"the {who[n // 2]} sat on {'a' if n % 2 else 'the'} mat. who ran? the {who[n // 2]} pays rent . "
             f"the {'dog' if n % 2 else 'cat'} ran away from him." for n in range(7)]
    texts.append(texts[6])
    documents = [Document(f"d{n}", text, family=f"f{n // 2}") for n, text in enumerate(texts)]

    def ask(number, text, *targets):
        return Query(f"q{number}", text, tuple(targets))

    def target(n, grade=1, words="pays rent"):
        start = texts[n].index(words)
        return Target(f"d{n}", grade=grade, answers=((start, start + len(words)),))

    queries = [ask(n, f"who pays rent for the {who[n % 4]} {n // 2 * 'a '}?", target(n // 2)) for n in range(11)]
    queries += [
        ask(11, "who ran away", target(5), target(0, grade=0)),
        ask(12, "who sat on the mat", target(0, words="sat on"), target(1, words="sat on")),
        ask(13, "landlord", Target("d7")),
        ask(14, "repairs ?", target(2)),
        ask(15, "repairs ?", target(3, words="ran away")),
    ]
    return Corpus("families", tuple(documents), tuple(queries))


@pytest.fixture(scope="session")
def training_folder(family_corpus, tiny_base, tmp_path_factory) -> Path:
    """Training data of `family_corpus`, scored by the `spans` teacher, for the student in `tiny_base`."""
    from corpora.prepared import prepare
    from corpora.tokens import Tokenizer
    from trainables.data import TrainingData
    from trainables.recipe import TeacherConfig
    from trainables.teachers import score

    store = tmp_path_factory.mktemp("training")
    tokenizer = Tokenizer.from_folder(tiny_base)
    prepared = prepare(family_corpus, tokenizer, ["sentence", "tokens:4"], store / "prepared")
    return TrainingData.build(family_corpus, prepared, tokenizer, score(TeacherConfig(), family_corpus, store), store)
