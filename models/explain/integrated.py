"""Integrated gradients: the gradient along the line from a baseline to the input.

    r_js = (x_s - b_s) . integral over a from 0 to 1 of df_j/dx_s at b + a (x - b)

The sum over all slots is f(x) - f(b) (completeness). Gauss-Legendre quadrature computes the
integral.
Source: Sundararajan, Taly and Yan 2017, eq. 1 and proposition 1.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from models.explain.subject import MOST_SLOTS, Subject, directional_gradients

STEPS = 32  # points of the quadrature


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
