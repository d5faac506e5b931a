"""A tokenizer small enough to build in a test: words and punctuation, unknown words in pieces."""

from __future__ import annotations

import tokenizers
from tokenizers import models, normalizers, pre_tokenizers

from corpora.tokens import Tokenizer


def wordpiece() -> Tokenizer:
    letters = "abcdefghijklmnopqrstuvwxyz0123456789.,:!?[]()'\"😀。"
    pieces = [
        "[PAD]",
        "[UNK]",
        "[CLS]",
        "[SEP]",
        *letters,
        *("##" + letter for letter in letters),
        "the",
        "rent",
        "lease",
        "flat",
        "##ing",
    ]
    backend = tokenizers.Tokenizer(
        models.WordPiece({piece: place for place, piece in enumerate(pieces)}, unk_token="[UNK]")
    )
    backend.normalizer = normalizers.BertNormalizer()
    backend.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    backend.add_special_tokens(["[PAD]", "[UNK]", "[CLS]", "[SEP]"])
    backend.enable_truncation(8)
    backend.enable_padding(length=8)
    return Tokenizer(backend.to_str().encode())


def bytelevel() -> Tokenizer:
    """Every byte a token, and the space before a word inside the word's first offset."""
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    backend = tokenizers.Tokenizer(models.BPE({letter: place for place, letter in enumerate(alphabet)}, merges=[]))
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    return Tokenizer(backend.to_str().encode())


def metaspace() -> Tokenizer:
    vocabulary = [
        ("<unk>", 0.0),
        ("▁", -2.0),
        ("▁rent", -1.0),
        ("▁the", -1.0),
        *((letter, -3.0) for letter in "abcdefghijklmnopqrstuvwxyz."),
    ]
    backend = tokenizers.Tokenizer(models.Unigram(vocabulary, unk_id=0))
    backend.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="never")
    return Tokenizer(backend.to_str().encode())
