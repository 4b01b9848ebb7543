"""Recordings as samples: files, bytes, pipes and arrays of any rate, depth and number of channels.

The channels are averaged, and the samples resampled, a block at a time, so that hours of sound need
little memory. Whatever cannot be transcribed raises an InputError of one line. Long recordings are
divided at silences, so that each piece has the length of a sentence or two.
"""

from __future__ import annotations

import contextlib
import io
import itertools
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Generator, Iterable, Iterator
from importlib import import_module
from numbers import Real
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, BinaryIO, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from models.core.errors import InputError, ModelError, NotFoundError, install_command, is_exhausted
from models.core.files import open_regular
from models.core.limits import AUDIO_SECONDS, AUDIO_STREAM_BYTES

if TYPE_CHECKING:
    pass

BLOCK, FRAMES = 10, 500  # seconds, and frames of a container, that are read at a time
SILENT = 1e-4  # largest minus smallest sample below which nothing can be heard
LOUDEST = 2.0**32  # a sample beyond it is no sound; the squares of larger ones are infinite
SHORTEST = 0.05  # seconds in which a word can be heard
CANCELLED = 0.05  # deviation of the mean of channels over that of the loudest
RATES = (1000, 1_000_000)  # samples a second of sound
IN_MEMORY = 1 << 26  # bytes of a pipe; more go into a temporary file
STREAM = 0x7F000000  # bytes; a header that promises more was written before its sound
KNOWN = "a WAV, FLAC, OGG, MP3 or AIFF recording"


Floats = NDArray[np.float32]
STEP, BLUR = 0.02, 10  # seconds of an energy; energies that are averaged


class SampleArray(NamedTuple):
    """A sound in memory."""

    # array, tensor or list: (N,), (N, channels) or (channels, N); integers are scaled
    samples: object
    rate: int  # samples a second


class Channel(NamedTuple):
    """One channel of a recording."""

    source: Path | bytes
    number: int  # from 0


Recording = Path | bytes | BinaryIO | SampleArray | Channel


def recording_of(given: Any, rate: float = 0) -> Recording:
    """Return a recording of a path, of a file or its bytes, or of an array of samples.

    rate: samples a second of an array; InputError without it.
    """
    if isinstance(given, io.TextIOBase):
        raise InputError("a recording opened as text", "a file of bytes", "open it in mode 'rb'")
    if isinstance(given, SampleArray) or hasattr(given, "read"):
        return given
    if isinstance(given, (str, Path)):
        if not str(given):
            raise InputError("an empty path of a recording", "the path of a file")
        return Path(given)
    if isinstance(given, (bytes, bytearray)):
        return bytes(given)
    if isinstance(given, (list, tuple)) and given and isinstance(given[0], (str, Path, bytes)):
        raise InputError(
            f"a list of recordings ({len(given)}) in place of one",
            "a path, a file or its bytes",
            "give each recording by itself",
        )
    if not (isinstance(given, (list, tuple)) or hasattr(given, "ndim")):
        found = f"a recording of type {type(given).__name__}"
        raise InputError(found, "a path, a file, bytes, or an array of samples with its rate")
    if not rate:
        raise InputError("an array of samples without its rate", "samples a second: rate=16000")
    if not isinstance(rate, Real):  # those of NumPy, too
        raise InputError(f"a rate of type {type(rate).__name__}", "samples a second: rate=16000")
    return SampleArray(given, rate)


def read_sound(
    source: Recording, rate: int, name: str = "", seconds: float = AUDIO_SECONDS
) -> Floats:
    """Return all samples (N,) of a recording at a rate; see `read_blocks`.

    seconds: the longest that is allowed.
    """
    found, left = [], seconds * rate
    for block in read_blocks(source, rate, name):
        found.append(block)
        left -= len(block)
        if left < 0:
            raise InputError(
                f"{name or 'the recording'} is too long", f"at most {seconds:g} seconds"
            )
    return np.concatenate(found)


