"""A checkpoint as others load it: sentence-transformers, transformers, and a loader of its own.

The query side is exact in sentence-transformers. Documents need the separator and the
chunks of DESIGN section 5, which no such module knows: `loader.py` in the folder reads
them. It is put together from the very modules that train and evaluate.
"""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

from corpora.errors import InputError, Problem
from corpora.files import build_folder
from trainables import checkpoints
from trainables.checkpoints import Manifest

_MODULES = ("Transformer", ""), ("Pooling", "1_Pooling"), ("Dense", "2_Dense")
_SOURCES = "layouts", "pooling", "heads", "loader"


def export(checkpoint: Path, folder: Path) -> Path:
    """Writes the folder atomically; one that already holds this checkpoint is kept, any other refused.

    The folder is a checkpoint still, with the same `model.safetensors`: stockpot evaluates it as any other.
    """
    about = checkpoints.manifest(checkpoint)
    weights = about.files[checkpoints.WEIGHTS]
    folder = Path(folder)
    if folder.exists():
        recorded = folder / checkpoints.MANIFEST
        if not recorded.is_file() or checkpoints.manifest(folder).files[checkpoints.WEIGHTS] != weights:
            raise InputError(Problem(str(folder), "exists and holds something else: remove it or export elsewhere"))
        return folder
    if problems := checkpoints.verify(checkpoint):
        raise InputError(problems)
    return build_folder(folder, lambda beside: _fill(beside, Path(checkpoint), about))


def _fill(folder: Path, checkpoint: Path, about: Manifest) -> None:
    for name in about.files:
        shutil.copyfile(checkpoint / name, folder / name)
    _write_json(folder / "tokenizer_config.json", _tokenizer_config(folder, about))
    projection = checkpoints.weights(checkpoint)[checkpoints.PROJECTION]
    _write_modules(folder, about, hidden=projection.shape[1])
    checkpoints.save({"linear.weight": projection}, folder / "2_Dense" / checkpoints.WEIGHTS)
    (folder / "loader.py").write_text(_loader())
    (folder / "README.md").write_text(_README.format(
        about=about, values="tanh z" if about.quantiser == "int8-tanh" else "z, the projected mean"))
    checkpoints.write_manifest(folder, about)


def _tokenizer_config(folder: Path, about: Manifest) -> dict:
    """The window as the limit, and specials written in a text read as plain text, as the student does."""
    path = folder / "tokenizer_config.json"
    settings = json.loads(path.read_text()) if path.is_file() else {}
    return settings | {"model_max_length": about.frame.window, "split_special_tokens": True}


def _write_modules(folder: Path, about: Manifest, hidden: int) -> None:
    """Names and keys that sentence-transformers has read since version 2."""
    activation = "activation.Tanh" if about.quantiser == "int8-tanh" else "linear.Identity"
    (folder / "1_Pooling").mkdir()
    (folder / "2_Dense").mkdir()
    _write_json(folder / "modules.json", [
        {"idx": place, "name": str(place), "path": path, "type": f"sentence_transformers.models.{kind}"}
        for place, (kind, path) in enumerate(_MODULES)
    ])
    _write_json(folder / "sentence_bert_config.json", {"max_seq_length": about.frame.window, "do_lower_case": False})
    _write_json(folder / "config_sentence_transformers.json", {"similarity_fn_name": "cosine"})
    _write_json(folder / "1_Pooling" / "config.json", {
        "word_embedding_dimension": hidden, "pooling_mode_mean_tokens": True, "pooling_mode_cls_token": False,
        "pooling_mode_max_tokens": False, "pooling_mode_mean_sqrt_len_tokens": False,
    })
    _write_json(folder / "2_Dense" / "config.json", {
        "in_features": hidden, "out_features": about.dimension, "bias": False,
        "activation_function": f"torch.nn.modules.{activation}",
    })


def _loader() -> str:
    """One file of the modules it imports and itself, so that it needs nothing of ours."""
    parts = []
    for name in _SOURCES:
        source = Path(__file__).with_name(f"{name}.py").read_text()
        if name != "loader":
            source = re.sub(r'\A""".*?"""\n', f"\n# {'-' * 20} trainables/{name}.py\n", source, flags=re.DOTALL)
        parts.append(re.sub(r"^from (__future__|trainables\.).*\n", "", source, flags=re.MULTILINE))
    docstring, body = re.fullmatch(r'(""".*?"""\n)(.*)', parts.pop(), flags=re.DOTALL).groups()
    return "\n".join([docstring, "from __future__ import annotations", *parts, body])


def _write_json(path: Path, content: dict | list) -> None:
    path.write_text(json.dumps(content, indent=1, sort_keys=True) + "\n")


_README = """\
# A contextual embedding model

Base+ `{about.base}` ({about.encoder}, {about.layers} layers), step {about.step}. Vectors of {about.dimension}
dimensions, compared by cosine. Their float32 values are {values}; quantiser `{about.quantiser}`.

Queries, exactly as trained:

    from sentence_transformers import SentenceTransformer
    queries = SentenceTransformer(".").encode(["who pays for repairs?"])

Documents need their chunks (character spans), so that each vector knows the whole document:

    from loader import Model          # this folder's loader.py: numpy, torch, transformers, no stockpot
    model = Model(".")
    model.queries(["who pays for repairs?"])
    model.documents([text], [[(0, 812), (812, 1630)]], precision="int8", dimension=128)

`AutoModel.from_pretrained(".")` gives the transformer alone. Its embedding has one row more than the
tokenizer has tokens: the separator between chunks, id {about.frame.separator}, which no text can produce. That
transformers calls `projection.weight` unexpected is right: it is the head, which `AutoModel` does not know.
A document longer than {about.frame.window} tokens is read in overlapping windows; a query longer than that
is cut.
"""
