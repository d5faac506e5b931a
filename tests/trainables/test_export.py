"""The exported folder, read by others: sentence-transformers, transformers, and its own loader in a bare process."""

from __future__ import annotations

import itertools
import json
import subprocess
import sys

import numpy as np
import pytest

from corpora.chunks import chunk_table
from corpora.documents import Corpus, Document
from corpora.errors import InputError
from evaluators.codes import PRECISIONS, QUANTISERS, stored
from trainables import checkpoints
from trainables.export import export
from trainables.student import Student, StudentEncoder

QUERIES = ["who pays rent?", "the cat [SEP] sat", "cat " * 40]
TEXTS = ["The cat sat on a mat. The dog ran away from him! Who pays rent?", "The tenant pays rent. " * 12]


@pytest.fixture(scope="module")
def exports(tiny_base, tmp_path_factory):
    """(encoder, exported folder) by quantiser."""
    found = {}
    for quantiser in QUANTISERS:
        place = tmp_path_factory.mktemp(quantiser)
        checkpoint = Student.load(tiny_base).save(place / "step-000001", step=1, seed=0, quantiser=quantiser)
        found[quantiser] = StudentEncoder.load(checkpoint), export(checkpoint, place / "exported")
    return found


@pytest.fixture(params=QUANTISERS)
def exported(request, exports):
    return exports[request.param]


def test_sentence_transformers_gives_the_same_query_vectors(exported):
    from sentence_transformers import SentenceTransformer

    encoder, folder = exported
    model = SentenceTransformer(str(folder))
    assert model.max_seq_length == 24
    expected = stored(encoder.queries(QUERIES), "float32", encoder.quantiser)
    np.testing.assert_allclose(model.encode(QUERIES), expected, atol=1e-5)


def test_transformers_loads_it_without_missing_weights(exported):
    from transformers import AutoModel

    encoder, folder = exported
    model, report = AutoModel.from_pretrained(folder, output_loading_info=True)
    # The projection lies in the same file, so that the folder stays a checkpoint: AutoModel passes it over.
    assert not report["missing_keys"] and not report["mismatched_keys"]
    assert set(report["unexpected_keys"]) == {"projection.weight"}
    assert model.get_input_embeddings().num_embeddings == encoder.student.frame.separator + 1 == model.config.vocab_size


BARE_PROCESS = """
import importlib.util, json, sys
import numpy as np
asked = json.load(open(sys.argv[1]))
found = {}
for quantiser, folder in asked["folders"].items():
    spec = importlib.util.spec_from_file_location("loader", f"{folder}/loader.py")
    loader = importlib.util.module_from_spec(spec)
    sys.modules["loader"] = loader
    spec.loader.exec_module(loader)
    model = loader.Model(folder)
    for precision in asked["precisions"]:
        how = {"precision": precision, "dimension": 5}
        found[f"{quantiser} {precision} queries"] = model.queries(asked["queries"], **how)
        found[f"{quantiser} {precision} chunks"] = np.concatenate(model.documents(asked["texts"], asked["spans"], **how))
assert not any(name.split(".")[0] in ("trainables", "corpora", "evaluators") for name in sys.modules)
np.savez(sys.argv[2], **found)
"""


def test_the_loader_alone_gives_the_same_documents_and_queries(exports, tmp_path):
    """In a process that has only the folder: the loader must need nothing of ours."""
    encoder = exports["none"][0]
    corpus = Corpus("tiny", tuple(Document(f"d{place}", text) for place, text in enumerate(TEXTS)))
    table = chunk_table(corpus, "sentence", encoder.tokenizer.encode(TEXTS))
    (tmp_path / "asked.json").write_text(json.dumps({
        "folders": {quantiser: str(folder) for quantiser, (_, folder) in exports.items()},
        "precisions": PRECISIONS, "queries": QUERIES, "texts": TEXTS,
        "spans": [table.span[table.of(place)].tolist() for place in range(len(TEXTS))],
    }))
    arguments = [sys.executable, "-c", BARE_PROCESS, str(tmp_path / "asked.json"), str(tmp_path / "found.npz")]
    subprocess.run(arguments, cwd=tmp_path, check=True, capture_output=True)
    found = np.load(tmp_path / "found.npz")
    expected = {"queries": encoder.queries(QUERIES), "chunks": encoder.documents(corpus, table).vectors}
    for quantiser, precision, (what, z) in itertools.product(QUANTISERS, PRECISIONS, expected.items()):
        vectors, reference = found[f"{quantiser} {precision} {what}"], stored(z, precision, quantiser, 5)
        assert vectors.dtype == reference.dtype
        # A code may differ by one where the rounding of float32 falls the other way.
        np.testing.assert_allclose(vectors, reference, atol=1e-5 if precision == "float32" else 1)
        assert (np.abs(vectors - reference) > 1e-5).mean() < 0.02


def test_the_folder_is_still_a_checkpoint(exported):
    encoder, folder = exported
    assert checkpoints.verify(folder) == []
    again = StudentEncoder.load(folder)
    assert again.quantiser == encoder.quantiser and (again.queries(QUERIES) == encoder.queries(QUERIES)).all()


def test_exporting_again_keeps_the_folder_and_never_overwrites_another(exported, tiny_base, tmp_path):
    _, folder = exported
    before = (folder / "manifest.json").stat().st_mtime_ns
    assert export(folder.parent / "step-000001", folder) == folder
    assert (folder / "manifest.json").stat().st_mtime_ns == before
    (tmp_path / "mine").mkdir()
    with pytest.raises(InputError, match="exists and holds something else"):
        export(tiny_base, tmp_path / "mine")


def test_exporting_is_quiet(tiny_base, tmp_path, capfd):
    export(tiny_base, tmp_path / "quiet")
    assert capfd.readouterr() == ("", "")
