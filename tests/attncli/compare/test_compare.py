"""Comparing variants: names, run folders, rows, continuation; what a comparison calls noise."""

from __future__ import annotations

import csv
import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

from attncli.compare import _runs as compare
from attncli.compare._drawing import WRITERS
from attncli.compare._runs import check_all
from attncli.compare._scores import (
    Noise,
    RunScores,
    from_record,
    noise,
    ranked,
    spread,
    verdict,
)
from attncli.compare._variants import comparison_of, find, variants, with_grid
from attncli.compare.command import ComparedData, base_config
from attncli.render.plots import FORMATS
from attncli.scoring.score import MetricScore
from attncli.train.configuration import run_config
from models.networks.bundle import Bundle, read
from tests.attncli.command_line import Attn, evaluated, flags
from tests.attncli.files import write
from tests.attncli.training.small import SMALL, write_texts
from tests.attncli.training.small import run as train
from tests.attncli.training.small_captions import SMALL as SMALL_IMAGES
from tests.attncli.training.small_captions import Files, small_config

BASE = run_config("rnnsearch-nano", assignments=["model.bidirectional=false", "train.steps=7"])
SETTINGS = flags(SMALL)


def test_names_of_parts_and_settings_are_one_language() -> None:
    named = find("dot+local_p", BASE)
    assert named.config == find("window=local_p + score=dot", BASE).config
    assert named.name == named.folder == "dot+local_p"
    attention = named.config.model.attention
    assert (attention.score, attention.window) == ("dot", "local_p")
    whole = find("model.cell=lstm+heads=4", BASE)
    assert whole.config.model.cell == "lstm"
    assert len(variants(["dot", "score=dot"], BASE, [])) == 1


def test_none_has_the_same_sizes_and_a_preset_the_same_budget() -> None:
    none = find("none", BASE).config.model
    assert none.family == "seq2seq" and none.hidden == BASE.model.hidden
    preset = find("transformer-nano", BASE, ["train.lr=0.1"]).config
    assert preset.model.family == "transformer" and preset.model.heads == 4
    assert preset.train.steps == 7 and preset.train.lr == 0.1 and preset.train.warmup == 400
    timed = replace(BASE, train=replace(BASE.train, steps=0, minutes=2.5))
    assert find("transformer-nano", timed).config.train.minutes == 2.5


def test_any_setting_of_any_family_is_a_variant() -> None:
    transformer = run_config("transformer-nano")
    named = find("lr=0.01+heads=2", transformer)
    assert named.config.model.heads == 2 and named.config.train.lr == 0.01
    assert find("model.heads=2+train.lr=0.01", transformer).config == named.config
    other = find("family=luong+general+heads=2", transformer).config.model
    assert other.family == "luong" and other.attention.score == "general"
    assert other.attention.heads == 2 and not hasattr(other, "heads")
    preset = find("transformer-nano+lr=0.01", BASE, ["train.lr=0.1"])
    assert preset.config.train.lr == 0.01
    assert find("none+lr=0.01", BASE).config.model.family == "seq2seq"


def test_a_grid_is_every_combination() -> None:
    grid = ["train.lr=0.1,0.2", "dropout=0,0.3"]
    assert with_grid([], grid) == [
        "train.lr=0.1+dropout=0",
        "train.lr=0.1+dropout=0.3",
        "train.lr=0.2+dropout=0",
        "train.lr=0.2+dropout=0.3",
    ]
    assert with_grid(["none", "dot"], grid[:1])[1:3] == ["none+train.lr=0.2", "dot+train.lr=0.1"]
    assert with_grid(["dot"], []) == ["dot"]


