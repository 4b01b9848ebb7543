"""HTML pages in a notebook."""

from __future__ import annotations

import html


def framed(page: bytes, height: int) -> str:
    """Return an HTML page in a frame: its scripts and styles do not affect the notebook."""
    content = html.escape(page.decode("utf-8"))
    return (
        f'<iframe srcdoc="{content}" sandbox="allow-scripts" height="{height}" '
        'style="width: 100%; border: 0; background: #fff"></iframe>'
    )
