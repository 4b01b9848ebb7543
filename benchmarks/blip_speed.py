"""The sizes of BLIP base here and in `transformers`, side by side.

    python benchmarks/blip_speed.py --images 32 --rounds 3

A captioner of random weights, written by `transformers` and imported: 12 layers of 768 over the 577
slots of an image, and 12 decoder layers of 768. Beam 3, captions of 15 tokens, one thread, images
in batches of 8. `transformers` generates in fp32 and in bfloat16. Prints the median processor
seconds, and how many captions begin equally; loading and reading images are left out.
"""

from __future__ import annotations

import argparse
import copy
import dataclasses
import json
import sys
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import torch
from public_speed import processor_seconds

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from models import load_captioner
from models.importers.base import import_model, importer_of
from tests.models.importers.published import transformers

WORDS, START, END = 30_522, 30_522, 102  # of BERT's vocabulary
TOKENS, BEAM, BATCH = 15, 3, 8
COMPARED = 10  # tokens; each ends a caption that is cut in its own way
MEAN, DEVIATION = (0.481, 0.458, 0.408), (0.269, 0.261, 0.276)


def published(folder: Path) -> Any:
    """Write a captioner with random weights, whose captions have no end, into a folder."""
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    words += [f"w{number}" for number in range(WORDS - len(words))]
    words[END], words[3] = words[3], words[END]
    (folder / "vocab.txt").write_text("\n".join(words) + "\n", "utf-8")
    pixels = {"image_mean": MEAN, "image_std": DEVIATION, "resample": 3}
    (folder / "preprocessor_config.json").write_text(json.dumps(pixels), "utf-8")
    ids = {"bos_token_id": START, "sep_token_id": END, "pad_token_id": 0, "eos_token_id": 2}
    text = {"vocab_size": WORDS + 2, "num_attention_heads": 12, "encoder_hidden_size": 768, **ids}
    config = transformers.BlipConfig(
        text_config=text, vision_config={"image_size": 384, "patch_size": 16}
    )
    torch.manual_seed(1)
    model = transformers.BlipForConditionalGeneration(config).eval()
    with torch.no_grad():
        model.text_decoder.cls.predictions.bias[END] = -30
        model.text_decoder.cls.predictions.decoder.weight.mul_(5)  # the beam has clear winners
    model.save_pretrained(folder)
    return model


def measure(folder: Path, count: int, rounds: int) -> None:
    """Caption images by both, and print the table."""
    theirs = published(folder)
    rows = importer_of(folder).imported.target.rows
    (folder / "bundle").mkdir()
    import_model(folder, folder / "bundle", name="random")
    ours = load_captioner(folder / "bundle")
    search = dataclasses.replace(ours.search, beam=BEAM, max_caption=TOKENS + 1)
    images = torch.rand(count, 3, 384, 384)
    mean, deviation = (torch.tensor(each).view(3, 1, 1) for each in (MEAN, DEVIATION))
    captions = dict[str, list[list[int]]]()

    def here() -> None:
        found = ours.caption([*(images * 2 - 1)], search=search, batch=BATCH)  # from -1 to 1
        captions["attn"] = [[rows[n] for n in one.hypotheses[0].ids] for one in found]

    def there(name: str, model: Any) -> None:
        found = list[list[int]]()
        for part in ((images - mean) / deviation).to(model.dtype).split(BATCH):
            ids = model.generate(part, num_beams=BEAM, max_length=TOKENS + 1)
            found += [[n for n in row if n not in (START, END, 0)] for row in ids.tolist()]
        captions[name] = found

    works: dict[str, Callable[[], Any]] = {"attn": here}
    for kind in ("float32", "bfloat16"):
        name, model = f"transformers, {kind}", copy.deepcopy(theirs).to(getattr(torch, kind))
        works[name] = partial(there, name, model)
    with torch.inference_mode():
        seconds = processor_seconds(rounds, works)
    print(f"{count} images, beam {BEAM}, {TOKENS} tokens, one thread")
    for name, value in seconds.items():
        pairs = zip(captions[name], captions["attn"], strict=True)
        equal = sum(one[:COMPARED] == other[:COMPARED] for one, other in pairs)
        print(f"{name:<26}{value:8.2f} s{value / seconds['attn']:8.2f}   equal: {equal}")


def main() -> None:
    """Parse the command line and measure."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--images", type=int, default=32)
    parser.add_argument("--rounds", type=int, default=3)
    given = parser.parse_args()
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as place:
        measure(Path(place), given.images, given.rounds)


if __name__ == "__main__":
    main()
