"""Names of opened models."""

from __future__ import annotations

from pathlib import Path

import pytest

from attncli.jobs.loading import model_names


@pytest.mark.parametrize(
    ("folders", "names"),
    [
        (["runs/en-de"], ["en-de"]),
        (["runs/en-de", "runs/rnn"], ["en-de", "rnn"]),
        (["x/none/seed-1", "x/dot/seed-1"], ["none", "dot"]),
        (
            ["x/none/seed-1", "x/dot/seed-1", "x/dot/seed-2"],
            ["none/seed-1", "dot/seed-1", "dot/seed-2"],
        ),
        (["x/a", "x/a"], ["x/a", "x/a"]),
        (["x/a", "x/b/x/a"], ["x/a", "x/b/x/a"]),
    ],
)
def test_models_are_named_by_the_parts_of_their_paths_that_differ(
    folders: list[str], names: list[str]
) -> None:
    assert model_names([Path(folder) for folder in folders]) == names
