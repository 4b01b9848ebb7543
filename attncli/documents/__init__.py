"""Documents: subtitles, Markdown, HTML, tables, JSON, YAML, XML, messages and office files.

A document is its content and the segments of it that hold human text. Translation replaces the
segments; every other character comes back unchanged. A format is a function that yields them, and
one row of the table in `attncli.documents.document`. This package knows no model.
"""
