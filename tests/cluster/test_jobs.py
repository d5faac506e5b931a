"""What this machine remembers of the sweeps that it submitted."""

from __future__ import annotations

from cluster import jobs


def test_a_line_that_was_cut_short_does_not_cost_the_others(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    first, second = jobs.Job("one", "http://head:8265", "/out/one"), jobs.Job("two", "http://head:8265", "/out/two")
    jobs._remember(first)
    path = tmp_path / "stockpot" / "jobs.jsonl"
    path.write_bytes(path.read_bytes() + b'{"name"\n[]\n\n{}\n\xff\n')
    jobs._remember(second)
    assert jobs.remembered() == second and jobs.remembered("one") == first and jobs.remembered("three") is None
