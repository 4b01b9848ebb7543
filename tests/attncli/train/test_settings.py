"""Settings: from files and the command line into one configuration, and back."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest
import torch

from attncli.caption import features as image_features
from attncli.train.command import default_folder
from attncli.train.command_line import settings, spread
from attncli.train.configuration import run_config
from attncli.train.display import Stop, memory_advice, stopping
from attncli.train.folder import differences
from attncli.train.job import check_buildable, train
from attncli.training.config import RunConfig, TrainConfig, from_toml, read_run_config, to_toml
from attncli.training.sources import training_source
from attncli.translate._settings import TextData
from models.core.config import ImageConfig
from models.core.errors import ModelError
from models.core.registry import source_name
from models.engines.captioner import Captioner
from models.networks.config import CaptionerConfig
from models.networks.image_encoder import ImageEncoder
from models.storage import installed
from models.storage.installed import BOX, DEFAULTS
from models.storage.presets import PRESETS, model_config
from tests.attncli.command_line import Attn, flags
from tests.attncli.training.small import SMALL, write_texts
from tests.attncli.training.small_captions import Files


@pytest.mark.parametrize("preset", PRESETS)
def test_toml_gives_back_what_was_written(preset: str) -> None:
    texts = {"train": ['odd "name"\\ü.en', "b"], "dev": ["c", "d"]}
    images = {"images": 'odd "name"\\ü.tar', "captions": "b", "dev_captions": "c"}
    labels = {"labels": 'odd "name"\\ü.tsv', "dev_labels": "b"}
    rows = {"train": ['odd "name"\\ü.tsv'], "target": "t"}
    sounds = {"audio": 'odd "name"\\ü.tar', "transcripts": "b", "augment": {"join": "1-6"}}
    data = {
        **{"text": texts, "image": images, "labelled_text": labels, "rows": rows},
        "audio": sounds,
    }
    config = run_config(preset, {"data": data.get(source_name(model_config(preset).family), {})})
    text = to_toml(config)
    assert read_run_config(from_toml(text, "x")) == config
    assert "# peak learning rate\nlr = " in text


def test_assignments_go_over_the_file_and_the_file_over_the_preset(tmp_path: Path) -> None:
    (tmp_path / "run.toml").write_text(
        'preset = "rnnsearch-small"\n[train]\nlr = 0.25\nwarmup = 3\n[data]\ntrain = ["a", "b"]\n'
    )
    config = settings(
        [tmp_path / "run.toml"], [], None, ["train.warmup=4", "model.attention.score=dot"]
    )
    assert config.preset == "rnnsearch-small" and config.model.family == "rnnsearch"
    assert (config.train.lr, config.train.warmup) == (0.25, 4)
    assert config.model.attention.score == "dot"
    assert config.data.train == (str(Path.cwd() / "a"), str(Path.cwd() / "b"))
    other = settings([tmp_path / "run.toml", Path("c"), Path("d")], [Path("e.tsv")])
    assert [Path(p).name for p in other.data.train] == ["c", "d"]
    assert [Path(p).name for p in other.data.dev] == ["e.tsv"]


def test_without_data_the_demonstration_is_the_preset() -> None:
    assert settings([]).preset == "demo"
    assert settings([Path("a"), Path("b")]).preset == RunConfig.preset
    assert settings([], [], None, ["data.train=a,b"]).preset == RunConfig.preset


@pytest.mark.parametrize("option", ["data.train={}", "--corpus"])
@pytest.mark.parametrize("more", [(), ("--dry-run",)])
def test_a_run_that_would_never_end_is_refused(
    option: str, more: tuple[str, ...], tmp_path: Path, attn: Attn
) -> None:
    """Early stopping needs a dev set, which few pairs do not have."""
    table = write_texts(tmp_path).train
    given = (option, f"en-de={table}") if option == "--corpus" else ("-s", option.format(table))
    words = ["train", "-p", "transformer-nano", *given, "-o", tmp_path / "run"]
    words += flags((*SMALL, "train.steps=0", "train.epochs=0"))
    assert "no dev set has a gain to wait for; expected an end" in attn(*words, *more, status=1).err
    assert not (tmp_path / "run" / "data").exists()
    stops = ("data.dev_share=0.5", "train.patience=1", "train.lr=1e-9")
    ended = attn(*words, *more, *flags(stops))
    assert more or "no gain in 1 evaluation" in ended.err


def test_files_become_absolute_and_may_move_but_settings_may_not_change(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    changes = ["data.images=a", "data.captions=b", "data.regions=c", "train.attention.regions=1"]
    found = []
    for name in ("one", "other"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "b").write_text("a.png\ta dog\n")
        monkeypatch.chdir(tmp_path / name)
        changes.append(f"train.seed={len(changes)}")
        found.append(settings([], [], "show-attend-tell-soft-nano", changes))
        assert found[-1].data.regions == str(tmp_path / name / "c")
    assert differences(*found) == ["train.seed was 5, now 4"]


# which files are dev files
@pytest.mark.parametrize(
    "line, expected",
    [
        ("a b --dev c d -o x", "a b --dev c --dev d -o x"),
        ("--dev c d a b", "--dev c --dev d --dev a --dev b"),
        ("--dev c d -o x a b", "--dev c --dev d -o x a b"),
        ("--dev c --dev d a", "--dev c --dev d --dev a"),
        ("--dev=c a b", "--dev=c a b"),
        ("a b --dev c -- d", "a b --dev c -- d"),
        ("a b", "a b"),
    ],
)
def test_dev_takes_what_follows(line: str, expected: str) -> None:
    assert spread(line.split()) == expected.split()


# signals, memory
def test_a_second_signal_does_not_wait() -> None:
    stop = Stop()
    assert not stop()
    stop.ask(signal.SIGINT, None)
    assert stop() and stop.status == 130
    with pytest.raises(KeyboardInterrupt):
        stop.ask(signal.SIGINT, None)


def test_handlers_are_put_back() -> None:
    before = signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)
    with stopping() as stop:
        assert signal.getsignal(signal.SIGTERM) == stop.ask
    assert before == (signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM))


@pytest.mark.parametrize(
    "error",
    [
        RuntimeError("CUDA out of memory. Tried to allocate 2.00 GiB"),
        RuntimeError("MPS backend out of memory"),
        RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried to allocate 9 bytes"),
        MemoryError(),
    ],
)
def test_exhausted_memory_says_what_to_lower(error: Exception) -> None:
    advice = r"lower train.batch_tokens \(now 777\), or raise train.shards \(now 2\).*-o"
    with (
        pytest.raises(ModelError, match=advice),
        memory_advice(TrainConfig(batch_tokens=777, shards=2)),
    ):
        raise error


def test_other_errors_stay_what_they_are() -> None:
    with pytest.raises(RuntimeError, match="do not fit"), memory_advice(TrainConfig()):
        raise RuntimeError("shapes do not fit")


def test_a_run_without_a_name_is_called_after_its_data() -> None:
    text = training_source("seq2seq")
    named = TextData(train=("/x/en-de.tsv.gz",))
    assert default_folder(text, named, (), "seq2seq") == Path("runs/en-de-seq2seq")
    assert default_folder(text, TextData(), (), "seq2seq") == Path("runs/demo")


SHIPPED = BOX / DEFAULTS["caption"]
with_photos = pytest.mark.skipif(not SHIPPED.exists(), reason="photos is not in the box")


def chosen(files: Files, preset: str, encoder: str = "", *changes: str) -> RunConfig:
    images = {"images": files.images, "captions": files.train}
    network = [f"model.image.encoder={encoder}"] if encoder else []
    return settings([], [], preset, [*network, *changes], inputs=images)


@with_photos
def test_the_default_network_is_that_of_the_shipped_captioner() -> None:
    config = CaptionerConfig(image=ImageConfig(size=64))
    encoder, stored = ImageEncoder(config), Captioner.read(SHIPPED).encoder.body
    encoder.load_pretrained()
    for name, parameter in stored.named_parameters():
        assert torch.equal(encoder.body.get_parameter(name), parameter), name
    earlier = ImageConfig(size=64, grid="blocks.17.expand")  # the papers' grid is an inner layer
    inner = ImageEncoder(CaptionerConfig(image=earlier))
    inner.load_pretrained()
    assert all(torch.equal(p, stored.get_parameter(n)) for n, p in inner.body.named_parameters())


@pytest.mark.parametrize(
    ("preset", "encoder", "expected"),
    [
        ("show-attend-tell-soft-small", "resnet50", ("", 224, "DEFAULT")),
        ("show-attend-tell-soft-small", "vgg19", ("", 224, "DEFAULT")),
        ("show-attend-tell-soft-small", "small-cnn", ("", 64, "none")),
        ("show-attend-tell-soft-nano", "mobilenet-edgetpu", ("", 224, "DEFAULT")),
        ("show-attend-tell-soft", "mobilenet-edgetpu", ("blocks.17.expand", 224, "DEFAULT")),
        ("show-attend-tell-soft", "patches", ("", 224, "DEFAULT")),
    ],
)
def test_a_network_brings_its_grid_size_and_weights(
    files: Files, preset: str, encoder: str, expected: tuple[str, int, str]
) -> None:
    option = chosen(files, preset, encoder)
    setting = chosen(files, preset, "", f"model.image.encoder={encoder}")
    image = option.model.image
    assert option == setting and (image.grid, image.size, image.weights) == expected
    if encoder not in ("resnet50", "vgg19"):  # which need torchvision
        check_buildable(option)


def test_explicit_settings_override_those_of_the_network(files: Files) -> None:
    changes = ("model.image.size=96", "model.image.grid=16")
    image = chosen(files, "show-attend-tell-soft", "patches", *changes).model.image
    assert (image.size, image.grid) == (96, "16")


def test_missing_weights_are_reported_before_images_are_read(
    files: Files, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(installed, "BOX", tmp_path)
    monkeypatch.setattr(image_features, "open_images", lambda path: pytest.fail("read"))
    config = chosen(files, "show-attend-tell-soft-small")
    with pytest.raises(ModelError, match="photos is missing.*model.image.weights=PATH"):
        list(train(config, tmp_path / "run", device="cpu", progress=lambda *progress: None))
    weights = f"model.image.weights={tmp_path / 'absent.npz'}"
    config = chosen(files, "show-attend-tell-soft-small", "", weights)
    with pytest.raises(ModelError, match=r"absent\.npz is missing"):
        list(train(config, tmp_path / "run", device="cpu", progress=lambda *progress: None))
