"""The attention head that aligns the words of an imported model, or draws its maps."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from itertools import islice
from pathlib import Path

from attncli.data import embedded, scenes
from models.alignment import choose_head
from models.core.errors import intact
from models.engines.captioner import Captioner
from models.engines.erasure import choose_map_head
from models.engines.translator import Translator
from models.signals.images import open_image, to_square
from models.storage.archive import read_about
from models.storage.settings import read_settings, task_of, write_alignment

HEAD_PAIRS = 100  # translations by which the attention head of an imported model is chosen
HEAD_IMAGES = 3  # and images


def with_head(folder: Path, sample: Path | None) -> str:
    """Choose the attention head of an imported model, and return what was chosen.

    Of a translator by aligning its own translations; one of several languages has no direction yet,
    so that none is chosen. Of a captioner by erasure.
    """
    if task_of(folder) == "caption":
        return _with_map_head(folder, sample)
    settings = read_settings(folder)
    languages = read_about(settings).languages
    if task_of(folder) != "translate" or settings["tokenizer"].get("languages"):
        return ""
    if sample is None and languages[:1] not in (("en",), ("eng",)):
        return ""
    texts = [pair.source for pair in embedded.generate(HEAD_PAIRS, seed=1)]
    if sample is not None:
        with intact(sample, "source texts in UTF-8, one a line"):
            lines = sample.read_text("utf-8").splitlines()
        texts = [line for line in lines if line.strip()][:HEAD_PAIRS]
    model = Translator.read(folder)
    greedy = dataclasses.replace(model.search, beam=1)
    fitting = [text for text in texts if model.source_length(text) <= model.max_source_length]
    found = model.translate(fitting, search=greedy)
    pairs = [(each.source, each.text) for each in found if each.text.strip()]
    if not pairs:
        return ""
    chosen = choose_head(model, pairs)
    write_alignment(folder, chosen)
    return f"words are aligned by {chosen.place}, chosen by {len(pairs)} translations"


def _with_map_head(folder: Path, sample: Path | None) -> str:
    """Choose layer and head of the maps of a captioner by blurring images, or drawn scenes."""
    drawn = islice(scenes.generate(1), HEAD_IMAGES)
    files: Sequence[Path | bytes] = [scenes.png(scene) for scene in drawn]
    if sample is not None:
        inside = sorted(sample.iterdir()) if sample.is_dir() else [sample]
        files = [path for path in inside if path.is_file()][:HEAD_IMAGES]
    model = Captioner.read(folder)
    squares = (to_square(open_image(file), model.config.image) for file in files)
    chosen = choose_map_head(model, squares)
    if chosen.place:
        write_alignment(folder, chosen)
    return chosen.place and f"maps are of {chosen.place}, chosen by erasure in {len(files)} images"
