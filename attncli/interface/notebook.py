"""Pages in a notebook, and pictures in a terminal."""

from __future__ import annotations

import html

from attncli.terminal.screen import Screen, current_screen

ROW, HEAD = 28, 170  # pixels of a row of a heat map, and of what is above it


def framed(page: bytes, height: int) -> str:
    """Return an HTML page as a frame of its own, so that its scripts and styles stay inside."""
    content = html.escape(page.decode("utf-8"))
    return (
        f'<iframe srcdoc="{content}" sandbox="allow-scripts" height="{height}" '
        'style="width: 100%; border: 0; background: #fff"></iframe>'
    )


def screen() -> Screen:
    """Return the terminal that pictures are drawn for."""
    return current_screen()
