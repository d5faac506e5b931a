"""`compare.html`: who is better at what, with intervals; and why, query by query. One file that loads nothing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from corpora.files import write_atomically
from evaluators.explain.flipped import Compared, Flip
from evaluators.explain.marks import LEVELS
from evaluators.figures import difference_forest
from evaluators.report.page import environment, html
from evaluators.report.parts import Section, Table, number, table

HOW = """The same queries of the same corpora, paired. The interval is a bootstrap over families of documents; p is of
an exact sign test on the queries whose values differ, adjusted by Holm over the tasks of a figure. One is better only
where the interval excludes 0, the adjusted p is 0.05 or less, both point the same way, and there are families enough to
tell; a single family has no interval."""
SHADES = ("#f3f6fb", "#dfe8f4", "#c9d8ec", "#b0c6e2", "#95b2d7", "#799ccb", "#5c85bd", "#3f6dae")
"""From light to dark in one hue, so that a print in grey keeps the order."""
STYLE = """
.answer { font-weight: 700; text-decoration: underline; text-decoration-thickness: 2px; }
.evidence { text-decoration: underline dashed; }
.answer.evidence { text-decoration: underline double; }
.sides { display: grid; grid-template-columns: 1fr 1fr; gap: 1.5rem; }
.chunk { border-left: 3px solid #999; padding-left: 0.6rem; margin: 0.75rem 0; font-size: 0.875rem; }
.chunk.hit { border-left: 6px double #111; }
.text { white-space: pre-wrap; overflow-wrap: anywhere; }
.badge { border: 1px solid #111; border-radius: 0.2rem; padding: 0 0.3rem; font-size: 0.75rem; }
.identifier { color: #444; overflow-wrap: anywhere; }
article { border-top: 1px solid #999; margin-top: 1.5rem; }
""" + "\n".join(f".heat-{level} {{ background: {shade}; }}" for level, shade in enumerate(SHADES, 1)) + (
    f"\n.heat-{LEVELS}, .heat-{LEVELS - 1} {{ color: #fff; }}")
FLIPS = """{% for one in explained %}<section>
<h2>{{ one.a.letter }} and {{ one.b.letter }}: queries that flipped, {{ one.figure }}</h2>
<p>{{ one.flips | length }} of {{ one.total }} queries whose value differs, the largest change first. In the texts
<span class="answer">an answer</span>, <span class="evidence">evidence</span>.
{{ one.hint }}</p>
{% for flip in one.flips %}<article>
<h3>{{ flip.text or flip.query }}</h3>
<p>Query {{ flip.query }} of {{ flip.task }}: {{ one.a.letter }} {{ flip.value_a | number }}, \
{{ one.b.letter }} {{ flip.value_b | number }}.</p>
{% for asked in flip.asked %}<p class="text">Asked for, in {{ asked.title or asked.document }}: {{ asked.passages }}</p>
{% if asked.heat is not none %}<details><summary>What the teacher scored in {{ asked.document }}: \
white {{ asked.low | number }} to darkest {{ asked.high | number }}</summary>\
<p class="text">{{ asked.heat }}</p></details>
{% endif %}{% endfor %}{% if flip.retrieved.values() | select | list %}<div class="sides">
{% for letter, chunks in flip.retrieved.items() %}<div><h4>{{ letter }} retrieved</h4>
{% if chunks is none %}<p>No run of this figure.</p>{% endif %}
{% for chunk in chunks or () %}<div class="chunk{% if 'answer' in chunk.badges %} hit{% endif %}">{{ chunk.rank }}. \
<span class="identifier">{{ chunk.identifier }}</span>, {{ chunk.score | number }}\
{% for badge in chunk.badges %} <span class="badge">{{ badge }}</span>{% endfor %}
<div class="text">{{ chunk.text }}</div></div>
{% endfor %}</div>
{% endfor %}</div>{% endif %}
</article>
{% endfor %}</section>
{% endfor %}"""


@dataclass(frozen=True)
class Explained:
    """The flips of one pair. `hint`: how to see more than is there; empty where all is."""

    a: Compared
    b: Compared
    figure: str
    flips: Sequence[Flip]
    total: int
    hint: str = ""


def write_comparison(
    folder: Path, compared: Sequence[Compared], rows: pd.DataFrame, explained: Sequence[Explained],
) -> None:
    """`rows`: of `compare.compare` on the compared results under their letters."""
    from markupsafe import Markup

    jinja = environment()
    jinja.filters["number"] = number
    more = Markup(jinja.from_string(FLIPS).render(explained=explained))
    title = "Comparison of " + ", ".join(each.place for each in compared)
    write_atomically(Path(folder) / "compare.html", html(title, [_what(compared), *_pairs(rows)], STYLE, more))


def comparison_table(rows: pd.DataFrame) -> Table:
    """The rows of one pair as they are printed everywhere."""
    a, b = rows.a.iloc[0], rows.b.iloc[0]
    shown = pd.DataFrame({
        "figure": rows.figure, "task": rows.task, a: rows.value_a, b: rows.value_b, f"{b} - {a}": rows.difference,
        "95% interval": [f"[{low:.4f}, {high:.4f}]" if low == low else "–"
                         for low, high in zip(rows.low, rows.high, strict=True)],
        f"{b} higher": rows.wins, f"{a} higher": rows.losses,
        "p": rows.p.map(_small), "p (Holm)": rows.p_holm.map(_small), "families": rows.families,
        "verdict": rows.verdict,
    })  # fmt: skip
    return table(f"{a} and {b}", shown, labels=2)


def _small(p: float) -> str:
    return f"{p:.4f}" if p >= 1e-4 else "< 0.0001"


def _what(compared: Sequence[Compared]) -> Section:
    encoders = Table("Evaluations", ("", "from", "encoder"), tuple((e.letter, e.place, e.encoder) for e in compared), 3)
    tasks = compared[0].results.tasks[["task", "corpus_sha256", "documents", "queries"]]
    return Section("What was compared", HOW, [encoders, table("Corpora", tasks, labels=2)])


def _pairs(rows: pd.DataFrame) -> list[Section]:
    found = []
    for (a, b), part in rows.groupby(["a", "b"], sort=False):
        shares = part[part[["value_a", "value_b"]].max(axis=1).le(1) & part[["value_a", "value_b"]].min(axis=1).ge(0)]
        forest = {f"differences-{a}-{b}": difference_forest(shares)} if len(shares) else {}
        text = f"Right of 0: {b} is higher. Figures that are no shares stand in the table only."
        found.append(Section(f"{a} and {b}", text, [comparison_table(part)], forest))
    return found
