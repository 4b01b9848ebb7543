"""Add an image network's labels to a trained captioner: a second memory that it can copy from.

    python recipes/photo_labels.py --data DIR --work WORK --start MODEL --count N -o FOLDER

With --network, the image network is that of another captioner; with --share, the mean of that and
the network of ImageNet, in DIR/cnn. Such a mean describes images as well as the fine-tuned network,
and knows more objects that no caption names (Wortsman et al. 2022, "Robust fine-tuning").

The classifier begins as that of MobileNet-EdgeTPU in DIR/cnn, and is fitted to the captioner's
network: its probabilities should be those of the network of ImageNet for the same image,

    min sum_images KL(p_frozen || softmax(W mean a + b)) + decay |W - W_0|^2

over the training images in WORK; every tenth is held out and scored. The nouns of the labels are
stored as tokens; the parts of the decoder that read them are those of MODEL, or new and must be
trained.
"""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import kl_div, linear

from attncli.caption.features import add_missing, features, half
from attncli.data.named_files import ImageIndex, content_hash, open_images
from models.core.config import ImageConfig
from models.networks import bundle
from models.networks.edgetpu import MobileNetEdgeTpu, read_classifier
from models.networks.image_encoder import ImageEncoder
from models.signals.imagenet import ImageLabels
from models.signals.images import open_image, to_tensor

STEPS, BATCH, RATE, DECAY = 600, 256, 1e-3, 1e-4
HELD_OUT = 10  # every tenth image


def main() -> None:
    """Parse the command line, fit the classifier and write the captioner."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--start", type=Path, required=True, help="captioner")
    parser.add_argument("--network", type=Path, help="captioner with the image network")
    parser.add_argument("--share", type=float, default=1, help="of that network in the mean")
    parser.add_argument("--count", type=int, default=5, help="nouns per image")
    parser.add_argument("-o", "--output", type=Path, required=True)
    add_labels(parser.parse_args())


def add_labels(options: argparse.Namespace) -> None:
    """Write the captioner `options.start` with labels to `options.output`."""
    start = bundle.read(options.start)
    weights = options.data / "cnn" / "mobilenet_edgetpu_uint8.npz"
    classifier, encoder = read_classifier(weights), start.model.encoder
    assert isinstance(encoder, ImageEncoder)
    if options.network:
        network = bundle.read(options.network).model.encoder
        assert isinstance(network, ImageEncoder)
        encoder.body.load_state_dict(mixed(network, weights, options.share))
    inputs = mean_features(options.work, encoder)
    weight, bias = fitted(inputs, frozen_logits(options, encoder.config), classifier)

    config = replace(start.model.config, image=replace(encoder.config, labels=options.count))
    model = bundle.build(config, bundle.sizes_of(start.tokenizer, config.family))
    model.load_state_dict(start.model.state_dict(), strict=False)
    labels = model.encoder.labels
    assert isinstance(labels, ImageLabels)
    labels.weight.data, labels.bias.data = weight, bias
    labels.set_nouns(lambda noun: start.tokenizer.encode_target(noun)[:-1])
    options.output.mkdir(parents=True, exist_ok=True)
    bundle.save(start._replace(model=model), options.output)


def mixed(encoder: ImageEncoder, weights: Path, share: float) -> dict[str, Tensor]:
    """Return the mean of the image network of an encoder, with a share, and that of a file."""
    theirs = of_imagenet(weights, encoder.config).state_dict()
    return {k: share * v + (1 - share) * theirs[k] for k, v in encoder.body.state_dict().items()}


def of_imagenet(weights: Path, config: ImageConfig) -> MobileNetEdgeTpu:
    """Return the image network of ImageNet."""
    network = MobileNetEdgeTpu(config).eval()
    network.load(str(weights))
    return network


def names(work: Path) -> list[str]:
    """Return the names of the training images, each once."""
    rows = (work / "train.tsv").read_text("utf-8").splitlines()
    return list(dict.fromkeys(row.partition("\t")[0] for row in rows))


def mean_features(work: Path, encoder: ImageEncoder) -> Tensor:
    """Return the mean features (N, V) of the training images; compute those that are not cached."""
    store, images = features(encoder, encoder.config, work / "features"), open_images(tar(work))
    keys = [content_hash(content(images, name)) for name in names(work)]
    by_key = dict(zip(keys, names(work), strict=True))
    add_missing(store, by_key, lambda key: content(images, by_key[key]), lambda *progress: None)
    table, rows = store.cache.table(), store.cache.rows(keys)
    return torch.stack([torch.from_numpy(table[row].astype(np.float32)).mean(0) for row in rows])


def frozen_logits(options: argparse.Namespace, config: ImageConfig) -> Tensor:
    """Return the frozen network's logits (N, labels) of the training images; cached as a file."""
    path, wanted = options.work / "frozen_logits.npz", names(options.work)
    if not path.exists():
        weights = options.data / "cnn" / "mobilenet_edgetpu_uint8.npz"
        network, images = of_imagenet(weights, config), open_images(tar(options.work))
        classifier = read_classifier(weights)
        means = (_mean(network, pixels(images, name, config)) for name in wanted)
        found = [half(linear(mean, *classifier)[0]) for mean in means]
        np.savez(path, names=np.array(wanted), logits=np.stack(found))
    with np.load(path) as stored:
        rows = dict(zip(stored["names"].tolist(), stored["logits"], strict=True))
    return torch.from_numpy(np.stack([rows[name] for name in wanted])).float()


