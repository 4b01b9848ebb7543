"""`attn train` for captions as a program: killed at any moment, and what it says."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from attncli.training.run.command_line import ImageOptions, settings
from tests.attncli.training.small import assert_same, outcome, run
from tests.attncli.training.small_captions import PATCHES, SMALL, Files, write_images
from tests.forks import Program
from tests.integration.test_train import ended, has, wait_until

pytestmark = pytest.mark.skipif(os.name != "posix", reason="signals")
MORE = ("train.checkpoint_minutes=0", "train.ema=0.9", "train.average=2", "train.steps=30")


def started(files: Files, folder: Path, cache: Path) -> Program:
    assigned = [*SMALL, *PATCHES, *MORE, f"data.features={cache}"]
    flags = [part for setting in assigned for part in ("-s", setting)]
    data = ["--images", files.images, "--captions", files.train, "--dev", files.dev]
    named = ["-p", "show-attend-tell-hard-nano", "-o", folder, "--threads", "1"]
    return Program(["train", *map(str, [*data, *named]), *flags])


@pytest.mark.slow  # test_train.py kills a translator's run
def test_killed_at_any_moment_it_ends_as_an_unbroken_run(tmp_path: Path) -> None:
    files = write_images(tmp_path)
    images = ImageOptions(files.images, files.train, files.dev)
    assigned = [*SMALL, *PATCHES, *MORE, f"data.features={tmp_path / 'one'}"]
    config = settings([], [], "show-attend-tell-hard-nano", assigned, images=images)
    run(config, tmp_path / "unbroken")
    broken, cache = tmp_path / "broken", tmp_path / "two"
    moments: list[Callable[[], bool]] = [
        lambda: any(cache.glob("*/rows.bin")),  # while features are computed
        has(broken / "log.jsonl", '"step": 5,'),
        has(broken / "log.jsonl", '"step": 17,'),
    ]
    for moment in moments:
        process = started(files, broken, cache)
        wait_until(moment, process)
        process.kill()
        process.communicate()
    assert "kept: " in ended(started(files, broken, cache), 0)
    left, right = outcome(broken), outcome(tmp_path / "unbroken")
    assert left["files"] == right["files"]
    assert_same(broken, tmp_path / "unbroken")
    rows = [next(place.glob("*/rows.bin")).read_bytes() for place in (tmp_path / "one", cache)]
    assert rows[0] == rows[1]
