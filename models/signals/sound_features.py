"""Log-mel features: the energy of a sound in bands of the mel scale, in overlapping frames.

X_t = |FFT(hann * x_t)|^2,   x_t: a frame centred at t * hop
f_tb = log(max(sum_k M_bk X_tk, 1e-10)),   M: triangular filters      Davis and Mermelstein 1980
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache

import torch
from torch import Tensor

from models.core.config import HOP, AudioConfig

FRAME = 25  # ms
LOWEST = 20.0  # Hz
FLOOR = 1e-10  # of an energy, so that silence has a logarithm
RANGE = 70  # dB below the loudest band that are heard, with model.audio.center
KNEE = 0.85  # of the highest frequency: the change of frequencies is linear up to there
BREAK = 1000.0  # Hz: Slaney's scale is linear below and logarithmic above
LINEAR, STEP = 200 / 3, math.log(6.4) / 27  # Hz of a mel below; log Hz of a mel above


def log_mel(samples: Tensor, config: AudioConfig, warp: float = 1.0) -> Tensor:
    """Return the features (F, bands) of samples (N,) from -1 to 1 at the rate of the settings.

    Each frame is centred; there is one for each whole hop, at least 1. The mean of the samples,
    which a recorder may add, is removed first. Whisper does not remove it, and its features are
    (x + 4) / 4 of decimal logarithms at most 8 below the loudest (Radford et al. 2022).
    warp: factor of the frequencies that the filters look at, as another vocal tract's length has.
    """
    size, hop, width = sizes(config)
    frames = max(1, len(samples) // hop)
    samples = samples.float()
    if not config.padded and len(samples):
        samples = samples - samples.mean()
    missing = max(size, frames * hop) - len(samples)
    if missing > 0:
        samples = torch.nn.functional.pad(samples, (0, missing))
    window = torch.hann_window(width, device=samples.device)
    spectrum = torch.stft(samples, size, hop, width, window, return_complex=True)  # (K, F')
    energies = spectrum[:, :frames].abs().square().contiguous()
    mel = (filters(config, warp).to(samples.device) @ energies).clamp(min=FLOOR)  # (bands, F)
    if config.center:
        mel = mel.maximum(mel.max() * 10 ** (-RANGE / 10))
    if not config.padded:
        return mel.log().mT.contiguous()
    log = mel.log10()
    return ((log.maximum(log.max() - 8.0) + 4.0) / 4.0).mT.contiguous()


def padded_frames(features: Sequence[Tensor]) -> tuple[Tensor, Tensor]:
    """Return the features (F, bands) of some sounds as (B, F, bands), and the mask (B, F)."""
    source = torch.nn.utils.rnn.pad_sequence(list(features), batch_first=True)
    lengths = torch.tensor([len(each) for each in features])
    return source, torch.arange(source.shape[1]) < lengths[:, None]


def sizes(config: AudioConfig) -> tuple[int, int, int]:
    """Return the samples of a Fourier transform, of a hop and of a frame."""
    width = round(config.rate * FRAME / 1000)
    size = width if config.padded else 2 ** math.ceil(math.log2(width))
    return size, round(config.rate * HOP / 1000), width


@lru_cache(maxsize=128)
def filters(config: AudioConfig, warp: float = 1.0) -> Tensor:
    """Return the filters (bands, K) of the mel scale over the frequencies of a transform.

    The scale is that of HTK (Young et al. 2006); Whisper has Slaney's, with filters of equal area
    (Slaney 1998).
    warp: their frequencies are multiplied by it, up to those that the highest one limits.
    """
    is_slaney, top = config.padded > 0, config.rate / 2
    ends = torch.tensor([0.0 if is_slaney else LOWEST, top], dtype=torch.float64)
    first, last = _mel(ends, is_slaney).tolist()
    even = torch.linspace(first, last, config.bands + 2, dtype=torch.float64)
    corners = _hertz(even, is_slaney)  # (bands + 2,)
    if warp != 1:
        knee = KNEE * top * min(warp, 1) / warp  # Jaitly and Hinton 2013, eq. 1
        slope = (top - knee * warp) / (top - knee)
        corners = torch.where(corners <= knee, corners * warp, top - slope * (top - corners))
    places = torch.linspace(0, config.rate // 2, sizes(config)[0] // 2 + 1, dtype=torch.float64)
    slopes = corners[:, None] - places  # (bands + 2, K)
    widths = corners.diff()[:, None]
    bank = (-slopes[:-2] / widths[:-1]).minimum(slopes[2:] / widths[1:]).clamp(min=0)
    if is_slaney:
        bank = bank * (2 / (corners[2:] - corners[:-2]))[:, None]
    return bank.float()


def _mel(hertz: Tensor, is_slaney: bool) -> Tensor:
    if not is_slaney:
        return 2595 * torch.log10(1 + hertz / 700)
    above = BREAK / LINEAR + torch.log(hertz.clamp(min=BREAK) / BREAK) / STEP
    return torch.where(hertz < BREAK, hertz / LINEAR, above)


def _hertz(mel: Tensor, is_slaney: bool) -> Tensor:
    if not is_slaney:
        return 700 * (10 ** (mel / 2595) - 1)
    edge = BREAK / LINEAR
    return torch.where(mel < edge, LINEAR * mel, BREAK * torch.exp(STEP * (mel - edge)))
