"""What steering does: captions that follow a frame, words that follow a look, and prefixes.

    python benchmarks/steering.py --data DIR [--scenes 200] [--words 300] [--prefixes 200]
    python benchmarks/steering.py -m runs/demo [-m runs/rnnsearch]

With --data (tatoeba/, words/): the models in the box. `scenes` captions new scenes of two things,
with a frame around one, and then around the other. `everyday` looks at one source word at a random
place of its own translation; the next word is compared with the word lists. Two words are equal if
they begin with the same letters: four of them, and 60 % of the longer one. Prefixes are the first
third of references. With -m: translators of the embedded grammar, whose links are the word list.
"""

from __future__ import annotations

import argparse
import io
import lzma
import random
from collections import defaultdict
from collections.abc import Callable, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from PIL import Image
from sacrebleu import corpus_chrf

from attncli.caption.images import steering_of
from attncli.data import embedded, scenes
from models.engines.captioner import Captioner
from models.engines.ctranslate2_translator import CTranslate2Translator
from models.engines.translator import Translator
from models.search.steering import Look, Steering
from models.storage.installed import chosen_model

SEED = 71
KINDS = ("noun", "verb", "adj")
MARGIN = 0  # pixels around a thing
SHOWN = 8  # unsteered alternatives


def caption_scenes(count: int) -> None:
    """Print how often a caption begins with the thing in the frame, and how often it is right."""
    captioner = Captioner.read(chosen_model(Path("scenes"), "caption"))
    drawn = [*islice((one for one in scenes.generate(SEED) if len(one.things) == 2), count)]
    images, looks = [], list[list[str]]()
    for number, scene in enumerate(drawn):
        images.append(Image.open(io.BytesIO(scenes.png(scene))).convert("RGB"))
        looks.append([frame(scene.things[(number + n) % 2]) for n in (0, 1)])

    def captions(given: Callable[[list[str]], Sequence[str]]) -> list[str]:
        size = (scenes.SIDE, scenes.SIDE)
        steering = [steering_of(captioner, size, "", given(each)) for each in looks]
        return [one.text for one in captioner.caption(images, steering=steering)]

    def begins(found: list[str]) -> list[bool]:
        chosen = (" ".join(one.things[n % 2].words) for n, one in enumerate(drawn))
        return [one.startswith(first) for one, first in zip(found, chosen, strict=True)]

    plain, alone = captions(lambda each: ()), captions(lambda each: each[:1])
    both = captions(lambda each: (f"{each[0]}@1-4", f"{each[1]}@5-"))
    known = [{one.text for one in scene.captions} for scene in drawn]
    right = [one in own for one, own in zip(both, known, strict=True)]
    first = sum(a and b for a, b in zip(right, begins(both), strict=True))
    counts = [sum(begins(each)) for each in (plain, alone, both)]
    print(f"scenes: of {count} captions, {counts[0]} begin with the chosen thing without a look,")
    print(f"  {counts[1]} with a look at it, {counts[2]} with a look at it and then at the other;")
    print(f"  {first} of the last are captions of the scene")


def frame(thing: scenes.Thing) -> str:
    """Return the frame around a thing, as the command has it."""
    left, top, right, bottom = thing.box
    sides = (left - MARGIN, top - MARGIN, right + MARGIN, bottom + MARGIN)
    return ",".join(str(min(max(side, 0), scenes.SIDE)) for side in sides)


def dev_rows(data: Path, language: str = "deu") -> list[list[str]]:
    """Return rows of the dev set of Tatoeba, in random order: source, references."""
    lines = (data / "tatoeba" / f"eng-{language}.dev.tsv").read_text("utf-8").splitlines()
    rows = [line.split("\t") for line in lines]
    random.Random(SEED).shuffle(rows)
    return rows


def word_list(data: Path) -> dict[str, set[str]]:
    """Return the German translations of English nouns, verbs and adjectives."""
    found = defaultdict[str, set[str]](set)
    with lzma.open(data / "words" / "en-de.tsv.xz", "rt", encoding="utf-8") as rows:
        for row in rows:
            english, german, kind, *_ = row.split("\t")
            if kind in KINDS and " " not in f"{english}{german}":
                found[english].add(german)
    return found


def is_equal(word: str, other: str) -> bool:
    """Return True if two words begin with the same letters, as forms of one word do."""
    one, two = word.casefold(), other.casefold()
    same = next((n for n, (a, b) in enumerate(zip(one, two, strict=False)) if a != b), 99)
    same = min(same, len(one), len(two))
    return one == two or (same >= 4 and same >= 0.6 * max(len(one), len(two)))


