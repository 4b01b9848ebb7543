"""The sizes of OPUS-MT here and in CTranslate2 called directly, side by side.

    python benchmarks/public_speed.py --lines 20 --rounds 3

A model of 6 + 6 layers of 512 and 58,101 tokens with random weights, whose end mark follows after
about 25 tokens; beam 4, int8, one thread. CTranslate2 is called as its documentation shows, with
the same converted model, and once more with the patience of this program's search, which asks for
twice as many finished outputs so that both engines and `transformers` agree. Prints the median
processor seconds; loading is left out.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from models.bundle import Bundle, build, save, sizes_of
from models.config import ModelConfig
from models.families.encoder_decoder import EncoderDecoder
from models.inference.ctranslate2.export import export
from models.inference.ctranslate2.translator import PATIENCE, CTranslate2Translator, imported
from models.inference.search.batching import pad_pairs
from models.text.tokenizer import END, SPACE, Tokenizer
from models.text.vocabulary import WORDS, of_pieces
from models.use_config import SearchConfig, TokenizerConfig

OPUS = ModelConfig(
    embedding=512,
    hidden=2048,
    encoder_layers=6,
    decoder_layers=6,
    heads=8,
    position="sinusoidal_2017",
    norm="post",
    activation="swish",
    max_source=512,
    tied=False,  # so that only the output is sharp; the products are those of tied matrices
)
TOKENS = 58_101
WORDS_OF_A_LINE, MOST = 20, 60  # tokens of a source, and of an output at most
SHARPNESS = 6.0  # factor of the output matrix: the beam has clear winners, as in a trained model
LENGTH = 25  # tokens of an output: the end mark is learned by least squares from the positions
RIDGE = 1.0


def random_model(tokenizer: Tokenizer) -> EncoderDecoder:
    """Return a model with random weights whose outputs end after LENGTH tokens."""
    torch.manual_seed(1)
    model = build(OPUS, sizes_of(tokenizer, OPUS.family)).eval()
    with torch.no_grad():
        model.output.weight.mul_(SHARPNESS)
        ids = torch.randint(END + 1, TOKENS, (48, 2 * LENGTH)).tolist()
        batch = pad_pairs(ids, ids, torch.device("cpu"))
        features = model.teacher_force(batch).features  # (B, T, D)
        wanted = torch.full(features.shape[:2], -100.0)
        wanted[:, LENGTH:] = 100.0  # far above and below all others
        x, y = features.flatten(0, 1), wanted.flatten()
        square = x.T @ x + RIDGE * torch.eye(x.shape[1])
        model.output.weight[END] = torch.linalg.solve(square, x.T @ y)
    return model


def processor_seconds(rounds: int, works: dict[str, Callable[[], Any]]) -> dict[str, float]:
    """Return the median processor seconds of some works, in turns, after one that is not timed."""
    found: dict[str, list[float]] = {name: [] for name in works}
    for number in range(rounds + 1):
        for name, work in works.items():
            started = time.process_time()
            work()
            if number:
                found[name].append(time.process_time() - started)
    return {name: statistics.median(times) for name, times in found.items()}


def measure(folder: Path, lines: int, rounds: int) -> None:
    """Write the model, translate some lines, and print the table."""
    words = [(f"{SPACE}w{number}", 0.0) for number in range(TOKENS - 260)]
    tokenizer = Tokenizer(of_pieces(words, (), WORDS))
    model, search = random_model(tokenizer), SearchConfig(beam=4, max_ratio=0, max_extra=MOST)
    save(Bundle(model, tokenizer, TokenizerConfig(kind="word"), search), folder / "bundle")
    export(folder / "bundle", folder / "direct", "int8")
    ours = CTranslate2Translator.read(folder / "bundle", precision="int8", threads=1)
    direct = imported().Translator(str(folder / "direct"), inter_threads=1, intra_threads=1)
    random = torch.Generator().manual_seed(2)
    ids = torch.randint(len(words), (lines, WORDS_OF_A_LINE), generator=random).tolist()
    texts = [" ".join(f"w{number}" for number in row) for row in ids]
    lengths: list[int] = []

    def by_ctranslate2(**more: Any) -> None:
        tokens = [tokenizer.source.encode(text, out_type=str) for text in texts]
        options = {"max_batch_size": 1024, "batch_type": "tokens", "max_decoding_length": MOST}
        found = direct.translate_batch(tokens, beam_size=4, **options, **more)
        outputs = [one.hypotheses[0] for one in found]
        for output in outputs:
            tokenizer.target.decode(output)
        lengths[:] = map(len, outputs)

    works: dict[str, Callable[[], Any]] = {
        "attn": lambda: ours.translate(texts),
        "CTranslate2": by_ctranslate2,
        f"CTranslate2, patience {PATIENCE:.0f}": lambda: by_ctranslate2(
            patience=PATIENCE, num_hypotheses=int(4 * PATIENCE), return_scores=True
        ),
    }
    seconds = processor_seconds(rounds, works)
    print(f"{lines} lines of {WORDS_OF_A_LINE} tokens, outputs of {statistics.mean(lengths):.1f}")
    for name, value in seconds.items():
        print(f"{name:<26}{value:8.2f} s{value / seconds['CTranslate2']:8.2f}")


def main() -> None:
    """Parse the command line and measure."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--lines", type=int, default=20)
    parser.add_argument("--rounds", type=int, default=3)
    given = parser.parse_args()
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as place:
        (folder := Path(place) / "models").mkdir()
        (folder / "bundle").mkdir()
        measure(folder, given.lines, given.rounds)


if __name__ == "__main__":
    main()
