"""``attn translate --server URL``: a running service translates lines and documents."""

from __future__ import annotations

import os
from functools import partial
from pathlib import Path
from typing import BinaryIO

from attncli.data.streams import open_output
from attncli.data.typed import input_chunks
from attncli.jobs.remote import KEY, RemoteTranslator, check_address
from attncli.options.line_streams import byte_progress, is_away, open_source, write_chunks
from attncli.tasks.translate.document_run import DocumentChoice, read_input, translate_document
from attncli.tasks.translate.output.writers import TranslationLayout, rendered
from attncli.terminal.messages import Messages


def translate_remotely(
    url: str,
    direction: tuple[str, str],
    streams: tuple[list[str] | None, Path | None, Path | None],
    choice: DocumentChoice | None,
    layout: TranslationLayout,
    messages: Messages,
) -> bool:
    """Translate by a server; return True if a line could not be translated.

    direction: source and target language. streams: texts, input and output.
    """
    source, target = direction
    check_address(url)
    texts, given, output = streams
    key = os.environ.get(KEY, "")
    translator = RemoteTranslator(url, source, target, key, html=choice is not None)
    with open_source(texts, given) as stream:
        if choice:
            document = read_input(stream, choice)
            with open_output(output) as write:
                return not translate_document(
                    document, translator.lines, write, messages, shown=is_away(output)
                )
        return _translate_stream(translator, stream, output, layout)


def _translate_stream(
    translator: RemoteTranslator, stream: BinaryIO, output: Path | None, layout: TranslationLayout
) -> bool:
    """Translate the lines of a stream; return True if a line could not be translated."""
    typed, refused = stream.isatty(), 0
    shown = is_away(output) and not typed
    with (
        open_output(output) as write,
        byte_progress("translating", stream, shown=shown) as progress,
    ):
        chunks = progress.read(input_chunks(stream))
        results = translator.lines(chunks, on_batch=progress.show_share)
        for outcomes in write_chunks(results, partial(rendered, layout=layout), write, progress):
            refused += sum(outcome.translation is None for outcome in outcomes)
    return refused > 0
