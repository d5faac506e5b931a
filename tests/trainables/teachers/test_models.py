"""Teachers that are models, with tiny random weights: scores against one plain pass per window and pair."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from corpora import scores
from corpora.documents import Corpus, Document, Query, Target
from corpora.errors import InputError
from trainables.recipe import TeacherConfig
from trainables.teachers import score
from trainables.teachers.windows import windows

LONG = "the cat sat on a mat . dog ran away from him , who pays rent for repairs ? tenant landlord b c . " * 3
CLS, SEP = 2, 3


@pytest.fixture
def corpus() -> Corpus:
    documents = (Document("short", "the dog pays rent"), Document("long", LONG))
    targets = (Target("short"), Target("long"))
    return Corpus("c", documents, (Query("q", "who pays?", targets), Query("p", "cat", targets[1:])))


@pytest.fixture(scope="session")
def tiny_classifier(tiny_encoder, tmp_path_factory):
    """24 positions, labels `drop` and `keep`, keep first so that the name decides."""
    from transformers import BertConfig, BertForTokenClassification

    folder = tmp_path_factory.mktemp("classifier")
    for file in tiny_encoder.glob("token*"):
        (folder / file.name).write_bytes(file.read_bytes())
    config = BertConfig.from_pretrained(tiny_encoder, id2label={0: "keep", 1: "drop"}, label2id={"keep": 0, "drop": 1})
    with torch.random.fork_rng():
        torch.manual_seed(1)
        BertForTokenClassification(config).save_pretrained(folder)
    return folder


@given(st.integers(0, 200), st.integers(1, 40))
def test_windows_cover_overlap_and_fit(tokens, width):
    found = windows(tokens, width)
    assert found[0][0] == 0 and found[-1][1] == tokens
    assert all(end - start <= width for start, end in found)
    assert all(one[1] - other[0] >= width // 4 and one[0] < other[0] for one, other in zip(found, found[1:]))


def encode(folder, text):
    from corpora.tokens import Tokenizer

    return Tokenizer.from_folder(folder).encode([text])[0]


def test_late_interaction_is_the_best_cosine(corpus, tiny_encoder, tmp_path):
    from transformers import AutoModel

    found = scores.read(score(TeacherConfig(kind="late-interaction", path=str(tiny_encoder)), corpus, tmp_path))
    model = AutoModel.from_pretrained(tiny_encoder).eval()

    def vectors(ids):
        with torch.no_grad():
            states = model(torch.tensor([[CLS, *ids, SEP]])).last_hidden_state[0, 1:-1].numpy()
        return states / np.linalg.norm(states, axis=1, keepdims=True)

    for query, document in (("q", "short"), ("q", "long"), ("p", "long")):
        asked = vectors(encode(tiny_encoder, next(q.text for q in corpus.queries if q.id == query))[0])
        ids, offsets = encode(tiny_encoder, corpus.documents[corpus.position[document]].text)
        values = [[] for _ in ids]
        for start, end in windows(len(ids), 22):
            for token, vector in zip(range(start, end), vectors(ids[start:end])):
                values[token].append(max(float(vector @ one) for one in asked))
        starts, ends, slow = *offsets.T, [np.mean(value) for value in values]
        assert max(map(len, values)) == (1 if document == "short" else 2)
        rows = found.rows(query, document)
        assert (rows[0].tolist(), rows[1].tolist()) == (starts.tolist(), ends.tolist())
        np.testing.assert_allclose(rows[2], slow, atol=1e-5)


def test_the_token_classifier_gives_the_probability_to_keep(corpus, tiny_classifier, tmp_path):
    from transformers import AutoModelForTokenClassification

    path = score(TeacherConfig(kind="token-classifier", path=str(tiny_classifier)), corpus, tmp_path)
    found = scores.read(path)
    model = AutoModelForTokenClassification.from_pretrained(tiny_classifier).eval()
    for query, document in (("q", "short"), ("q", "long"), ("p", "long")):
        asked = encode(tiny_classifier, next(q.text for q in corpus.queries if q.id == query))[0].tolist()
        ids, offsets = encode(tiny_classifier, corpus.documents[corpus.position[document]].text)
        values = [[] for _ in ids]
        for start, end in windows(len(ids), 21 - len(asked)):
            tokens = [CLS, *asked, SEP, *ids[start:end].tolist(), SEP]
            segments = [0] * (len(asked) + 2) + [1] * (end - start + 1)
            with torch.no_grad():
                logits = model(torch.tensor([tokens]), token_type_ids=torch.tensor([segments])).logits[0]
            keep = logits.softmax(-1)[len(asked) + 2 : -1, 0]
            for token, value in zip(range(start, end), keep.tolist()):
                values[token].append(value)
        rows = found.rows(query, document)
        assert rows[0].tolist() == offsets[:, 0].tolist()
        np.testing.assert_allclose(rows[2], [np.mean(value) for value in values], atol=1e-5)


def test_a_query_that_leaves_no_room_is_refused(corpus, tiny_classifier, tmp_path):
    wordy = Corpus("c", corpus.documents, (Query("wordy", LONG, (Target("short"),)),))
    with pytest.raises(InputError, match="wordy"):
        score(TeacherConfig(kind="token-classifier", path=str(tiny_classifier)), wordy, tmp_path)


def test_which_label_keeps():
    from transformers import BertConfig

    from trainables.teachers.token_classifier import keep_label

    assert keep_label(BertConfig(num_labels=1), "m") == 0
    assert keep_label(BertConfig(num_labels=2), "m") == 1
    assert keep_label(BertConfig(id2label={0: "KEEP", 1: "drop", 2: "other"}), "m") == 0
    with pytest.raises(InputError, match="B-PER"):
        keep_label(BertConfig(id2label={0: "O", 1: "B-PER", 2: "I-PER"}), "m")
