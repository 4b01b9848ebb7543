"""``attn describe``: describe the rows, write the texts."""

from __future__ import annotations

from dataclasses import dataclass

from attncli.options.fields import command
from attncli.options.line_task import LineCommand


@command
@dataclass(frozen=True)
class DescribeCommand(LineCommand):
    """Describe rows of numbers: one line in, one text out.

    Example:
      attn describe -m runs/numbers "0.1 -0.9 1.2"
    """

    task = "describe"