def test_tables_of_a_comparison_are_complete_in_every_format() -> None:
    rows = [
        RunScores(name, seed, (MetricScore("bleu", bleu),), (), 2.0, None, 1000, 10, 5.0, 1.0)
        for name, seed, bleu in (("a_b", 1, 10.0), ("a_b", 2, 12.0), ("<c|d>", 1, 5.0))
    ]
    markdown, latex = (" ".join(WRITERS[name](rows).split()) for name in ("md", "tex"))
    assert "| a_b | 2 | 11.00 ± 1.41 |" in markdown and "<c\\|d> | 1 | 5.00 |" in markdown
    assert "a\\_b & 2 & 11.00 ± 1.41 &" in latex and latex.count("\\\\") == 3
    assert "Best: a_b" in markdown and "Best: a_b" in latex
    assert all(write([]) == "" or name in ("csv", "json") for name, write in WRITERS.items())


def test_every_variant_of_the_default_list_can_be_built() -> None:
    names = comparison_of(BASE.model.family).variants
    found = variants(names, BASE, [])
    assert [variant.name for variant in found] == list(names)
    compare.check_all(found)


@pytest.mark.usefixtures("drawn")
def test_a_comparison_continues_and_adds(tmp_path: Path, attn: Attn) -> None:
    texts, out = write_texts(tmp_path), tmp_path / "out"
    data = ["--train", str(texts.train), "--dev", str(texts.dev), "--test", str(texts.dev)]
    command = ["models", "compare", "none", "dot", "-o", str(out), "-p", "rnnsearch-nano"]
    data += [*SETTINGS, "-s", "train.steps=2", "-s", "train.evaluate_every=2"]
    first = attn(*command, *data).out
    assert first == (out / "comparison.txt").read_text("utf-8")
    assert "test BLEU" in first and "AER" not in first and "Noise: " in first
    rows = list(csv.DictReader((out / "comparison.csv").open()))
    assert [(row["variant"], row["seed"]) for row in rows] == [
        *(("none", "1"), ("dot", "1"), ("none", "2"), ("dot", "2"))
    ]
    assert len(json.loads((out / "comparison.json").read_text())["variants"]) == 2
    assert (out / "curves.png").exists() and "dev chrF" in first and "dev_chrf" in rows[0]
    assert {path.suffix for path in out.glob("comparison.*")} == {
        *(f".{name}" for name in WRITERS),
        *FORMATS,
    }
    stored = out / "dot" / "seed-1" / "measured.json"
    before = stored.stat().st_mtime_ns
    conversation = attn(*command[:4], "cosine", *command[4:], *data, "--seeds", "1").err
    assert "3 of 3: cosine, seed 1" in conversation and "dot, seed" not in conversation
    assert stored.stat().st_mtime_ns == before
    assert "holds another run" in attn(*command, *data, "-s", "train.steps=1", status=1).err
    command[5] = str(out / "dot" / "seed-1")
    assert "seed-1 holds a run" in attn(*command, *data, status=1).err


def test_a_dry_run_lists_what_is_not_measured_and_writes_nothing(
    tmp_path: Path, attn: Attn
) -> None:
    texts, out = write_texts(tmp_path), tmp_path / "out"
    data = ["--train", str(texts.train), "--dev", str(texts.dev), "-o", str(out)]
    command = ["models", "compare", "-p", "transformer-nano", *data, *SETTINGS, "--seeds", "1"]
    command += ["-s", "train.steps=2"]
    table, said = attn(*command, "heads=2", "heads=4", "--dry-run")
    assert re.search("all runs: (up to )?about .* 2 updates, 1 evaluation, then the scores", said)
    head, *rows, total = table.splitlines()
    assert head.split() == ["variant", "runs", "time"] and total.split()[:2] == ["total", "2"]
    assert [row.split()[:2] for row in rows] == [["heads=2", "1"], ["heads=4", "1"]]
    assert not out.exists()
    assert attn(*command, "heads=2").out.split()[:2] == ["variant", "seeds"]
    said = attn(*command, "--grid", "heads=2,4", "--dry-run").out
    assert "heads=4" in said and "heads=2" not in said
    # nothing is left to train
    table, said = attn(*command, "heads=2", "--dry-run")
    assert table == "" and said.splitlines()[-1] == (
        f"finished before: 1 run; results: {out / 'comparison.txt'}"
    )