def look_at_words(model: Any, texts: Sequence[str], known: Any, count: int, name: str) -> None:
    """Print how often the next word translates the source word that is looked at.

    known: returns the translations of a source word.
    """
    rng, looked, best, any_of, total = random.Random(SEED), 0, 0, 0, 0
    for text in texts:
        places = [n for n, word in enumerate(text.split()) if known(word.strip(".,!?\"'"))]
        if not places:
            continue
        place = rng.choice(places)
        word = text.split()[place].strip(".,!?\"'")
        start = len(" ".join(text.split()[:place])) + (place > 0)
        start = text.index(word, start)
        written = model.translate([text])[0].hypotheses[0].text.split()
        size = rng.randrange(max(1, len(written)))
        prefix = " ".join(written[:size])
        look = Look(((start, start + len(word)),), size + 1, size + 1)
        steered = next_word(model.next_words(text, Steering(prefix, (look,)), 1))
        others = [one.word for one in model.next_words(text, Steering(prefix), SHOWN)]
        wanted = known(word)
        looked += any(is_equal(steered, one) for one in wanted)
        best += any(is_equal(one, each) for one in others[:1] for each in wanted)
        any_of += any(is_equal(one, each) for one in others for each in wanted)
        total += 1
        if total == count:
            break
    print(f"{name}: of {total} source words, the next word translates the word in {looked} with a")
    print(f"  look at it, {best} by the best unsteered word, {any_of} by any of {SHOWN} of them")


def next_word(found: Sequence[Any]) -> str:
    """Return the most probable word; "" if there is none."""
    return found[0].word if found else ""


def begin_with_prefixes(rows: Sequence[list[str]], fast: Any, slow: Translator) -> None:
    """Print how prefixes are kept by both engines, and chrF of what is behind them."""
    texts, references = [row[0] for row in rows], [row[1] for row in rows]
    prefixes = [one[: max(1, len(one) // 3)].rstrip() for one in references]
    given = [Steering(one) for one in prefixes]
    found = [one.text for one in fast.stream(texts, steering=given)]
    again = [one.text for one in slow.stream(texts, steering=given)]
    closed = [Steering(f"{one.rpartition(' ')[0]} ".lstrip()) for one in prefixes]
    whole = [[one.text for one in model.stream(texts, steering=closed)] for model in (fast, slow)]
    plain = [one.text for one in fast.stream(texts)]
    kept = sum(one.startswith(prefix) for one, prefix in zip(found, prefixes, strict=True))
    equal = sum(a == b for a, b in zip(found, again, strict=True))
    ended = sum(a == b for a, b in zip(*whole, strict=True))
    print(
        f"prefixes: of {len(rows)} outputs, {kept} begin with their prefix; equal by both engines:"
    )
    print(f"  {equal} where it ends anywhere, {ended} where it ends with a word")
    rests = [
        [text[len(prefix) :].strip() for text, prefix in zip(side, prefixes, strict=True)]
        for side in (found, plain, references)
    ]
    steered, unsteered = (corpus_chrf(side, [rests[2]]).score for side in rests[:2])
    print(f"  chrF of the rest: {steered:.1f}; of that of unsteered outputs: {unsteered:.1f}")


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--data", type=Path, help="folder of tatoeba/ and words/")
    parser.add_argument("-m", "--model", action="append", default=[], help="of the grammar")
    for name, count in (("scenes", 200), ("words", 300), ("prefixes", 200)):
        parser.add_argument(f"--{name}", type=int, default=count)
    given = parser.parse_args()
    for name in given.model:
        pairs = embedded.split(1, 1, 2000, seed=SEED).test
        links = defaultdict[str, set[str]](set)
        for pair in pairs:
            source, target = pair.source.split(), pair.target.split()
            for i, j in pair.links:
                links[source[i].strip(".")].add(target[j].strip("."))
        own = {word: each for word, each in links.items() if len(word) > 3}
        model = Translator.read(chosen_model(Path(name), "translate"))
        texts = [pair.source for pair in pairs]
        look_at_words(model, texts, lambda word: own.get(word, ()), given.words, name)  # noqa: B023
    if not given.data:
        return
    if given.scenes:
        caption_scenes(given.scenes)
    fast: Any = CTranslate2Translator.read(chosen_model(None, "translate"), threads=1)
    fast = fast.for_direction("de", "en")
    [slow] = fast.in_torch()
    rows = dev_rows(given.data)
    if given.words:
        words = word_list(given.data)
        texts = [row[0] for row in rows if 4 <= len(row[0].split()) <= 14]
        look_at_words(slow, texts, lambda word: words.get(word, ()), given.words, "everyday")
    if given.prefixes:
        begin_with_prefixes(rows[: given.prefixes], fast, slow)


if __name__ == "__main__":
    main()
