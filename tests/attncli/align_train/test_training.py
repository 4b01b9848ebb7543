"""`attn align train`: from sentence pairs to a bundle that aligns and translates."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import torch

from attncli.align_train import _run as job
from attncli.align_train._layer import cross_entropy, with_end_mark
from attncli.align_train._run import AlignerRun
from attncli.data.alignments import PairLinks
from attncli.data.embedded import generate
from attncli.scoring.sequences import score_alignments
from attncli.shell.app import run
from models import load
from models.align_train.hmm import link_probabilities
from models.alignment import AlignConfig, align, align_translations, diagonal
from models.alignment.align import statistical_aligner
from models.core.errors import ModelError
from models.engines.translator import Translator
from models.storage.archive import extract_archive, write_archive
from models.text.tokenizer import END
from tests.attncli.command_line import flags
from tests.attncli.files import write
from tests.models.small import pairs

PAIRS = list(generate(240))
TEXTS = [(pair.source, pair.target) for pair in PAIRS]
GOLD = [PairLinks(frozenset(pair.links)) for pair in PAIRS]
SETTINGS = (
    *("model.embedding=32", "model.hidden=32", "model.encoder_layers=1", "tokenizer.size=420"),
    *("model.decoder_layers=2", "train.steps=4", "train.batch_tokens=600"),
    *("train.precision=fp32", "train.metric=loss"),
)
SHIPPED = "grammar-en-de"


def files_of(run: Path) -> list[Path]:
    """Return the files of the sentence pairs beside a run folder."""
    return [run.with_name("text.en"), run.with_name("text.de")]


def write_texts(folder: Path) -> list[Path]:
    """Write the sentence pairs; return the files."""
    paths = files_of(folder / "run")
    for path, side in zip(paths, zip(*TEXTS, strict=True), strict=True):
        write(path, side)
    return paths


def command(files: list[Path], folder: Path, *more: str, settings: bool = True) -> list[str]:
    """Return the command line of a tiny run."""
    options = flags(SETTINGS * settings)
    return ["align", "train", *map(str, files), "-o", str(folder), *options, *more]


def error_rate(translator: Translator) -> float:
    links = [one.links for one in align(translator, TEXTS)]
    return score_alignments(links, GOLD).error_rate


@pytest.fixture(scope="module")
def aligner(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of a finished run that trained its own translator."""
    folder = tmp_path_factory.mktemp("aligner")
    assert run(command(write_texts(folder), folder / "run")) == 0
    return folder / "run"


