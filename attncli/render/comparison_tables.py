"""A comparison as a table for a paper or a page: Markdown, LaTeX and HTML."""

from __future__ import annotations

import html
import re
from collections.abc import Sequence

Table = Sequence[Sequence[str]]  # the first row has the names of the columns

LATEX = {
    **{letter: f"\\{letter}" for letter in "&%$#_{}"},
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "±": r"$\pm$",
}
STYLE = (
    "body{font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem}"
    "table{border-collapse:collapse}th,td{padding:.2rem .8rem;text-align:right}"
    "th:first-child,td:first-child{text-align:left}thead th{border-bottom:1px solid}"
)


def markdown(table: Table, notes: str) -> str:
    """Return a table of GitHub's Markdown; the first column is left-aligned."""
    head, *rows = [[cell.replace("|", "\\|") for cell in row] for row in table]
    rule = ["---", *["---:"] * (len(head) - 1)]
    lines = "".join(f"| {' | '.join(row)} |\n" for row in [head, rule, *rows])
    return f"{lines}\n{notes}"


def latex(table: Table, notes: str) -> str:
    """Return a tabular environment with the rules of the package booktabs; notes are comments."""
    head, *rows = [[_in_latex(cell) for cell in row] for row in table]
    lines = [
        "% needs \\usepackage{booktabs}",
        f"\\begin{{tabular}}{{l{'r' * (len(head) - 1)}}}",
        "\\toprule",
        f"{' & '.join(head)} \\\\",
        "\\midrule",
        *(f"{' & '.join(row)} \\\\" for row in rows),
        "\\bottomrule",
        "\\end{tabular}",
        *(f"% {line}".rstrip() for line in notes.splitlines()),
    ]
    return "".join(f"{line}\n" for line in lines)


def page(table: Table, notes: str) -> str:
    """Return an HTML page with the table and the notes."""
    head, *rows = [[html.escape(cell) for cell in row] for row in table]
    names = "".join(f"<th>{cell}</th>" for cell in head)
    body = "".join(f"<tr>{''.join(f'<td>{cell}</td>' for cell in row)}</tr>\n" for row in rows)
    said = "".join(f"<p>{html.escape(line)}</p>\n" for line in notes.splitlines())
    return (
        '<!doctype html>\n<html lang="en"><meta charset="utf-8"><title>Comparison</title>\n'
        f"<style>{STYLE}</style>\n<table>\n<thead><tr>{names}</tr></thead>\n<tbody>\n{body}"
        f"</tbody>\n</table>\n{said}</html>\n"
    )


def _in_latex(cell: str) -> str:
    return re.sub(r"[&%$#_{}\\~^±]", lambda found: LATEX[found[0]], cell)
