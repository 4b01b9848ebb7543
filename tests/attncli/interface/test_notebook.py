"""The interface in a real notebook."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

nbclient = pytest.importorskip("nbclient")
pytest.importorskip("ipykernel")
import nbformat  # noqa: E402


def test_results_show_themselves(
    tiny_bundle: Path, toy_classifier: Path, soft_captioner: Path, photos: Path
) -> None:
    cells = [
        "from attncli import load",
        f"load({str(tiny_bundle)!r}).translate('The old dog sees a small house.')",
        f"load({str(toy_classifier)!r}).classify('play some music')",
        f"load({str(soft_captioner)!r}).caption({str(photos / 'a.png')!r})",
        f"load({str(tiny_bundle)!r}).explain('The dog sleeps.')",
        f"load({str(soft_captioner)!r}).explain({str(photos / 'a.png')!r}, word=1)",
        f"print(load({str(tiny_bundle)!r}).translate('The dog sleeps.').picture)",
    ]
    make: Any = nbformat.v4
    book = make.new_notebook(cells=[make.new_code_cell(cell) for cell in cells])
    nbclient.NotebookClient(book, timeout=120, kernel_name="python3").execute()
    shown = [cell.outputs[0] for cell in book.cells[1:]]
    assert all("iframe" in output.data["text/html"] for output in shown[:5])
    assert "The" in shown[5].text
