"""Documents: subtitles, Markdown, HTML, tables, JSON lines and PO files.

A document is its content and the segments of it that hold human text. Translation replaces the
segments; every other character comes back unchanged. A format is a function that reads it, and
one row of the table in `attncli.documents.document`. This package knows no model.
"""