def read_blocks(source: Recording, rate: int, name: str = "") -> Iterator[Floats]:
    """Yield the samples of a recording at a rate, from -1 to 1, in blocks (n,) of about 10 seconds.

    source: a file, its bytes, a stream such as standard input, or samples. name: for messages.
    Raises NotFoundError for a missing file and InputError for what is no recording, is damaged,
    longer than AUDIO_SECONDS, or contains no samples, samples that are no numbers, or silence; or
    is too short to contain a word.
    """
    name = name or (str(source) if isinstance(source, Path) else "the recording")
    source, channel = source if isinstance(source, Channel) else (source, None)
    with _opened(source, name) as file:
        if file.seconds > AUDIO_SECONDS:
            raise _too_long(name, file.seconds)
        if not RATES[0] <= file.rate <= RATES[1]:
            raise InputError(
                f"{name} has a rate of {file.rate:,}",
                f"{RATES[0]:,} to {RATES[1]:,} samples a second, such as 16000",
            )
        blocks = file.blocks
        if channel is not None:
            blocks = (block[:, channel : channel + 1] for block in blocks)
        yield from _resampled(_checked(blocks, file.rate, name), file.rate, rate, name)


def header(source: Path | bytes, name: str = "") -> SoundFile:
    """Return the rate, channels and length that a recording states; raises as `read_blocks`."""
    with _opened(source, name or "the recording") as file:
        return file


def channels_of(samples: object) -> np.ndarray:
    """Return the samples (N, channels) of an array of one or several channels, from -1 to 1."""
    values = np.asarray(samples.detach().cpu() if hasattr(samples, "detach") else samples)
    if values.ndim not in (1, 2) or values.dtype.kind not in "iuf":
        raise InputError(
            f"an array of shape {values.shape} and type {values.dtype}",
            "samples (N,) or (N, channels), as numbers",
        )
    if values.dtype.kind in "iu" and values.dtype.itemsize <= 4:  # 16 bits: from -32,768 to 32,767
        half = 2.0 ** (8 * values.dtype.itemsize - 1)
        values = (values - half * (values.dtype.kind == "u")) / half
    if values.ndim == 1:
        return values[:, None]
    # a recording has more samples than channels
    return values if values.shape[1] < values.shape[0] else values.T


def _checked(blocks: Iterator[Floats], rate: int, name: str) -> Iterator[Floats]:
    """Yield the means (n,) of channels, or the loudest where they cancel each other.

    Raises InputError for a sound that cannot be used.
    """
    low, high, count = np.inf, -np.inf, 0
    for block in blocks:
        if not block.size:
            continue
        count += len(block)
        if count > AUDIO_SECONDS * rate:
            raise _too_long(name, count / rate)
        if not np.isfinite(block).all():
            raise InputError(f"{name} has samples that are not numbers (NaN or infinite)", KNOWN)
        if (most := np.abs(block).max()) > LOUDEST:
            raise InputError(f"{name} has samples of {most:.0e}", "samples from -1 to 1")
        mean = block.mean(1).astype(np.float32)
        # two channels of opposite phase cancel each other in the mean
        if mean.std() < CANCELLED * block.std(0).max():
            mean = block[:, block.std(0).argmax()].astype(np.float32)
        low, high = min(low, mean.min()), max(high, mean.max())
        yield mean
    if not count:
        raise InputError(f"{name} has no samples", "a recording with sound")
    if high - low < SILENT:
        raise InputError(f"{name} is silent", "a recording with sound")
    if count < SHORTEST * rate:
        raise InputError(
            f"{name} is too short, {1000 * count / rate:.3g} ms", f"{1000 * SHORTEST:g} ms or more"
        )


def _resampled(blocks: Iterator[Floats], own_rate: int, rate: int, name: str) -> Iterator[Floats]:
    """Yield blocks at another rate."""
    if own_rate == rate:
        yield from blocks
        return
    try:
        import soxr
    except ImportError:
        raise missing(f"{name} has {own_rate:,} samples a second, not {rate:,}", "soxr") from None
    # a stream keeps its state between blocks, which separate calls would break with clicks
    stream = soxr.ResampleStream(own_rate, rate, 1, dtype="float32")
    for block in blocks:
        yield stream.resample_chunk(np.ascontiguousarray(block))
    yield stream.resample_chunk(np.zeros(0, np.float32), last=True)


class SoundFile(NamedTuple):
    """An opened recording."""

    rate: int  # samples a second
    channels: int
    seconds: float  # that its header states; 0 if it states none
    blocks: Iterator[Floats]  # (n, channels)
    log: str = ""  # remarks of libsndfile about its header

    @property
    def shortfall(self) -> str:
        """A remark about less sound than the header promises; else nothing.

        The header of a stream promises nothing, or as much as a header can.
        """
        sizes = re.search(r"^(?:data|SSND) : (\d+) \(should be (\d+)\)", self.log, re.M)
        promised, found = map(int, sizes.groups()) if sizes else (0, 0)
        if not found < promised < STREAM:
            return ""
        whole = self.seconds * promised / found
        remark = f"{self.seconds:.2f} s of the {whole:.2f} s that its header promises"
        return remark if whole >= self.seconds + SHORTEST else ""