def test_a_variant_whose_loss_has_no_perplexity_is_left_out(
    tmp_path: Path, attn: Attn, monkeypatch: pytest.MonkeyPatch
) -> None:
    losses = {"dot": 1.0, "cosine": 800.0}

    def scores(bundle: Bundle, *_: object) -> tuple[float, tuple[MetricScore, ...]]:
        return losses[bundle.model.config.attention.score], (MetricScore("bleu", 1.0),)

    monkeypatch.setattr(compare, "scores", scores)
    command = ["models", "compare", *losses, "-o", str(tmp_path / "out"), "--seeds", "1"]
    said = attn(*command, *SETTINGS, "-s", "data.demo_size=60", "-s", "train.steps=2", status=1)
    assert "cosine is left out: a dev loss of 800" in said.err and "dot" in said.out


def test_the_grammars_links_are_known(tmp_path: Path, attn: Attn) -> None:
    small = [*SETTINGS, "-s", "data.demo_size=60", "-s", "train.steps=2"]
    command = ["models", "compare", "none", "dot", "--seeds", "1", "-o", str(tmp_path / "out")]
    said = attn(*command, *small).out
    [none] = [line for line in said.splitlines() if line.startswith("none ")]
    [dot] = [line for line in said.splitlines() if line.startswith("dot ")]
    assert "AER %" in said and len(none.split()) == len(dot.split()) - 1  # none has no attention
    rows = list(csv.DictReader((tmp_path / "out" / "comparison.csv").open()))
    assert not rows[0]["aer"] and 0 < float(rows[1]["aer"]) < 100
    runs = json.loads((tmp_path / "out" / "comparison.json").read_text())["runs"]
    assert runs[0]["aer"] is None and 0 < runs[1]["aer"] < 100


