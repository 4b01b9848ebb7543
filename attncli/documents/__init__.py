"""Documents: subtitles, Markdown, HTML, tables, JSON, YAML, XML, messages and office files.

A document is its content and the segments of it that hold human text. Translation replaces the
segments; every other character comes back unchanged. A format is a function that yields them, and
one row of the table in `attncli.documents.formats`; `translation` reads and writes files by them.
`tags` and `place` take the tags of a line out of it, and put them into its translation.
"""
