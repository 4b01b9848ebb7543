"""Tables in plain text."""

from __future__ import annotations

from attncli.render.rows import columns, wrapped


def test_long_lines_of_a_table_continue_below_the_second_column() -> None:
    table = columns([["  a", "one two three four"], ["  bcd", "five"]], left=2)
    assert wrapped(f"Names\n\n{table}", 16) == (
        "Names\n\n  a    one two\n       three\n       four\n  bcd  five\n"
    )
    assert wrapped(table, 80) == table