@pytest.fixture(scope="module")
def added(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of a finished run that took the shipped translator of one direction."""
    folder = tmp_path_factory.mktemp("added")
    more = ("--start-from", SHIPPED)
    assert run(command(write_texts(folder), folder / "run", *more, settings=False)) == 0
    return folder / "run"


def test_the_bundle_translates_as_the_translator_that_it_was_made_from(added: Path) -> None:
    sources = [source for source, _ in TEXTS[:40]]
    before, after = load(SHIPPED, "translate"), load(added, "translate")
    texts = [one.hypotheses[0] for one in after.translate(sources)]
    assert texts == [one.hypotheses[0] for one in before.translate(sources)]
    stored = after.model.state_dict()
    for name, tensor in before.model.state_dict().items():
        assert stored[name].equal(tensor), name


def test_the_bundle_aligns_better_than_its_parts(added: Path) -> None:
    translator = load(added, "translate")
    config = translator.alignment
    assert (config.layer, config.shift, config.statistical) == (3, 1, 0.5)
    found = error_rate(translator)
    floor = [frozenset(diagonal(len(a.split()), len(b.split()))) for a, b in TEXTS]
    assert found < 0.12
    assert found < 0.3 * score_alignments(floor, GOLD).error_rate


def test_weights_are_the_mean_of_directions_and_of_attention_and_statistics(aligner: Path) -> None:
    translator = load(aligner, "translate")
    config = translator.alignment
    assert config.languages == "en-de"
    one_way = replace(config, languages="", statistical=0.0)
    [both] = align(translator, TEXTS[:1])
    [ahead] = align(translator.for_direction("de"), TEXTS[:1], config=one_way)
    [back] = align(translator.for_direction("en"), [TEXTS[0][::-1]], config=one_way)
    [turned] = align(translator.for_direction("en"), [TEXTS[0][::-1]])
    assert translator.statistical is not None
    [table] = link_probabilities(translator.statistical, [(ahead.source, ahead.target)])
    assert table is not None
    attention = (ahead.weights + back.weights.T) / 2
    assert both.weights.allclose((attention + table) / 2, atol=1e-5)
    assert both.weights.allclose(turned.weights.T, atol=1e-5)


def test_other_languages_are_aligned_without_the_statistics(aligner: Path) -> None:
    translator = load(aligner, "translate")
    foreign = replace(translator.alignment, languages="en-fr")
    assert statistical_aligner(translator.for_direction("de"), foreign) is None


def test_a_share_of_statistics_that_a_model_does_not_have_is_refused() -> None:
    translator = load(SHIPPED, "translate")
    with pytest.raises(ModelError, match="no statistical aligner"):
        align(translator, TEXTS[:1], config=AlignConfig(statistical=0.5))


def test_the_command_needs_no_languages(aligner: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["align", "-m", str(aligner), *map(str, files_of(aligner))]) == 0
    found = [set(line.split()) for line in capsys.readouterr().out.splitlines()]
    links = [one.links for one in align(load(aligner, "translate"), TEXTS)]
    assert found == [{f"{i}-{j}" for i, j in pair} for pair in links]


def test_translations_are_aligned_by_the_same_settings(added: Path) -> None:
    translator = load(added, "translate")
    translations = translator.translate([source for source, _ in TEXTS[:5]])
    pairs = [(one.source, one.text) for one in translations]
    found = align_translations(translator, translations)
    assert [one.links for one in found] == [one.links for one in align(translator, pairs)]


def test_a_finished_run_is_left_as_it_is(aligner: Path) -> None:
    """Settings without effect on the weights may change."""
    names = ("model.safetensors", "config.json")
    before = [(aligner / name).stat().st_mtime_ns for name in names]
    assert run(command(files_of(aligner), aligner, "-s", "train.log_every=7")) == 0
    assert [(aligner / name).stat().st_mtime_ns for name in names] == before


def test_another_seed_trains_the_layer_again_on_the_same_translator(added: Path) -> None:
    files = files_of(added)
    before, links = (added / "model.safetensors").read_bytes(), added / "alignment/statistical"
    time = links.stat().st_mtime_ns
    for seed in ("2", "1"):
        more = ("--start-from", SHIPPED, "--seed", seed)
        assert run(command(files, added, *more, settings=False)) == 0
        same = before == (added / "model.safetensors").read_bytes()
        assert same == (seed == "1")
    assert links.stat().st_mtime_ns == time


def test_an_aligner_made_from_an_aligner_equals_it(added: Path, tmp_path: Path) -> None:
    more = ("--start-from", str(added))
    assert run(command(write_texts(tmp_path), tmp_path / "run", *more, settings=False)) == 0
    for name in ("model.safetensors", "statistical.safetensors"):
        assert (tmp_path / "run" / name).read_bytes() == (added / name).read_bytes()


@pytest.mark.parametrize("start", ["added", "aligner"])
def test_a_translator_trained_on_from_an_aligner_still_aligns(
    start: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    aligner: Path = request.getfixturevalue(start)
    files = write_texts(tmp_path)
    table = write(tmp_path / "text.tsv", TEXTS[:60])
    corpus = ["--corpus", f"en-de={table}"] if start == "aligner" else list(map(str, files))
    light = "train.steps=2 train.batch_tokens=600 train.precision=fp32 data.dev_share=0"
    options = flags(light.split())
    folder = tmp_path / "on"
    assert run(["train", *corpus, "--start-from", str(aligner), "-o", str(folder), *options]) == 0
    before, after = load(aligner, "translate"), load(folder, "translate")
    old, new = before.model.state_dict(), after.model.state_dict()
    assert old.keys() == new.keys()
    assert not old["encoder.embedding.weight"].equal(new["encoder.embedding.weight"])
    assert after.alignment == before.alignment
    name = "statistical.safetensors"
    assert (folder / name).read_bytes() == (aligner / name).read_bytes()
    assert error_rate(after) < error_rate(before) + 0.05


@pytest.mark.parametrize(
    ("folder", "more", "said"),
    [
        ("", ("--languages", "de-en"), "other languages"),
        ("", ("-s", "train.batch_tokens=77"), "train.batch_tokens was"),
        ("alignment/translator", (), "no aligner"),
        ("../text.en", (), "text.en is a file"),
        ("../new", ("--start-from", SHIPPED), "leave out -s"),
    ],
)
def test_what_does_not_suit_the_folder_is_refused(
    folder: str, more: tuple[str, ...], said: str, aligner: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = (aligner / "alignment/translator/model.safetensors").read_bytes()
    files = files_of(aligner)
    assert run(command(files, aligner / folder, *more)) == 1
    assert said in capsys.readouterr().err
    assert (aligner / "alignment/translator/model.safetensors").read_bytes() == before


def test_a_command_with_wrong_files_does_not_bind_the_folder(tmp_path: Path) -> None:
    source, target = write_texts(tmp_path)
    shorter, folder = tmp_path / "shorter.de", tmp_path / "run"
    shorter.write_text("Der Hund.\n", "utf-8")
    first = AlignerRun(((str(source), str(shorter)),), "en-de", (), folder)
    with pytest.raises(ModelError, match="as many lines"):
        job.prepare(first, lambda *_: None)
    job.write_stage_inputs(first._replace(files=((str(source), str(target)),)))


def test_a_dry_run_names_the_stages_and_writes_nothing(
    aligner: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = write_texts(tmp_path)
    assert run(command(files, tmp_path / "run", "--dry-run")) == 0
    assert capsys.readouterr().out.count(": to do") == 3
    assert not (tmp_path / "run").exists()
    assert run(command(files, aligner, "--dry-run")) == 0
    assert capsys.readouterr().out.count(": done") == 3


def test_a_packed_aligner_aligns_alike(added: Path, tmp_path: Path) -> None:
    write_archive(added, tmp_path / "a.zip")
    (tmp_path / "a").mkdir()
    extract_archive(tmp_path / "a.zip", tmp_path / "a")
    found = [
        [one.links for one in align(load(folder, "translate"), TEXTS[:9])]
        for folder in (added, tmp_path / "a")
    ]
    assert found[0] == found[1]


def test_the_cross_entropy_of_two_linked_rows_by_hand() -> None:
    weights = torch.tensor([[[0.5, 0.25, 0.25], [0.1, 0.1, 0.8], [0.0, 1.0, 0.0]]])
    targets = torch.tensor([[[0.0, 0.5, 0.5], [0.0, 0.0, 0.0], [0.0, 1.0, 0.0]]])
    torch.testing.assert_close(cross_entropy(weights, targets), -torch.tensor(0.25).log())


def test_a_token_without_links_is_linked_to_the_end_mark() -> None:
    batch = pairs([4, 7, 2], [5, 3, 6])
    weights = torch.zeros(*batch.target_out.shape, batch.source.shape[1])
    weights[0, :, 2], weights[1, 0, 5], weights[2, 3, :2] = 1, 1, 0.5
    weights *= batch.target_mask[:, :, None]
    found = with_end_mark(weights, batch)
    free = batch.target_mask & (weights.sum(-1) == 0) & (batch.target_out != END)
    assert free.any()
    last = batch.source_mask.sum(1) - 1
    for row, step in free.nonzero().tolist():
        assert found[row, step].nonzero().flatten().tolist() == [int(last[row])]
    assert torch.equal(found[~free], weights[~free])
    assert not with_end_mark(torch.zeros_like(weights), batch).any()
