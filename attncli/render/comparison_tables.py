"""A comparison as a table for a page or a paper: Markdown and LaTeX."""

from __future__ import annotations

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


def _in_latex(cell: str) -> str:
    return re.sub(r"[&%$#_{}\\~^±]", lambda found: LATEX[found[0]], cell)
