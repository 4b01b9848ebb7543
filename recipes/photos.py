"""Train and score `photos` and `photos-hard`, the captioners in the box.

    python recipes/photos.py train --data DIR --work WORK [--threads N]
    python recipes/photos.py score --data DIR [-m MODEL ...]
    python recipes/photos.py table --data DIR --work WORK --revision REVISION ... [--limit N]

DIR holds `flickr8k/` and `coco/`, each with images.tar, train.tsv and dev.tsv (file name, tab,
caption), and `cnn/` with the weights of MobileNet-EdgeTPU. `train` joins the two training sets,
takes 300 images of each dev set for early stopping, and makes `photos-hard` (Show, Attend and
Tell) and `photos` (a Transformer over the cells of the same image network, which it takes from the
box by `model.image.weights=DEFAULT`). First it makes the models from which they start: training
runs (`STAGES`), means of the weights of models that began with the same one (`MEANS`; Wortsman et
al. 2022), and captioners whose classifier of labels is fitted to their image network, which may be
the mean of a fine-tuned one and that of ImageNet (`LABELLED`; photo_labels.py). At last the
attention of `photos` is made sharper (`SHARPENED`), and its image network fit for int8 (`ROUNDED`;
photo_rounding.py), in which `attn models pack` stores it. The same command continues an
interrupted run. The models in the box had twice BLEU-4 in their reward, which is CIDEr-D now.

`score` runs `attn evaluate captions -s scores.attention=true` on each whole dev set, with the
search settings that are saved with the model. `table` prints the same scores of `photos` as it was
in git revisions, and of the models of `-m`.
"""

from __future__ import annotations

import argparse
import io
import json
import random
import subprocess
import sys
import tarfile
from pathlib import Path
from typing import Any, NamedTuple

import torch
from average import average
from flickr8k import attn
from PIL import Image

from models.networks import bundle

SETS = ("flickr8k", "coco")
DEV_IMAGES = 300  # of each set, for early stopping
VIEWS = 3  # of each training image, beside itself


class Stage(NamedTuple):
    """A training run: the model that it starts from, and its settings."""

    start: str  # a preset, or another model of this file
    settings: tuple[str, ...]
    views: bool = False  # train on mirrored and cropped images too
    network: str = ""  # weights of the image network of a preset; "": those of ImageNet


class Mean(NamedTuple):
    """The weighted mean of the weights of models."""

    parts: tuple[str, ...]
    shares: tuple[float, ...]
    length_penalty: float


class Labelled(NamedTuple):
    """A captioner with another image network, and with labels that are fitted to that network."""

    start: str
    network: str  # the captioner with the image network
    share: float = 1  # of that network in its mean with the network of ImageNet