def test_the_best_by_dev_get_further_seeds(
    tmp_path: Path, attn: Attn, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With a measure that likes cosine best on dev and least on the test set."""
    texts, out = write_texts(tmp_path), tmp_path / "out"
    worth = {"none": 1.0, "dot": 2.0, "cosine": 3.0}

    def measure(run: compare.Planned, *_: object, **__: object) -> RunScores:
        dev, test = (MetricScore("bleu", sign * worth[run.variant]) for sign in (1, -1))
        seed = run.config.train.seed
        return RunScores(run.variant, seed, (dev,), (test,), 1.0, None, 1, 1, 1.0, 1.0)

    monkeypatch.setattr(compare, "measure", measure)
    command = ["models", "compare", *worth, "-o", str(out), "-p", "rnnsearch-nano", "--seeds", "3"]
    data = ["--train", str(texts.train), "--dev", str(texts.dev), "--test", str(texts.dev)]
    words = [*command, *data, *SETTINGS, "-s", "train.steps=1", "--best", "1"]
    table, said = attn(*words, "--dry-run")
    left = [" ".join(line.split()[:2]) for line in table.splitlines()[1:]]
    assert left == [*(f"{name} 1" for name in worth), "total 3"] and not out.exists()
    assert "then 2 runs of further seeds, of the best 1 variant" in said
    said = attn(*words).err
    rows = list(csv.DictReader((out / "comparison.csv").open()))
    assert [(row["variant"], row["seed"]) for row in rows] == [
        *(("none", "1"), ("dot", "1"), ("cosine", "1"), ("cosine", "2"), ("cosine", "3"))
    ]
    assert "5 of 5: cosine, seed 3" in said
    assert not (out / "dot" / "seed-2").exists()


def test_links_of_ones_own_corpus_give_an_error_rate(tmp_path: Path, attn: Attn) -> None:
    """The gold links are those of the dev set, as there is no test set."""
    texts, gold, out = write_texts(tmp_path), tmp_path / "gold.pharaoh", tmp_path / "out"
    pairs = [line.split("\t") for line in texts.dev.read_text("utf-8").splitlines()]
    lines = [
        " ".join(f"{j}-{j}" for j in range(min(len(text.split()) for text in pair)))
        for pair in pairs
    ]
    write(gold, lines)
    command = ["models", "compare", "none", "dot", "--seeds", "1", "-o", str(out)]
    command += ["-p", "rnnsearch-nano", *SETTINGS, "-s", "train.steps=2"]
    data = ["--train", str(texts.train), "--dev", str(texts.dev)]
    attn(*command, *data, "--gold", gold)
    found = {row["variant"]: row for row in csv.DictReader((out / "comparison.csv").open())}
    assert not found["none"]["aer"] and 0 < float(found["dot"]["aer"]) < 100
    write(gold, lines[1:])
    assert "11 sentence pairs" in attn(*command, *data, "--gold", gold, status=1).err
    assert "needs --train" in attn(*command, "--gold", gold, status=2).err


def test_a_measured_run_continues_to_a_raised_limit(tmp_path: Path, attn: Attn) -> None:
    texts, out = write_texts(tmp_path), tmp_path / "out"
    data = ["--train", str(texts.train), "--dev", str(texts.dev), "-o", str(out)]
    command = ["models", "compare", "none", "-p", "rnnsearch-nano", *data, *SETTINGS]
    command += ["--seeds", "1", "-s", "train.log_every=3", "-s"]

    def updates() -> str:
        return next(csv.DictReader((out / "comparison.csv").open()))["updates"]

    attn(*command, "train.steps=2")
    assert updates() == "2"
    raised = [*command, "train.steps=4"]
    assert "none" in attn(*raised, "--dry-run").out
    assert "1 of 1: none, seed 1" in attn(*raised).err and updates() == "4"
    assert "finished before: 1 run" in attn(*raised, "--dry-run").err
    assert "1 of 1" not in attn(*raised, "-s", "train.log_every=7").err  # changes no weights
    before = {path: path.read_bytes() for path in out.rglob("*") if path.is_file()}
    added = [*raised[:2], "dot", *raised[2:]]  # its folder is not created
    for words in ([*raised, "--dry-run"], raised, added):
        said = attn(*words, "-s", "train.lr=0.5", status=1).err
        assert said.count("\n") == 1 and "another -o" in said
        assert re.search(r"seed-1 holds a finished run: train\.lr was 0\.\d+, now 0\.5;", said)
    assert {path: path.read_bytes() for path in out.rglob("*") if path.is_file()} == before


SOFT = "show-attend-tell-soft-nano"
STEPS = 4
CSV = ("variant", "seed", "dev_cider", "dev_bleu4", "dev_rouge_l", "test_cider", "perplexity")


def captioners(files: Files, out: Path, *words: str) -> list[str]:
    """Return a comparison on the images, without a dev set."""
    settings = [*SMALL_IMAGES, "data.dev_share=0.5", f"train.steps={STEPS}"]
    settings += [f"data.features={files.train.parent / 'features'}"]
    data = ["--images", str(files.images), "--captions", str(files.train), "-p", SOFT]
    return ["models", "compare", *words, *data, *flags(settings), "-o", str(out), "--threads", "1"]


def test_reads_and_networks_are_compared_by_cider(files: Files, tmp_path: Path, attn: Attn) -> None:
    """The test scores of a run are those of `attn evaluate captions`."""
    out = tmp_path / "out"
    words = captioners(files, out, "soft", "hard+patches", "--test", str(files.dev), "--seeds", "2")
    table = attn(*words).out
    assert "test CIDEr-D" in table and "test BLEU-4" in table and "AER" not in table
    assert "Noise: " in table and "CIDEr-D" in table.partition("Noise: ")[2]
    assert "hard+patches: hard attention, read by argmax." in table
    rows = list(csv.DictReader((out / "comparison.csv").open()))
    assert [(row["variant"], row["seed"]) for row in rows] == [
        *(("soft", "1"), ("hard+patches", "1"), ("soft", "2"), ("hard+patches", "2"))
    ]
    assert set(CSV) <= rows[0].keys()
    made = [json.loads(path.read_text()) for path in out.rglob("made.json")]
    assert len(made) == 4 and len({str(each["dev"]) for each in made}) == 1  # for every seed
    model = out / "soft" / "seed-2"
    task = ("captions", files.dev, "-m", model, "--images", files.images)
    [found] = evaluated(attn, *task).values()
    assert found["scores"]["CIDEr-D"]["score"] == pytest.approx(float(rows[2]["test_cider"]))
    assert found["scores"]["BLEU-4"]["score"] == pytest.approx(float(rows[2]["test_bleu4"]))


def test_splits_of_one_file_are_dev_and_test(files: Files, tmp_path: Path, attn: Attn) -> None:
    rows = [line.split("\t") for line in files.train.read_text("utf-8").splitlines()]
    splits = ("train", "train", "val", "test")
    images = [
        {"filename": name, "split": splits[n % 4], "sentences": [{"raw": text}]}
        for n, (name, text) in enumerate(dict(rows).items())
    ]
    whole = write(tmp_path / "karpathy.json", json.dumps({"images": images}))
    out = tmp_path / "out"
    named = files._replace(train=whole)
    attn(*captioners(named, out, "soft"), "--seeds", "1")
    [row] = json.loads((out / "comparison.json").read_text())["runs"]
    assert row["test_cider"] is not None and not (out / "dev.tsv").exists()


def test_variants_start_from_the_weights_of_one_model(
    files: Files, tmp_path: Path, attn: Attn
) -> None:
    """A learning rate of almost 0 leaves them as they were."""
    start, out = tmp_path / "start", tmp_path / "out"
    train(small_config(files, "train.steps=2"), start)
    words = [word for word in captioners(files, out, "soft", "hard") if word not in ("-p", SOFT)]
    words += ["-s", "train.lr=1e-12", "--seeds", "1"]
    attn(*words, "--start-from", start)
    weights = read(start).model.state_dict()
    for variant in ("soft", "hard"):
        found = read(out / variant / "seed-1").model
        assert found.config.attention.read == variant
        for name, tensor in found.state_dict().items():
            assert tensor.allclose(weights[name], atol=1e-6), name
    assert "the initial model has changed" in attn(*words, "-p", SOFT, status=1).err
    assert "--preset" in attn(*words, "-p", SOFT, "--start-from", start, status=1).err


def test_soft_and_hard_can_be_compared_by_default() -> None:
    """Without the penalty of the soft preset, which hard attention cannot have."""
    base = base_config(ComparedData(), "show-attend-tell-soft-small", [])
    check_all([find("soft", base), find("hard", base)])
    recipes = ["show-attend-tell-soft-small", "show-attend-tell-hard-small"]
    soft, hard = (find(name, base).config.train.attention for name in recipes)
    assert soft.coverage == "doubly_stochastic" and hard.coverage == "none"


def test_names_of_parts_and_networks_are_settings_of_a_captioner() -> None:
    base = run_config(SOFT)
    found = find("general+patches", base)
    assert found.config.model.attention.score == "general"
    assert found.config.model.image.encoder == "patches"
    assert found.config.model.image.size != base.model.image.size  # that of the network
    assert (
        find("model.image.encoder=resnet50+model.image.size=96", base).config.model.image.size == 96
    )
    hard = find("hard", run_config("captioner-transformer-nano")).config.model
    assert hard.attention.read == "hard"


def test_images_that_are_missing_or_too_few_are_told_before_the_first_run(
    files: Files, tmp_path: Path, attn: Attn
) -> None:
    test, out = tmp_path / "test.tsv", tmp_path / "out"
    test.write_text("none.png\ta red square\n")
    assert "none.png first" in attn(*captioners(files, out, "soft"), "--test", test, status=1).err
    said = attn(*captioners(files, out, "soft"), "-s", "data.dev_share=0.1", status=1).err
    assert "data.dev_share = 0.1 of 44 captions; expected 10 or more" in said
    assert "raise data.dev_share" in said and not list(out.rglob("model.safetensors"))


def row(variant: str, seed: int, bleu: float) -> RunScores:
    dev = (MetricScore("bleu", bleu),)
    return RunScores(variant, seed, dev, (), 5.0, None, 100, 10, 50.0, 2.0)


def test_the_pooled_spread_by_hand() -> None:
    found = noise([[1.0, 3.0], [10.0, 10.0], [4.0]])
    assert found is not None and found.freedom == 2
    assert found.deviation == pytest.approx(1.0)  # ((1 + 1) + 0) / 2, the root
    assert found.margin(2, 2) == pytest.approx(4.30)
    assert Noise(1.0, 20).margin(2, 2) == pytest.approx(2.086, rel=0.01)
    assert noise([[1.0], [2.0]]) is None
    assert spread([1.0, 3.0]).deviation == pytest.approx(2**0.5)


def test_the_best_is_first_and_what_is_near_is_not_told_apart() -> None:
    rows = [row(name, seed, base + seed / 10) for name, base in BASES for seed in (1, 2)]
    assert list(ranked(rows)) == ["dot", "general", "none"]
    said = verdict(rows)
    assert "Best: dot. Not significantly worse: general." in said and "3 degrees" in said
    assert "the standard deviation of dev BLEU between seeds" in said
    alone = [one for one in rows if one.variant != "general"]
    assert verdict(alone).endswith("Best: dot. Significantly worse: all others.")


def test_the_best_is_chosen_on_dev_and_low_scores_are_called_low() -> None:
    """The variant of the better test score is second, because its dev score is lower."""
    rows = [
        row(name, seed, dev + seed / 10)._replace(test=(MetricScore("bleu", test + seed / 10),))
        for name, dev, test in (("dot", 20.0, 15.0), ("general", 15.0, 20.0))
        for seed in (1, 2)
    ]
    assert list(ranked(rows)) == ["dot", "general"]
    said = verdict(rows)
    assert "the standard deviation of test BLEU between seeds" in said
    assert "Best on the dev set: dot. Not significantly worse on the test set: general." in said
    assert "do not tell variants apart" not in verdict(rows)
    low = verdict([row("dot", 1, 9.9), row("none", 1, 3.0)])
    assert "The best dev BLEU is 9.90, below 10" in low


def test_equal_scores_of_all_seeds_measure_no_noise() -> None:
    rows = [row(name, seed, base) for name, base in BASES for seed in (1, 2, 3)]
    said = verdict([*rows, *(row("also dot", seed, 30.1) for seed in (1, 2, 3))])
    assert "Noise: unknown, because dev BLEU is the same for all seeds of each variant" in said
    assert said.endswith("Best: dot. Equal: also dot.") and "0.00" not in said


def test_a_row_is_read_as_it_was_stored() -> None:
    scores = (MetricScore("cider", 0.5), MetricScore("bleu4", 20.0))
    own = RunScores("hard", 2, scores, scores, 5.0, 8.5, 100, 10, 50.0, 2.0, "hard")
    record = own.as_record()
    assert record["dev_cider"] == 0.5 and record["test_bleu4"] == 20.0 and "dev" not in record
    assert from_record(record) == own
    empty = {**row("dot", 1, 30.0).as_record(), "test_bleu": None, "dev_accuracy": None}
    assert from_record(empty) == row("dot", 1, 30.0)
    with pytest.raises(ValueError, match="dev set"):
        from_record({**empty, "dev_bleu": None})


BASES = (("none", 20.0), ("general", 30.0), ("dot", 30.1))
