"""Train, evaluate, save, resume and use a model of every family on the pretended GPU.

A family, a score or a pooling that is added to the registry is covered by it; a kind of input once
its data are in KINDS.
python -m tests.pretended.program FOLDER
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.pretended.device import DEVICE, MIXED, pretend

pretend()  # before modules of attn keep functions of torch

import torch  # noqa: E402

from attncli.train import saving  # noqa: E402
from attncli.train.events import Interrupted  # noqa: E402
from attncli.train.job import train  # noqa: E402
from attncli.training.config import RunConfig  # noqa: E402
from models import load  # noqa: E402
from models.alignment import align_translations  # noqa: E402
from models.core.registry import names, source_name  # noqa: E402
from models.core.types import Batch  # noqa: E402
from models.core.use_config import SearchConfig  # noqa: E402
from models.networks.losses import sequence_loss  # noqa: E402
from models.storage.presets import PRESETS, model_config  # noqa: E402
from tests.attncli.training import kinds  # noqa: E402
from tests.attncli.training.small import after  # noqa: E402
from tests.models.small import small_config  # noqa: E402

KINDS = {
    **{"text": kinds.of_pairs, "rows": kinds.of_rows, "image": kinds.of_captions},
    **{"labelled_text": kinds.of_labels, "audio": kinds.of_recordings},
}
SHORT = (
    *("train.steps=2", "train.evaluate_every=2", "train.precision=fp32", "train.average=0"),
    *("search.method=greedy", "search.max_extra=2", "search.max_ratio=0.2", "train.metric=auto"),
    "search.max_caption=3",
)
IMAGES = ("model.image.encoder=small-cnn", "model.image.weights=none", "model.image.size=32")


def smallest(family: str) -> str:
    """Return the preset of a family with the fewest features."""
    found = [name for name in PRESETS if model_config(name).family == family]
    return min(found, key=lambda name: model_config(name).embedding)


def shorten(path: Path, lines: int) -> None:
    """Keep the first lines of a table, and the first words of its cells."""
    rows = [line.split("\t") for line in path.read_text().splitlines()[:lines]]
    cut = ["\t".join(" ".join(cell.split()[:3]) for cell in row) for row in rows]
    path.write_text("".join(f"{row}\n" for row in cut))


def config_of(family: str, folder: Path) -> RunConfig:
    """Return the settings of a run of two updates, by the kind of input of a family."""
    source = source_name(family)
    short = [one for one in SHORT if source != "labelled_text" or not one.startswith("search")]
    changes = [*short, *(IMAGES if source == "image" else ())]
    config = KINDS[source](folder, *changes, preset=smallest(family))
    for path in folder.rglob("*.tsv"):
        shorten(path, 20 if source == "labelled_text" else 8)
    return config


def use(folder: Path) -> None:
    """Translate, classify or caption with a model, and compute its attention."""
    model: Any = load(folder, device="cuda")
    search = SearchConfig(beam=2, nbest=2, max_extra=2, max_ratio=0.2, max_caption=3)
    sample = SearchConfig(method="sample", max_extra=2, max_ratio=0.2, max_caption=3)
    if hasattr(model, "caption"):
        image = torch.rand(3, 32, 32)
        model.caption([image], search=search, attention=True)
        model.caption([image], search=sample)
    elif hasattr(model, "transcribe"):
        model.transcribe(torch.rand(4000), rate=8000, search=search, attention=True)
        model.transcribe(torch.rand(4000), rate=8000, search=sample)
    elif hasattr(model, "classify"):
        list(model.classify(["the red house", "a dog"], attention=True))
    else:
        text = "the old dog\tder Hund" if model.inputs else "the old dog"
        model.translate([text, text], search=sample)
        found = model.translate([text], search=search)
        if model.model.decoder.attends:
            align_translations(model, found)


def steps(folder: Path) -> Iterator[str]:
    """Do everything with each family; yield their names."""
    for family in filter(lambda one: source_name(one) in KINDS, names("family")):
        place = folder / family
        place.mkdir()
        config, polls = config_of(family, place), after(2)
        quiet: dict[str, Any] = {"device": str(DEVICE), "progress": lambda *progress: None}
        try:
            list(train(config, place / "run", **quiet, stop_requested=polls))
        except Interrupted:
            list(train(config, place / "run", **quiet))
        use(place / "run")
        yield family


def scores() -> Iterator[str]:
    """Compute loss and gradients of each score and pooling; yield their names."""
    from models.core.settings import merged
    from models.core.types import VocabularySizes
    from models.networks.bundle import build

    for kind, preset in (("score", "rnnsearch-nano"), ("pooling", "bilstm-attention-nano")):
        for name in names(kind):
            config = small_config(preset)
            if kind == "score":
                config = merged(config, {"attention": {"score": name}})
            else:
                config = merged(config, {"attention": {"score": ""}, "pooling": name})
            model = build(config, VocabularySizes(30, 30, True)).to(DEVICE)
            ids = torch.full((2, 5), 7)
            length = 5 if kind == "score" else 1
            parts = (ids, ids > 0, ids[:, :length], ids[:, :length], ids[:, :length] > 0)
            batch = Batch(*(part.to(DEVICE) for part in parts))
            found = sequence_loss(
                model.teacher_force(batch, want_weights=True), batch, model.output
            )
            found.loss.backward()
            yield name


def main() -> None:
    """Do everything; end with an error if devices were mixed.

    torch's threads of the pretended device may abort an ordinary end of the process.
    """
    setattr(saving, "curves", lambda *given: None)  # noqa: B010  # takes longer than training
    done = [*steps(Path(sys.argv[1])), *scores()]
    sys.stdout.write(f"{len(done)} parts, {len(MIXED)} mixes\n")
    sys.stderr.write("\n".join(MIXED[:3]))
    sys.stdout.flush()
    os._exit(bool(MIXED))


if __name__ == "__main__":
    main()