@contextlib.contextmanager
def _opened(source: Path | bytes | BinaryIO | SampleArray, name: str) -> Iterator[SoundFile]:
    """Open a recording by libsndfile, else by PyAV or the program ffmpeg."""
    if isinstance(source, SampleArray):
        samples = channels_of(source.samples)
        yield SoundFile(source.rate, samples.shape[1], 0.0, iter([samples]))
        return
    try:
        import soundfile
    except (ImportError, OSError):  # without the package, or without its library
        raise missing(f"{name} is a recording", "soundfile") from None
    with contextlib.ExitStack() as held:
        with _readable(name):
            stream = held.enter_context(_stream(source, name))
            try:
                file = held.enter_context(soundfile.SoundFile(_Seekable(stream)))
                rate, channels = file.samplerate, file.channels
                blocks = file.blocks(BLOCK * rate, dtype="float32", always_2d=True)
                found = SoundFile(rate, channels, len(file) / rate, blocks, file.extra_info)
            except soundfile.LibsndfileError as error:
                stream.seek(0)
                found = held.enter_context(_container(stream, name, error))
        yield found._replace(blocks=_read(found.blocks, name))


def _read(blocks: Iterator[Floats], name: str) -> Iterator[Floats]:
    """Yield blocks; raise a ModelError for those that cannot be read."""
    with _readable(name):
        yield from blocks


@contextlib.contextmanager
def _container(stream: IO[bytes], name: str, fault: Exception) -> Iterator[SoundFile]:
    """Open a container such as M4A, MP4, WebM or Matroska by PyAV, or by the program ffmpeg.

    fault: why libsndfile cannot read it, which is raised if it is none.
    """
    try:
        av = import_module("av")
    except ImportError:
        if not shutil.which("ffmpeg"):
            hint = f"for M4A, MP4, WebM and others: {install_command('audio')}, or ffmpeg"
            reason = str(getattr(fault, "error_string", fault)).rstrip(".")
            raise InputError(f"{name} cannot be read ({reason})", KNOWN, hint) from None
        with _opened(_converted(stream, fault), name) as found:
            yield found
        return
    with contextlib.ExitStack() as held:
        try:
            # names of songs in odd encodings must not refuse the sound
            container = held.enter_context(av.open(stream, "r", metadata_errors="ignore"))
        except av.error.FFmpegError:
            raise fault from None
        if not container.streams.audio:
            raise InputError(f"{name} has no sound", "a recording, or a video with sound")
        audio = container.streams.audio[0]
        if audio.codec_context is None:  # nothing decodes it
            raise fault from None
        seconds = float(container.duration or 0) / av.time_base
        channels = audio.codec_context.channels
        resampler = av.AudioResampler(format="flt", layout=audio.layout, rate=audio.rate)
        parts = (
            part.to_ndarray().reshape(-1, channels)  # (n, channels)
            for frame in itertools.chain(container.decode(audio), [None])
            for part in resampler.resample(frame)
        )
        blocks = map(np.concatenate, iter(lambda: [*itertools.islice(parts, FRAMES)], []))
        yield SoundFile(audio.rate, channels, seconds, blocks)


class _Seekable:
    """A stream for libsndfile, whose callbacks would print the error of an impossible place."""

    def __init__(self, stream: IO[bytes]) -> None:
        self.read, self.tell, self._seek = stream.read, stream.tell, stream.seek

    def seek(self, offset: int, whence: int = 0) -> int:
        """Go to a place, or stay if there is none."""
        with contextlib.suppress(OSError, ValueError, OverflowError):
            self._seek(offset, whence)
        return self.tell()


def _converted(stream: IO[bytes], fault: Exception) -> bytes:
    """Return a WAV file of a recording that the program ffmpeg reads; else raise the fault."""
    with tempfile.NamedTemporaryFile() as file:
        shutil.copyfileobj(stream, file)
        file.flush()
        # from a file and not a pipe, because MP4 may have its index at the end
        command = ["ffmpeg", "-v", "error", "-i", file.name, "-vn", "-f", "wav", "-"]
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, check=False)
    if done.returncode or not done.stdout:
        raise fault
    return done.stdout


