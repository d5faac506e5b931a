"""Sections as Markdown and as one HTML file that loads nothing: figures inlined, every text escaped."""

from __future__ import annotations

import base64
import re
from collections.abc import Sequence

from evaluators.report.parts import Section, Table

PAGE = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; img-src data:; style-src 'unsafe-inline'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{{ title }}</title>
<style>
body { max-width: 68rem; margin: 2rem auto; padding: 0 1rem; background: #fff; color: #111;
       font: 16px/1.5 system-ui, sans-serif; }
h1, h2, h3 { line-height: 1.25; }
h2 { margin-top: 2.5rem; border-bottom: 1px solid #999; }
nav a { margin-right: 1em; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; margin: 1rem 0; font-size: 0.875rem; font-variant-numeric: tabular-nums; }
caption { text-align: left; font-weight: 600; padding-bottom: 0.25rem; }
th, td { padding: 0.2rem 0.75rem 0.2rem 0; border-bottom: 1px solid #ccc; text-align: left; overflow-wrap: anywhere; }
td { vertical-align: top; }
thead th { border-bottom: 2px solid #111; }
.number { text-align: right; white-space: nowrap; }
figure { margin: 1rem 0; }
figure img { max-width: 100%; height: auto; }
{{ style }}
@media print { body { max-width: none; font-size: 11pt; } nav { display: none; } figure, tr { break-inside: avoid; } }
</style>
</head>
<body>
<h1>{{ title }}</h1>
{% if sections | length > 1 %}<nav>{% for section in sections %}\
<a href="#section-{{ loop.index }}">{{ section.title }}</a>
{% endfor %}</nav>{% endif %}
{% for section in sections %}<section>
<h2 id="section-{{ loop.index }}">{{ section.title }}</h2>
<p>{{ section.text }}</p>
{% for name, image in section.images.items() %}<figure><img alt="{{ name }}" src="{{ image | inlined }}"></figure>
{% endfor %}{% for table in section.tables %}<div class="wide"><table>
<caption>{{ table.caption }}</caption>
<thead><tr>{% for column in table.columns %}\
<th scope="col"{% if loop.index0 >= table.labels %} class="number"{% endif %}>{{ column }}</th>{% endfor %}</tr></thead>
<tbody>
{% for row in table.rows %}<tr>{% for cell in row %}\
<td{% if loop.index0 >= table.labels %} class="number"{% endif %}>{{ cell }}</td>{% endfor %}</tr>
{% endfor %}</tbody></table></div>
{% endfor %}</section>
{% endfor %}{{ more }}</body>
</html>
"""


def html(title: str, sections: Sequence[Section], style: str = "", more: str = "") -> str:
    """The page; `style` is added to its own, `more` (markupsafe.Markup, else it is escaped) follows the sections."""
    return environment().from_string(PAGE).render(title=title, sections=sections, style=style, more=more)


def environment():
    """Jinja that escapes everything it is not told to trust, and does not pass over a name it was not given."""
    from jinja2 import Environment, StrictUndefined

    found = Environment(autoescape=True, undefined=StrictUndefined, keep_trailing_newline=True)
    found.filters["inlined"] = lambda image: "data:image/png;base64," + base64.b64encode(image).decode()
    return found


def markdown(title: str, sections: Sequence[Section]) -> str:
    """The same as Markdown; figures are the PNG files of their names beside it."""
    lines = [f"# {_plain(title)}"]
    for section in sections:
        lines += [f"## {_plain(section.title)}", _plain(section.text)]
        lines += [f"![{_plain(name)}]({name}.png)" for name in section.figures]
        lines += [part for each in section.tables for part in (f"**{_plain(each.caption)}**", _pipes(each))]
    return "\n\n".join(lines) + "\n"


def _pipes(each: Table) -> str:
    rule = ["---" if place < each.labels else "---:" for place in range(len(each.columns))]
    lines = [[_plain(cell) for cell in each.columns], rule, *([_plain(cell) for cell in row] for row in each.rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _plain(text: str) -> str:
    """Text that Markdown shows as it is, on one line."""
    return re.sub(r"([\\`*_\[\]<>|#~&$])", r"\\\1", " ".join(text.split()))
