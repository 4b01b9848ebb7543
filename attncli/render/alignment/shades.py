"""Weights as shades of blue, the same in every picture."""

from __future__ import annotations

from typing import NamedTuple

STOPS = ((255, 255, 255), (198, 219, 239), (66, 146, 198), (8, 48, 107))  # evenly from 0 to 1
LINK = "#d55e00"  # the frame of a link


class Shade(NamedTuple):
    """A colour, and the colour of text on it."""

    red: int
    green: int
    blue: int

    @property
    def code(self) -> str:
        """As in HTML."""
        return f"#{self.red:02x}{self.green:02x}{self.blue:02x}"

    @property
    def dark(self) -> bool:
        """Whether text upon it must be light."""
        return 0.299 * self.red + 0.587 * self.green + 0.114 * self.blue < 140


def shade(weight: float) -> Shade:
    """The colour of a weight from 0 to 1; darker is more."""
    place = min(max(weight, 0.0), 1.0) * (len(STOPS) - 1)
    before = min(int(place), len(STOPS) - 2)
    part = place - before
    low, high = STOPS[before], STOPS[before + 1]
    return Shade(*(round(a + part * (b - a)) for a, b in zip(low, high, strict=True)))