EACH = ("train.batch_tokens=1792", "train.average=0", "search.length_penalty=0.6")
REWARDS = (
    *("train.ema=0.998", "train.lr=0.001", "train.warmup=20", "train.schedule=constant"),
    *("train.self_critical_lr=0.0002", "train.evaluate_every=194", "model.image.dropout=0.3"),
)
REINFORCE = (
    *("train.attention.coverage=none", "train.attention.reinforce=0.1"),
    "train.attention.entropy=0.002",
)
MIXED = (  # rewards and likelihood: captions stay English
    *("train.ema=0.995", "train.lr=0.001", "train.warmup=20", "train.schedule=linear"),
    *("train.epochs=0", "train.evaluate_every=150", "train.noun_swap=0.5"),
)
TRANSFORMER = (
    *("train.ema=0.998", "train.schedule=linear", "train.epochs=0", "train.noun_swap=0.5"),
    *("train.metric=cider", "model.dropout=0.3"),
)
PRAISED = (  # rewards and likelihood
    *(*TRANSFORMER, "train.optimiser=adam", "train.lr=0.0005", "train.warmup=40"),
    *("train.self_critical_lr=0.0002", "train.self_critical_likelihood=0.3"),
    "train.evaluate_every=300",
)
LABELS = (
    *("model.image.labels=5", "model.image.dropout=0.3"),
    *("train.attention.coverage=none", "train.patience=0"),
)
SPARSE = (*LABELS, "model.attention.normalise=entmax15")  # learns scores that differ much
SWAPPED = (
    *(*SPARSE, "train.ema=0.99", "train.lr=0.0007", "train.warmup=20", "train.schedule=linear"),
    *("train.epochs=0", "train.steps=420", "train.noun_swap=0.5"),
)
TUNED = (  # decoder and image network together
    *(*LABELS, *TRANSFORMER, "train.optimiser=adam", "train.lr=0.0004", "train.warmup=40"),
    *("train.encoder_from=1", "train.attention.peaked=0.05", "search.length_penalty=1.2"),
)
ADAPTED = (  # the decoder, to a frozen image network
    *(*LABELS, *PRAISED, "train.self_critical_lr=0.0001", "train.self_critical_likelihood=0.5"),
    *("train.attention.peaked=0.03", "search.length_penalty=1.2"),
)
AGAIN = ("train.evaluate_every=400", "train.precision=bf16")
STAGES = {
    "frozen": Stage(
        "show-attend-tell-soft-small",
        (
            *("train.ema=0.998", "train.lr=0.0015", "train.epochs=6"),
            *("model.attention.size=256", "model.image.fit=squash"),
        ),
    ),
    "fine-tuned": Stage(
        "frozen",
        (
            *("train.ema=0.998", "train.plateau_patience=1", "train.lr=0.0005", "train.warmup=50"),
            *("train.epochs=2", "train.encoder_from=1", "train.encoder_lr=0.0001"),
            "model.image.dropout=0.2",
        ),
    ),
    "rewarded": Stage("fine-tuned", (*REWARDS, "train.epochs=3")),
    "hard": Stage(
        "fine-tuned",
        (
            *REINFORCE,
            *("train.ema=0.998", "train.lr=0.0004", "train.warmup=50", "train.epochs=1"),
            *("train.evaluate_every=194", "train.plateau_patience=3", "model.image.dropout=0.3"),
            *("model.attention.read=hard", "model.attention.read_decode=expected"),
        ),
    ),
    "hard-rewarded": Stage("hard", (*REINFORCE, *REWARDS, "train.epochs=2")),
    "likelihood": Stage(
        "labelled",
        (
            *(*SPARSE, "train.ema=0.998", "train.lr=0.0007", "train.warmup=50"),
            *("train.schedule=constant", "train.epochs=2", "train.attention.peaked=0.1"),
        ),
    ),
    "swapped": Stage("likelihood", (*SWAPPED, "train.attention.peaked=0.1")),
    "swapped-longer": Stage("swapped", (*SWAPPED, "train.attention.peaked=0.2")),
    "named": Stage(
        "swapped-longer",
        (
            *(*SPARSE, *MIXED, "train.steps=1500", "train.self_critical_lr=0.0004"),
            "train.self_critical_likelihood=0.5",
        ),
    ),
    "softened": Stage(
        "named",
        (
            *(*LABELS, *MIXED, "train.steps=900", "train.self_critical_lr=0.00025"),
            *("train.self_critical_likelihood=0.6", "model.attention.normalise=softmax"),
        ),
    ),
    "longer": Stage(
        "mean",
        (
            *(*LABELS, "train.ema=0.998", "train.lr=0.0005", "train.warmup=30"),
            *("train.schedule=linear", "train.epochs=0", "train.steps=1392"),
            *("train.encoder_from=1", "train.encoder_lr=0.0001", "train.noun_swap=0.5"),
            *("train.evaluate_every=464", "train.metric=cider"),
        ),
    ),
    "rewarded-longer": Stage(
        "refitted",
        (
            *(*LABELS, *MIXED, "train.steps=600", "train.self_critical_lr=0.0003"),
            *("train.self_critical_likelihood=0.4", "train.metric=cider"),
        ),
    ),
    "sentences": Stage(
        "captioner-transformer-small",
        (
            *(*LABELS, *TRANSFORMER, "train.optimiser=muon", "train.lr=0.0015", "train.warmup=100"),
            *("train.steps=5000", "train.evaluate_every=500", "model.image.fit=squash"),
        ),
        views=True,
        network="DEFAULT",
    ),
    "praised": Stage("sentences", (*LABELS, *PRAISED, "train.steps=860"), views=True),
    "peaked": Stage(
        "praised",
        (
            *(*LABELS, *PRAISED, "train.steps=2400", "train.attention.peaked=0.03"),
            "search.length_penalty=1.2",
        ),
        views=True,
    ),
    "tuned": Stage(
        "peaked",
        (*TUNED, "train.encoder_lr=0.0001", "train.steps=2927", "train.evaluate_every=300"),
    ),
    "praised-longer": Stage(
        "peaked",
        (
            *(*LABELS, *PRAISED, "train.noun_swap=0.3", "train.attention.peaked=0.03"),
            *("train.steps=2465", "search.length_penalty=1.2"),
        ),
        views=True,
    ),
    "adapted": Stage(
        "steady",
        (*ADAPTED, "train.steps=870"),
        views=True,
    ),
    "tuned-again": Stage(
        "adapted",
        (*TUNED, *AGAIN, "train.encoder_lr=0.0002", "train.steps=3123"),
    ),
    "tuned-otherwise": Stage(
        "adapted",
        (*TUNED, *AGAIN, "train.encoder_lr=0.0003", "train.steps=1995", "train.seed=2"),
    ),
    "adapted-again": Stage(
        "steadier",
        (
            *(*ADAPTED, "train.steps=754", "train.evaluate_every=200"),
            "train.precision=bf16",
        ),
    ),
    "hard-named": Stage(
        "third",
        (
            *(*LABELS, *REINFORCE, "train.ema=0.99", "train.lr=0.0003", "train.warmup=20"),
            *("train.schedule=linear", "train.epochs=0", "train.steps=260"),
            *("train.noun_swap=0.5", "train.evaluate_every=130", "train.metric=cider"),
            *("model.attention.read=hard", "model.attention.read_decode=expected"),
        ),
    ),
}
MEANS = {
    "averaged": Mean(("rewarded", "hard-rewarded"), (0.6, 0.4), 1.0),
    "mean": Mean(("softened", "named"), (1, 1), 0.2),
    "tuned-mean": Mean(("tuned-again", "tuned-otherwise"), (1, 1), 1.2),
    "third": Mean(("rewarded-longer", "longer", "mean"), (1, 1, 1), 0.2),
    "together": Mean(("peaked", "praised-longer"), (1, 1), 1.2),
}
LABELLED = {
    "labelled": Labelled("averaged", "averaged"),
    "refitted": Labelled("longer", "longer"),
    "steady": Labelled("together", "tuned", 0.6),
    "steadier": Labelled("adapted", "tuned-mean", 0.7),
    "photos-hard": Labelled("hard-named", "photos"),
}
SHARPENED = {"sharp": ("adapted-again", 1.8)}  # by name: start, factor of the scores shown
ROUNDED = {"photos": "sharp"}  # by name: start; its image network is made fit for int8


