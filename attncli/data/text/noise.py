"""Noise on source sentences, so that a model learns to translate carelessly typed text.

One of: lower case, no final punctuation, both, capitals, a typing mistake. The target stays as it
is. Source: Belinkov and Bisk 2018, Synthetic and Natural Noise Both Break Neural Machine
Translation, section 4.
"""

from __future__ import annotations

import random
from collections.abc import Callable

FINAL = ".!?…。！？"  # punctuation that is left out at the end
OPENING = "¿¡"


def add_noise(text: str, rng: random.Random) -> str:
    """Return a text with one kind of noise; the text itself where the noise would empty it."""
    change = rng.choices([change for change, _ in KINDS], [weight for _, weight in KINDS])[0]
    changed = change(text, rng)
    return changed if changed.strip() else text


def without_final_mark(text: str) -> str:
    """Return the text without its final punctuation."""
    return text.rstrip(FINAL + " ").lstrip(OPENING)


def typo(text: str, rng: random.Random) -> str:
    """Return the text with one letter left out, doubled, or swapped with the next one."""
    places = [
        n for n in range(len(text) - 1) if text[n].isalpha() and text[n + 1].isalpha() and n > 0
    ]
    if not places:
        return text
    n, kind = rng.choice(places), rng.randrange(3)
    middle = ("", text[n] * 2, text[n + 1] + text[n])[kind]
    return text[:n] + middle + text[n + 1 + (kind == 2) :]


Change = Callable[[str, random.Random], str]
KINDS: tuple[tuple[Change, float], ...] = (
    (lambda text, rng: text.lower(), 6),
    (lambda text, rng: without_final_mark(text), 4),
    (lambda text, rng: without_final_mark(text).lower(), 3),
    (typo, 4),
    (lambda text, rng: text.upper(), 1),
)  # and their relative frequency
