"""The page of a sweep: whole, escaped, self-contained, the same bytes again, at every moment of a sweep."""

from __future__ import annotations

from html.parser import HTMLParser

import pytest

from sweeps.report import report
from tests.sweeps import made_ledgers, made_searches as made


class Page(HTMLParser):
    """What a browser would make of it: tags, their addresses, the text of each cell."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.tags, self.addresses, self.cells, self.alts, self._open = set(), [], [], [], False
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.tags.add(tag)
        self.addresses += [value for name, value in attributes if name in ("src", "href")]
        self.alts += [value for name, value in attributes if name == "alt"]
        self._open = tag in ("td", "th", "p", "h1", "h2")
        if self._open:
            self.cells.append("")

    def handle_data(self, data):
        if self._open:
            self.cells[-1] += data

    def handle_endtag(self, tag):
        self._open = False


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    folder = tmp_path_factory.mktemp("search")
    ledger = made.begin(folder, name=made.HOSTILE, recipe={made.HOSTILE: made.HOSTILE})
    made.trials(ledger, 12)
    made.replicates(ledger, folder, {"a": 0.5, made.HOSTILE: 0.4}, count=2)
    made_ledgers.baselines(ledger)
    ledger.append("baseline", {"name": made.HOSTILE, "split": "dev", "figures": {"dev/context/Answer@10": 0.125}, "per_query": None}, 9.0)
    reason = f"broke at {made.HOSTILE}"
    ledger.append("proposed", {"ordinal": 16, "params": {"note": made.HOSTILE}, "varied": {"note": made.HOSTILE}}, 2_020_000.0)
    ledger.append("started", {"ordinal": 16}, 2_020_000.0)
    ledger.append("ended", {"ordinal": 16, "status": "failed", "reason": reason}, 2_020_001.0)
    verdict = {"what": "verdict", "key": "first", "decision": "soup", "reason": "r", "families": 25, "look": 1, "alpha": 0.0304,
               "gain": 0.0123, "low": 0.0045, "high": 0.0201,
               "guards": [{"figure": "q2c/nDCG@10", "single": 0.5, "soup": 0.51, "gain": 0.01, "p": 0.25, "is_worse": False}]}  # fmt: skip
    ledger.append("soup", verdict, 2_021_000.0)
    made_ledgers.ship(ledger, folder)
    made_ledgers.close(ledger)
    text = report(ledger.state(), folder)
    return ledger, folder, text, Page(text)


def test_it_holds_everything_that_was_found(whole):
    ledger, _, _, page = whole
    for words in ("What ships", "Trials and baselines", "Replicates and ties", "Failures and early stops", "Config", "Hashes",
                  "Pareto front", "Parallel coordinates", "Importance", "Timeline", "Loss curves"):  # fmt: skip
        assert words in page.cells
    for cell in ("0.0123", "0.0045", "0.0201", "25", "q2c/nDCG@10", "trials/0/step-000060", "its worker died", "0.1250",
                 "BM25", "untrained student", "best", "c" * 64, "k" * 64, "d" * 64, "the loss is not finite"):  # fmt: skip
        assert cell in page.cells, cell
    for trial in ledger.state().trials.values():
        assert any(cell.startswith(f"{trial.ordinal:03d} ") for cell in page.cells)
    assert any(cell.startswith("Decision: soup. certifiably better") for cell in page.cells)
    assert any(cell.startswith("The sweep is finished") for cell in page.cells)


def test_hostile_names_arrive_whole_and_make_no_element(whole):
    _, _, text, page = whole
    assert "<script" not in text and "script" not in page.tags
    assert f"Sweep {made.HOSTILE}" in page.cells
    assert f"broke at {made.HOSTILE}" in page.cells
    assert page.cells.count(made.HOSTILE) >= 2  # a baseline's name, a value of the config
    assert f"recipe.{made.HOSTILE}" in page.cells


def test_it_asks_no_network_and_names_its_figures(whole):
    _, _, text, page = whole
    assert {address.partition(",")[0].partition("section")[0] for address in page.addresses} == {"data:image/png;base64", "#"}
    assert "http" not in text.partition("<body>")[0].replace("http-equiv", "")
    assert page.tags.isdisjoint({"link", "iframe", "object", "script"}) and "importance" in page.alts


def test_the_same_ledger_gives_the_same_bytes(whole):
    ledger, folder, text, _ = whole
    assert report(ledger.state(), folder) == text


def test_a_sweep_that_runs_says_so(tmp_path):
    ledger = made.begin(tmp_path)
    empty = Page(report(ledger.state(), tmp_path))
    assert any("STILL RUNNING" in cell and "No trial has scores on dev yet" in cell for cell in empty.cells)
    assert "Nothing ships yet: no soup was certified and no best single exported." in empty.cells
    made_ledgers.trial(ledger, 0, end="", steps=(20,))
    page = Page(report(ledger.state(), tmp_path))
    assert any("STILL RUNNING: this page shows it as of 1970-01-24 03:33:20 UTC" in cell for cell in page.cells)
    assert "trials running" in page.cells


def test_an_interrupted_sweep_shows_its_reason(tmp_path):
    ledger = made.begin(tmp_path)
    ledger.append("closed", {"status": "interrupted", "reason": "<i>Ctrl-C</i>"}, 2_000_100.0)
    assert any(cell.startswith("The sweep was interrupted (<i>Ctrl-C</i>)") for cell in Page(report(ledger.state(), tmp_path)).cells)


def test_openings_of_test_and_resumptions_are_told(tmp_path):
    ledger = made.begin(tmp_path)
    ledger.append("resumed", {"attributes": {"code": "z" * 64}}, 2_000_010.0)
    ledger.append("opening", {"split": "test", "by": "<me>"}, 2_000_020.0)
    cells = Page(report(ledger.state(), tmp_path)).cells
    assert cells[cells.index("resumed with code") + 1] == "z" * 64
    assert '"by": "<me>"' in cells[cells.index("opened test") + 1]
