"""Gradients of a word's log-probability by the vectors of the input's slots.

gradient times input: the first-order effect of each slot,

    r_js = x_s . df_j/dx_s                                       Shrikumar et al. 2017, section 3.1

integrated gradients: the gradient along the line from a baseline to the input,

    r_js = (x_s - b_s) . integral over a from 0 to 1 of df_j/dx_s at b + a (x - b)

whose sum over all slots is f(x) - f(b) (completeness). Gauss-Legendre quadrature computes the
integral. Sundararajan, Taly and Yan 2017, eq. 1 and proposition 1
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from models.explain.subject import MOST_SLOTS, Subject

STEPS, MOST_STEPS = 32, 2048  # points of the quadrature
TOLERANCE = 0.01  # share of f(x) - f(b) by which a sum may differ from it
LEAST_GAP = 1e-3  # nats; smaller gaps are rounding


def gradient_times_input(subject: Subject) -> Tensor:
    """Return the products (J, I) of gradient and input vectors, in nats.

    Source: Shrikumar et al. 2017.
    """
    found = directional_gradients(subject, subject.vectors[None], subject.vectors)
    return subject.by_unit(found[0])


def integrated_gradients(subject: Subject, steps: int = 0) -> Tensor:
    """Return the integrated gradients (J, I), in nats. Source: Sundararajan et al. 2017.

    steps: points of the quadrature; 0: STEPS for each word, doubled up to MOST_STEPS until the
    sum of the word differs from f(x) - f(b) by at most a share of TOLERANCE.
    """
    if steps:
        return subject.by_unit(_integral(subject, subject.words, steps))
    expected = differences(subject)
    found = torch.zeros(len(subject.words), len(subject.vectors), device=expected.device)
    words, steps = torch.arange(len(found), device=expected.device), STEPS
    while len(words) and steps <= MOST_STEPS:
        found[words] = _integral(subject, subject.words[words], steps)
        gaps = (found[words].sum(1) - expected[words]).abs()
        words = words[gaps > (TOLERANCE * expected[words].abs()).clamp_min(LEAST_GAP)]
        steps *= 2
    return subject.by_unit(found)


@torch.no_grad()
def differences(subject: Subject) -> Tensor:
    """Return f(x) - f(b) of each word, (J,), in nats."""
    at_input, at_baseline = subject.log_probs(torch.stack([subject.vectors, subject.baseline]))
    return at_input - at_baseline


def completeness_gaps(subject: Subject, relevances: Tensor) -> Tensor:
    """Return how far the sums of relevances (J, I) are from f(x) - f(b), as shares of it, (J,)."""
    expected = differences(subject).float().cpu()
    return (relevances.sum(1) - expected).abs() / expected.abs().clamp_min(LEAST_GAP)


def _integral(subject: Subject, words: Tensor, steps: int) -> Tensor:
    """Return the integrated gradients (W, S) of some words (W, T) by a number of points."""
    device = subject.vectors.device
    nodes, sizes = (torch.tensor(each) for each in np.polynomial.legendre.leggauss(steps))
    shares, sizes = ((nodes + 1) / 2).float().to(device), (sizes / 2).float().to(device)
    way = subject.vectors - subject.baseline
    total = torch.zeros(len(words), len(way), device=device)
    parts = max(1, MOST_SLOTS // len(way))
    for share, size in zip(shares.split(parts), sizes.split(parts), strict=True):
        points = subject.baseline + share[:, None, None] * way
        found = directional_gradients(subject, points, way, words)
        total += torch.einsum("n,njs->js", size, found)
    return total


def directional_gradients(
    subject: Subject, points: Tensor, direction: Tensor, words: Tensor | None = None
) -> Tensor:
    """Return the products (N, J, S) of the gradients of f at points (N, S, E) and a direction.

    direction: (S, E). words: (J, T) of the subject's words; None: all of them. cuDNN is off
    because its recurrent layers have no gradients in evaluation.
    """
    with torch.enable_grad(), torch.backends.cudnn.flags(enabled=False):
        points = points.detach().requires_grad_()
        log_probs = subject.log_probs(points, words)
        rows = []
        for one in log_probs.unbind(1):
            (gradient,) = torch.autograd.grad(one.sum(), points, retain_graph=True)
            rows.append((gradient * direction).sum(-1))
    return torch.stack(rows, 1)