def main() -> None:
    """Parse the command line and run one part."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("part", choices=["train", "score", "table"])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--work", type=Path, help="folder of the runs, not for score")
    parser.add_argument("--revision", nargs="*", default=[], help="git revisions, for table")
    parser.add_argument("--limit", type=int, default=0, help="images of each set, for table")
    parser.add_argument("-m", "--model", nargs="*", default=["photos", "photos-hard"])
    parser.add_argument("--threads", type=int, default=0)
    options = parser.parse_args()
    if options.part == "score":
        score(options)
        return
    if options.work is None:
        parser.error(f"{options.part} needs --work")
    if options.part == "table":
        table(options)
        return
    join(options.data, options.work)
    add_views(options.work)
    for name in ("photos", "photos-hard"):
        make(name, options)


def make(name: str, options: argparse.Namespace) -> None:
    """Make a model, and before it those from which it starts, unless they exist."""
    work = options.work
    if name in STAGES:
        train(name, options)
    elif (work / name / "config.json").exists():
        return
    elif name in MEANS:
        parts, shares, penalty = MEANS[name]
        for part in parts:
            make(part, options)
        paths = [work / part for part in parts]
        average(paths, work / name, shares, (f"length_penalty={penalty}",))
    elif name in SHARPENED:
        start, factor = SHARPENED[name]
        make(start, options)
        sharpen(work / start, factor, work / name)
    elif name in ROUNDED:
        make(ROUNDED[name], options)
        run("photo_rounding.py", "--work", work, "--start", work / ROUNDED[name], "-o", work / name)
    else:
        labelled = LABELLED[name]
        make(labelled.start, options)
        make(labelled.network, options)
        add_labels(labelled, name, options)


def join(data: Path, work: Path) -> None:
    """Write the images and captions of both sets as one."""
    work.mkdir(parents=True, exist_ok=True)
    if (work / "dev.tsv").exists():
        return
    with tarfile.open(work / "images.tar", "w") as joined:
        for name in SETS:
            with tarfile.open(data / name / "images.tar") as images:
                for member in filter(tarfile.TarInfo.isfile, images):
                    joined.addfile(member, images.extractfile(member))
    training = [line for name in SETS for line in lines(data / name / "train.tsv")]
    (work / "train.tsv").write_text("".join(training), encoding="utf-8")
    dev = [line for name in SETS for line in some_images(lines(data / name / "dev.tsv"))]
    (work / "dev.tsv").write_text("".join(dev), encoding="utf-8")


def add_views(work: Path) -> None:
    """Write the images with VIEWS random views of each training image, and their captions."""
    folder, rng = work / "views", random.Random(3)
    if (folder / "train.tsv").exists():
        return
    folder.mkdir(exist_ok=True)
    captions = lines(work / "train.tsv")
    names = {line.partition("\t")[0] for line in captions}
    with (
        tarfile.open(work / "images.tar") as images,
        tarfile.open(folder / "images.tar", "w") as archive,
    ):
        for member in images:
            content = images.extractfile(member).read()  # type: ignore[union-attr]
            archive.addfile(member, io.BytesIO(content))
            for view in range(VIEWS if member.name in names else 0):
                changed = viewed(content, rng, mirrored=view != 1)
                entry = tarfile.TarInfo(f"v{view}-{member.name}")
                entry.size = len(changed)
                archive.addfile(entry, io.BytesIO(changed))
    prefixes = ("", *(f"v{view}-" for view in range(VIEWS)))
    text = "".join(prefix + line for prefix in prefixes for line in captions)
    (folder / "train.tsv").write_text(text, encoding="utf-8")


def viewed(content: bytes, rng: random.Random, *, mirrored: bool) -> bytes:
    """Return an image with at least three quarters of its area, mirrored if wanted, as JPEG."""
    image = Image.open(io.BytesIO(content)).convert("RGB")
    across = rng.uniform(0.75, 1) ** 0.5
    down = min(1, across * rng.uniform(0.95, 1.05))
    left, top = image.width * rng.uniform(0, 1 - across), image.height * rng.uniform(0, 1 - down)
    box = left, top, left + image.width * across, top + image.height * down
    part = image.resize((224, 224), Image.Resampling.BICUBIC, box=box)
    if mirrored:
        part = part.transpose(Image.Transpose.FLIP_LEFT_RIGHT)
    stream = io.BytesIO()
    part.save(stream, "JPEG", quality=92)
    return stream.getvalue()


def lines(path: Path) -> list[str]:
    """Return the lines of a file, with their ends."""
    return path.read_text("utf-8").splitlines(keepends=True)


def some_images(rows: list[str]) -> list[str]:
    """Return the captions of a random sample of the images."""
    names = sorted({row.partition("\t")[0] for row in rows})
    chosen = set(random.Random(5).sample(names, DEV_IMAGES))
    return [row for row in rows if row.partition("\t")[0] in chosen]


def train(name: str, options: argparse.Namespace) -> None:
    """Run one stage, or continue it."""
    stage, work = STAGES[name], options.work
    if stage.start in (*STAGES, *MEANS, *LABELLED):
        make(stage.start, options)
        start = ["--start-from", work / stage.start]
    else:
        weights = stage.network or options.data / "cnn" / "mobilenet_edgetpu_uint8.npz"
        start = ["--preset", stage.start, "-s", f"model.image.weights={weights}"]
    place = work / "views" if stage.views else work
    arguments = ["--images", place / "images.tar", "--captions", place / "train.tsv"]
    arguments += ["--dev", work / "dev.tsv", *start, "-o", work / name]
    settings = [*EACH, *stage.settings, f"data.features={work / 'features'}"]
    words = [word for setting in settings for word in ("-s", setting)]
    attn("train", *arguments, "--threads", options.threads, *words)


def add_labels(labelled: Labelled, name: str, options: argparse.Namespace) -> None:
    """Write a captioner with a classifier of labels that is fitted to its image network."""
    work = options.work
    where = ["--data", options.data, "--work", work, "--start", work / labelled.start]
    where += ["--network", work / labelled.network, "--share", labelled.share, "-o", work / name]
    run("photo_labels.py", *where)


def run(program: str, *arguments: str | Path | float) -> None:
    """Run another program of this folder."""
    path = Path(__file__).parent / program
    subprocess.run([sys.executable, path, *map(str, arguments)], check=True)


@torch.no_grad()
def sharpen(start: Path, factor: float, folder: Path) -> None:
    """Write a captioner whose shown attention scores are multiplied: rewards flatten them."""
    captioner = bundle.read(start)
    layer = captioner.model.decoder.shown_layer
    for name in ("weight", "bias"):
        place = f"decoder.layers.{layer}.cross_attention.query.{name}"
        captioner.model.get_parameter(place).mul_(factor)
    folder.mkdir()
    bundle.save(captioner, folder)


def score(options: argparse.Namespace) -> None:
    """Score the models on each dev set."""
    models = [word for model in options.model for word in ("-m", model)]
    for name in SETS:
        folder = options.data / name
        where = ["--images", folder / "images.tar", folder / "dev.tsv"]
        further = ["-s", "scores.attention=true", "--threads", options.threads]
        attn("evaluate", "captions", *models, *where, *further)


def table(options: argparse.Namespace) -> None:
    """Print a row for each model and dev set: BLEU-4, CIDEr-D, entropy and erasure."""
    models = [revised(revision, options.work) for revision in options.revision]
    print("| model | dev set | BLEU-4 | CIDEr-D | entropy | lost | lost, random | ratio |")
    print("|---|---|---:|---:|---:|---:|---:|---:|", flush=True)
    for model in (*models, *options.model):
        for name in SETS:
            found = measured(model, name, options)
            seen, scores = found["attention"], found["scores"]
            print(
                f"| {Path(model).name} | {name} | {scores['BLEU-4']['score']:.2f} "
                f"| {scores['CIDEr-D']['score']:.3f} "
                f"| {seen['entropy']:.1%} | {seen['attended']:.3f} | {seen['random']:.3f} "
                f"| {seen['ratio']:.2f} |",
                flush=True,
            )


def revised(revision: str, work: Path) -> Path:
    """Write `photos` as it was in a git revision to WORK/REVISION, and return that folder."""
    place, folder = "models/pretrained/photos", work / revision
    command = ["git", "archive", f"{revision}:{place}"]
    stored = subprocess.run(command, capture_output=True, check=True).stdout
    with tarfile.open(fileobj=io.BytesIO(stored)) as files:
        files.extractall(folder, filter="data")
    return folder


def measured(model: Path | str, name: str, options: argparse.Namespace) -> dict[str, Any]:
    """Return the scores of a model on a dev set, as `attn evaluate captions --json` prints them."""
    folder, dev = options.data / name, options.work / f"{name}.dev.tsv"
    rows = lines(folder / "dev.tsv")
    images = list(dict.fromkeys(row.partition("\t")[0] for row in rows))[: options.limit or None]
    dev.write_text("".join(row for row in rows if row.partition("\t")[0] in images), "utf-8")
    command = [sys.executable, "-m", "attncli", "evaluate", "captions", "-q", "--json", "-m", model]
    command += ["--images", folder / "images.tar", dev]
    command += ["-s", "scores.attention=true", "--threads", options.threads]
    ended = subprocess.run(list(map(str, command)), stdout=subprocess.PIPE, check=True)
    (found,) = json.loads(ended.stdout)["systems"]
    return dict(found)


if __name__ == "__main__":
    main()
