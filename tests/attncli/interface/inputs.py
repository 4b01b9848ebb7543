"""An image and a recording in memory."""

from __future__ import annotations

import io
import wave

import numpy

PIXELS = numpy.random.default_rng(1).integers(0, 255, (64, 64, 3), "uint8")


def recording() -> io.BytesIO:
    """Return a recording of a tone of a second."""
    file = io.BytesIO()
    samples = 9000 * numpy.sin(numpy.arange(8000) / 9)
    with wave.open(file, "wb") as sound:
        sound.setnchannels(1)
        sound.setsampwidth(2)
        sound.setframerate(8000)
        sound.writeframes(samples.astype("<i2").tobytes())
    return io.BytesIO(file.getvalue())