@torch.inference_mode()
def _mean(network: MobileNetEdgeTpu, image: Tensor) -> Tensor:
    return network(image[None]).flatten(2).mean(2)


def pixels(images: ImageIndex, name: str, config: ImageConfig) -> Tensor:
    """Return an image (3, h, w) as the image network reads it."""
    image = open_image(content(images, name), name=name, least=config.size)
    return 2 * to_tensor(image, config) - 1


def content(images: ImageIndex, name: str) -> bytes:
    """Return the content of an image's file."""
    place = images.find(name)
    assert place is not None, f"no image {name}"
    return place.read()


def tar(work: Path) -> str:
    """Return the archive of all images."""
    return str(work / "images.tar")


def fitted(inputs: Tensor, logits: Tensor, start: tuple[Tensor, Tensor]) -> tuple[Tensor, Tensor]:
    """Return the classifier fitted to inputs (N, V) and logits (N, labels); print its scores."""
    held = torch.arange(len(inputs)) % HELD_OUT == 0
    wanted = logits.log_softmax(1)
    weight, bias = (part.clone().requires_grad_() for part in start)
    optimiser = torch.optim.Adam([weight, bias], lr=RATE)
    print("before", scores(inputs[held], wanted[held], (weight, bias)), flush=True)
    rows, random = (~held).nonzero()[:, 0], torch.Generator().manual_seed(1)
    for step in range(STEPS):
        optimiser.param_groups[0]["lr"] = RATE * (1 - step / STEPS)
        chosen = rows[torch.randint(len(rows), (BATCH,), generator=random)]
        found = linear(inputs[chosen], weight, bias).log_softmax(1)
        loss = kl_div(found, wanted[chosen], reduction="batchmean", log_target=True)
        (loss + DECAY * (weight - start[0]).square().sum()).backward()
        optimiser.step()
        optimiser.zero_grad()
    print("after ", scores(inputs[held], wanted[held], (weight, bias)), flush=True)
    return weight.detach(), bias.detach()


@torch.no_grad()
def scores(inputs: Tensor, wanted: Tensor, classifier: tuple[Tensor, Tensor]) -> str:
    """Return the divergence from log-probabilities (N, labels), and how often the first agrees."""
    found = linear(inputs, *classifier).log_softmax(1)
    divergence = kl_div(found, wanted, reduction="batchmean", log_target=True)
    agree = (found.argmax(1) == wanted.argmax(1)).float().mean()
    return f"KL {divergence:.3f}, first label equal {agree:.1%}"


if __name__ == "__main__":
    main()
