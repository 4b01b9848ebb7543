"""Gradient times input: the first-order effect of each slot.

r_js = x_s . df_j/dx_s                                       Shrikumar et al. 2017, section 3.1
"""

from __future__ import annotations

from torch import Tensor

from models.explain.subject import Subject, directional_gradients


def gradient_times_input(subject: Subject) -> Tensor:
    """Return the products (J, I) of gradient and input vectors, in nats. Source: as above."""
    found = directional_gradients(subject, subject.vectors[None], subject.vectors)
    return subject.by_unit(found[0])