def missing(found: str, package: str) -> ModelError:
    """Return the error for a package of the extra `audio` that is not installed."""
    return ModelError(found, f"the package {package}", f"install it: {install_command('audio')}")


def _stream(source: Path | bytes | BinaryIO, name: str) -> IO[bytes]:
    """Return a stream in which one can go back, as the header of a recording requires."""
    if isinstance(source, bytes):
        return io.BytesIO(source)
    if isinstance(source, Path):
        return open_regular(source, sys.maxsize, name)
    # libsndfile seeks to read a header, which a pipe cannot
    spool = cast(IO[bytes], tempfile.SpooledTemporaryFile(IN_MEMORY))  # noqa: SIM115
    left = AUDIO_STREAM_BYTES
    while part := source.read(min(1 << 16, left + 1)):
        left -= len(part)
        if left < 0:
            raise InputError(f"{name} is endless", f"at most {AUDIO_STREAM_BYTES:,} bytes")
        spool.write(part)
    spool.seek(0)
    return spool


@contextlib.contextmanager
def _readable(name: str) -> Iterator[None]:
    """Raise a ModelError of one line for a missing or damaged file."""
    try:
        yield
    except ModelError:
        raise
    except FileNotFoundError:
        raise NotFoundError(f"no file {name}", KNOWN) from None
    except (OSError, RuntimeError, ValueError, TypeError, EOFError) as error:
        if is_exhausted(error):
            raise
        reason = getattr(error, "strerror", None) or str(getattr(error, "error_string", error))
        reason = " ".join(reason.split()).rstrip(".")
        raise InputError(f"{name} cannot be read ({reason})", f"a complete {KNOWN[2:]}") from None


def _too_long(name: str, seconds: float) -> ModelError:
    return InputError(
        f"{name} has {seconds / 3600:,.1f} hours",
        f"at most {AUDIO_SECONDS // 3600} hours",
        "divide it first",
    )


class SoundPiece(NamedTuple):
    """A part of a recording."""

    start: float  # in seconds
    samples: Floats  # (n,)


def divided(
    blocks: Iterable[Floats], rate: int, seconds: float
) -> Generator[SoundPiece, None, float]:
    """Yield the audible pieces of a recording, each of at most so many seconds; return its length.

    A piece ends where e_t, the sum of x^2 over 20 ms, averaged over 200 ms, is lowest between half
    of its length and all of it.
    blocks: its samples in consecutive parts; few are in memory at a time. A recording of at most
    that length is one piece. A silent piece is left out.
    """
    most, held, start = max(1, int(seconds * rate)), np.zeros(0, np.float32), 0
    for block in blocks:
        held = np.concatenate([held, block])
        while len(held) > most:
            end = quietest(held[:most], rate)
            yield from _audible(held[:end], start, rate)
            held, start = held[end:], start + end
    yield from _audible(held, start, rate)
    return (start + len(held)) / rate


def quietest(samples: Floats, rate: int) -> int:
    """Return the sample of the second half of some samples around which the sound is lowest."""
    step = max(1, int(STEP * rate))
    half = len(samples) // 2
    count = (len(samples) - half) // step
    if count <= BLUR:
        return len(samples)
    parts = samples[half : half + count * step].reshape(count, step)
    # without the mean, because a constant offset is no sound
    energies = ((parts - samples.mean()) ** 2).sum(1)
    means = np.lib.stride_tricks.sliding_window_view(energies, BLUR).mean(1)
    place = int(means[::-1].argmin())  # the last of equal ones
    return half + (len(means) - 1 - place) * step + BLUR * step // 2


def is_audible(samples: Floats) -> bool:
    """Return True unless samples (N,) are silence."""
    return bool(len(samples)) and float(samples.max() - samples.min()) >= SILENT


def silence(samples: Floats, rate: int) -> int:
    """Return how many samples (N,) are silence before the first sound; 0 for less than a second.

    Half a second before the sound is not counted.
    """
    heard = np.flatnonzero(np.abs(samples - samples[:1]) >= SILENT)
    quiet = int(heard[0]) - rate // 2 if len(heard) else len(samples)
    return quiet if quiet == len(samples) or quiet > rate // 2 else 0


def _audible(samples: Floats, start: int, rate: int) -> Iterator[SoundPiece]:
    if is_audible(samples):
        yield SoundPiece(start / rate, samples)
