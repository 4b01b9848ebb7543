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

STEPS = 32  # points of the quadrature


def gradient_times_input(subject: Subject) -> Tensor:
    """Return the products (J, I) of gradient and input vectors, in nats.

    Source: Shrikumar et al. 2017.
    """
    found = directional_gradients(subject, subject.vectors[None], subject.vectors)
    return subject.by_unit(found[0])


def integrated_gradients(subject: Subject, steps: int = STEPS) -> Tensor:
    """Return the integrated gradients (J, I), in nats. Source: Sundararajan et al. 2017."""
    device = subject.vectors.device
    nodes, sizes = (torch.tensor(each) for each in np.polynomial.legendre.leggauss(steps))
    shares, sizes = ((nodes + 1) / 2).float().to(device), (sizes / 2).float().to(device)
    way = subject.vectors - subject.baseline
    total = torch.zeros(len(subject.words), len(way), device=device)
    parts = max(1, MOST_SLOTS // len(way))
    for share, size in zip(shares.split(parts), sizes.split(parts), strict=True):
        points = subject.baseline + share[:, None, None] * way
        total += torch.einsum("n,njs->js", size, directional_gradients(subject, points, way))
    return subject.by_unit(total)


def directional_gradients(subject: Subject, points: Tensor, direction: Tensor) -> Tensor:
    """Return the products (N, J, S) of the gradients of f at points (N, S, E) and a direction.

    direction: (S, E). cuDNN is off because its recurrent layers have no gradients in evaluation.
    """
    with torch.enable_grad(), torch.backends.cudnn.flags(enabled=False):
        points = points.detach().requires_grad_()
        log_probs = subject.log_probs(points)
        rows = []
        for one in log_probs.unbind(1):
            (gradient,) = torch.autograd.grad(one.sum(), points, retain_graph=True)
            rows.append((gradient * direction).sum(-1))
    return torch.stack(rows, 1)
