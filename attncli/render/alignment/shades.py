"""Colours of weights, equal in every picture: shades of blue."""

from __future__ import annotations

from typing import NamedTuple

# colours of weights at equal distances from 0 to 1
STOPS = ((255, 255, 255), (198, 219, 239), (66, 146, 198), (8, 48, 107))
LINK = "#d55e00"  # the frame of a link


class Shade(NamedTuple):
    """A colour, and the colour of text on it."""

    red: int
    green: int
    blue: int

    @property
    def code(self) -> str:
        """Return the colour as HTML writes it."""
        return f"#{self.red:02x}{self.green:02x}{self.blue:02x}"

    @property
    def dark(self) -> bool:
        """Return True if text on this colour must be light."""
        return 0.299 * self.red + 0.587 * self.green + 0.114 * self.blue < 140


def shade(weight: float) -> Shade:
    """Return the colour of a weight from 0 to 1; a larger weight is darker."""
    place = min(max(weight, 0.0), 1.0) * (len(STOPS) - 1)
    before = min(int(place), len(STOPS) - 2)
    part = place - before
    low, high = STOPS[before], STOPS[before + 1]
    return Shade(*(round(a + part * (b - a)) for a, b in zip(low, high, strict=True)))
