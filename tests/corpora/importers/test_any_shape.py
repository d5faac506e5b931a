"""Whatever stands in a published file, it is imported into a corpus that reads back, or refused in words."""

from __future__ import annotations

import copy
import csv
import json
import tempfile
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from corpora import native
from corpora.errors import InputError
from corpora.importers import import_corpus

TEXT = "Ada pays the rent. Ben pays the flat."
PUBLISHED = {
    "squad": {
        "s.json": {
            "data": [
                {
                    "title": "A",
                    "paragraphs": [
                        {
                            "context": TEXT,
                            "qas": [{"id": "1", "question": "Who?", "answers": [{"text": "Ada", "answer_start": 0}]}],
                        },
                        {"context": "Cyd owes.", "qas": []},
                    ],
                }
            ]
        }
    },
    "squad rows": {
        "s.json": [
            {"id": "1", "title": "t", "context": TEXT, "question": "Who?", "answers": {"text": ["Ada"], "answer_start": [0]}}
        ]
    },
    "beir": {
        "corpus.jsonl": [{"_id": "d", "title": "t", "text": TEXT}, {"_id": "e", "text": "Cyd owes."}],
        "queries.jsonl": [{"_id": "q", "text": "Who?"}],
        "qrels/test.tsv": [["query-id", "corpus-id", "score"], ["q", "d", "1"]],
    },
    "conteb": {
        "documents.jsonl": [{"chunk_id": "a_0", "chunk": TEXT}, {"chunk_id": "a_1", "chunk": "Cyd owes."}],
        "queries.jsonl": [{"query": "Who?", "chunk_ids": ["a_0"], "answer": "Ada"}],
    },
    "span-csv": {"q.csv": [["question", "references", "corpus_id"], ["Who?", [{"content": "Ada", "start_index": 0}], "a"]]},
}

anything = st.recursive(
    st.one_of(
        st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=4), st.sampled_from(["a_9", "../x", "Ben", 19])
    ),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=2), inner, max_size=2),
    max_leaves=3,
)


def places(value, path=()):
    """Every path to a value inside `value`."""
    inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in inside:
        yield (*path, key)
        yield from places(inner, (*path, key))


def put(folder: Path, name: str, content) -> None:
    path = folder / name
    path.parent.mkdir(exist_ok=True)
    if path.suffix == ".json":
        path.write_text(json.dumps(content))
    elif path.suffix == ".jsonl":
        rows = content if isinstance(content, list) else [content]
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    else:
        with open(path, "w", encoding="utf-8", errors="replace", newline="") as file:
            rows = [row if isinstance(row, list) else [row] for row in content]
            writer = csv.writer(file, delimiter="\t" if path.suffix == ".tsv" else ",")
            writer.writerows([[cell if isinstance(cell, str) else json.dumps(cell) for cell in row] for row in rows])


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_one_value_of_any_kind_anywhere(data):
    form = data.draw(st.sampled_from(sorted(PUBLISHED)))
    files = copy.deepcopy(PUBLISHED[form])
    name = data.draw(st.sampled_from(sorted(files)))
    *path, last = data.draw(st.sampled_from(sorted(places(files[name]), key=str)))
    holder = files[name]
    for key in path:
        holder = holder[key]
    holder[last] = data.draw(anything)
    with tempfile.TemporaryDirectory() as folder:
        source, destination = Path(folder) / "set", Path(folder) / "out"
        source.mkdir()
        (source / "a.md").write_text(TEXT)
        for file, content in files.items():
            put(source, file, content)
        one_file = form.startswith("squad") or form == "span-csv"
        try:
            report = import_corpus(form.split()[0], source / name if one_file else source, destination)
        except InputError as error:
            assert str(error) and not destination.exists()
        else:
            corpus = native.read(destination)
            assert (report.documents, report.queries) == (len(corpus.documents), len(corpus.queries))
