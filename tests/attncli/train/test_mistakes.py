"""Mistakes in a command that trains: each is one line, before anything is written."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.attncli.command_line import Attn
from tests.attncli.labels import write_toy
from tests.attncli.training.kinds import write_rows
from tests.attncli.training.small import write_texts

NANO = "train train.tsv -p transformer-nano"
LABELS = "train --labels labels.tsv -p bilstm-attention-nano"
CAPTIONER = "-p show-attend-tell-soft-nano"
BEGUN = "train train.tsv --start-from grammar-en-de"
RNN = "train train.tsv -p rnnsearch-nano"
CAPTIONS = f"train --images . --captions labels.tsv {CAPTIONER}"
SPOKEN = "train --audio . --transcripts labels.tsv -p listen-attend-spell-nano"
COMPARE = "models compare"
MISTAKES = {  # command: what the line has
    # names and values of settings
    "train -s train.learning_rate=1": "learning_rate",
    "train -s train.bacth_tokens=1": "'bacth_tokens'; did you mean batch_tokens",
    "train -s trian.lr=1": "did you mean train",
    "train -s train.lr": "section.key=value",
    "train -s tokenizer.kind=letters": "unigram, bpe, char, word",
    "train -s train.lr=0": "above 0",
    "train -s train.lr=1e300": "1e+30",
    "train -s train.encoder_lr=1e300": "1e+30",
    "train -s train.self_critical_lr=1e300": "1e+30",
    "train -s train.schedule=cosine": "inverse_sqrt, plateau, constant, linear",
    "train -s model.family=lstm": "family",
    "train -s preset=seq2seq": "--preset",
    "train --start-from grammar-en-de -p demo": "--preset demo with --start-from",
    "train -s start_from=x": "start_from given with -s",
    f"{BEGUN} -s model.embedding=32": "has weights that do not fit these settings",
    f"{BEGUN} -s tokenizer.size=300": "settings that differ from those of the initial model",
    f"{NANO} -s train.schedule=linear -s train.epochs=0": "expected train.minutes, train.steps or",
    f"{NANO} -s train.loggers=nothing": "tensorboard",
    f"{NANO} --dev empty.tsv": "no usable example in the dev set: of ",
    f"{NANO} -s train.freeze=encodr": "unknown part of the model 'encodr'",
    f"{RNN} -s model.attention.score=dot -s model.hidden=33": "equal sizes",
    f"{RNN} -s model.attention.heads=3": "divide evenly",
    f"{RNN} -s model.attention.read=hard -s train.attention.coverage=see": "without soft attention",
    "train -s data.demo_size=900000": "expected at most 9020",
    f"{CAPTIONS} -s data.regions=x -s train.attention.regions=0": "data.regions without train.",
    f"{SPOKEN} -s data.augment.join=3-1": "a range such as 1-6",
    # settings that change nothing in the run
    f"{NANO} -s data.replay=0.5": "data.replay has no effect without corpora with languages",
    "train -p transformer-nano --from en --to de": "--from and --to without training files",
    f"{NANO} -s tokenizer.languages=en,de": "tokenizer.languages has no effect without corpora",
    f"{NANO} -s data.temperature=2": "data.temperature has no effect without corpora with",
    f"{NANO} -s data.demo_size=9": "data.demo_size has no effect without the embedded data",
    f"{NANO} -s train.plateau_patience=3": "has no effect without train.schedule=plateau",
    f"{NANO} -s search.max_caption=9": "has no effect on family transformer",
    f"{NANO} -s model.cell=gru": "has no effect on family transformer; it is read by",
    f"{LABELS} -s search.beam=4": "search.beam has no effect on family classifier",
    f"{LABELS} -s tokenizer.joint=false": "has no effect on family classifier",
    # files
    "train -s data.dev=a,b": "without training files",
    "train -s data.images=a": "data.images without data.captions",
    "train -s data.train=a,b,c": "3 training files",
    f"train none.tsv none.en {CAPTIONER}": "data.train has no effect on captions",
    f"train -s data.captions=a {CAPTIONER}": "expected both; give --images too",
    "train --audio x": "give --transcripts too",
    "train --transcripts x": "give --audio too",
    "train --labels labels.tsv -p transformer-nano": "data.labels has no effect on sentence pairs",
    f"train --labels labels.tsv {CAPTIONER}": "data.labels has no effect on captions",
    "train --images x --captions y -p rnnsearch-nano": "has no effect on sentence pairs",
    "train . -o out": "without config.toml",
    "train a.toml": "cannot read a.toml (No such file",
    "train damaged.toml": "is not TOML (",
    "train latin.toml": "cannot read",
    "train number.toml train.tsv": "a table",
    "train list.toml train.tsv": "a number",
    "train list.toml number.toml": "2 TOML files",
    "train preset.toml -p rnnsearch": "one preset",
    # sentence pairs, and corpora of several languages
    "train --corpus train.tsv": "LANGUAGES[:WEIGHT]=FILE",
    "train --corpus en-de=": "LANGUAGES[:WEIGHT]=FILE",
    "train --corpus en=train.tsv": "two codes",
    "train --corpus en-de-fr=train.tsv": "two codes",
    "train --corpus =train.tsv": "two codes",
    **{
        f"train --corpus en-de:{weight}=train.tsv": "LANGUAGES[:WEIGHT]=FILE"
        for weight in ("", "0", "-1", "x", "inf", "nan")
    },
    "train --corpus en-en=train.tsv": "two languages",
    "train --corpus en-de=train.tsv train.tsv": "one of them",
    "train --corpus en-de=train.tsv -s tokenizer.joint=false": "joint",
    "train --dev-corpus en-de=train.tsv": "without data.corpora",
    "train --corpus en-de=train.tsv --dev-corpus en-xx=none": "a dev corpus 'xx'",
    "train --corpus en-de=a,b,c": "3 files",
    **{
        f"{NANO} -s train.subword_sampling=0.1 -s tokenizer.joint=false -s tokenizer.{kinds}": (
            "subwords of one kind"
        )
        for kinds in ("kind=char", "target_kind=bpe")
    },
    "align train train.tsv --start-from everyday --languages en-ro": "no language 'ro'",
    # labels and rows
    "train --labels empty.tsv -p bilstm-attention-nano": "has no texts",
    f"{LABELS} -s train.metric=bleu": "accuracy, macro_f1 or loss",
    f"{NANO} -s train.metric=accuracy": "metric accuracy for preset",
    f"{LABELS} -s train.attention.coverage=see": "train.attention.coverage for preset",
    f"{LABELS} -s data.noise=0.5": "data.noise has no effect on labelled",
    f"{LABELS} -s train.encoder_from=2": "train.encoder_from has no effect on",
    f"{LABELS} -s data.train=a,b": "data.train has no effect on labelled",
    "train a b -p multi-source-nano": "one table",
    "train -p multi-source-nano": "no files of rows of several inputs; expected one table",
    "train rows.tsv -p multi-source-nano -s data.noise=0.5": "data.noise has no effect on rows",
    "train rows.tsv -p multi-source-nano -s model.inputs=source,draught": "no column 'draught'",
    "train short.tsv -p multi-source-nano": "line 2 has 2 columns; expected 3, as the header",
    # comparisons
    f"{COMPARE} dot -p seq2seq-nano": "variant dot (model.attention.score) for family seq2seq",
    f"{COMPARE} mean -p seq2seq-nano": "variant mean (model.pooling) for family seq2seq",
    f"{COMPARE} small-cnn -p seq2seq-nano": "variant small-cnn (model.image.encoder) for",
    f"{COMPARE} data.noise=0.1": "same data",
    f"{COMPARE} hiden=2": "hidden",
    f"{COMPARE} transformer-nanno": "transformer-nano",
    f"{COMPARE} hidden=x": "whole",
    f"{COMPARE} none {CAPTIONER}": "unknown variant 'none'",
    f"{COMPARE} torchvision {CAPTIONER}": "unknown variant 'torchvision'",
    f"{COMPARE} mean {CAPTIONER}": "variant mean ",
    f"{COMPARE} none -p bilstm-attention-nano": "unknown variant 'none'",
    f"{COMPARE} rnnsearch-nano {CAPTIONER}": "translates texts, in a comparison of captions",
    f"{COMPARE} bilstm-attention-nano": "classifies texts, in a comparison of translations",
    f"{COMPARE} heads=7": "variant heads=7: ",
    f"{COMPARE} dot+coverage=true": "variant dot+coverage=true: ",
    **{f"{COMPARE} --grid {wrong}": "KEY=VALUE" for wrong in ("train.lr", "=1", "train.lr=0.1,")},
    f"{COMPARE} -p multi-source-nano": "no rows; expected files to train on",
    f"{COMPARE} -p multi-source-nano --train rows.tsv --gold rows.tsv": "--gold for rows",
}
USAGE = {  # wrong use of options, which has the usage above the line
    "train --dev train.tsv": "training files come first",
    "train train.tsv --from en": "needs both languages",
    f"{COMPARE} --train a.en a.de dot --dev b": "before the options",
    f"{COMPARE} --test a.tsv": "needs --train, --captions, --labels or --transcripts",
    f"{COMPARE} --captions a.tsv --labels b.tsv": "cannot be combined with --captions",
    f"{COMPARE} --captions a.tsv --test a.tsv b.tsv": "2 files with --captions",
    f"{COMPARE} --captions a.tsv --start-from grammar-en-de": "is compared by translations",
    f"{COMPARE} --gold a.tsv": "needs --train",
    f"{COMPARE} --train a.tsv --gold-index 0": "needs --gold",
}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Change to a folder with the files that the commands name."""
    monkeypatch.chdir(tmp_path)
    write_texts(tmp_path)
    write_toy(tmp_path / "labels.tsv", 9)
    write_rows(tmp_path)
    contents = {
        "short.tsv": b"source\tdraft\ttarget\na\tb\n",
        "empty.tsv": b"\t\n",
        "damaged.toml": b"[train\n",
        "latin.toml": b"\xff",
        "number.toml": b"train = 3",
        "list.toml": b"[train]\nlr = []",
        "preset.toml": b'preset = "seq2seq"',
    }
    for name, content in contents.items():
        (tmp_path / name).write_bytes(content)
    return tmp_path


@pytest.mark.parametrize("command", [*MISTAKES, *USAGE])
def test_a_mistake_is_one_line_and_nothing_is_written(
    command: str, folder: Path, attn: Attn
) -> None:
    before = {path.name for path in folder.iterdir()}
    words = [*command.split(), *(() if "-o" in command.split() else ("-o", "out"))]
    said = attn(*words, status=2 if command in USAGE else 1).err
    assert (MISTAKES | USAGE)[command] in (" ".join(said.split()) if command in USAGE else said)
    lines = [line for line in said.splitlines() if not line.startswith("attn: line 1")]
    assert command in USAGE or (lines[-1].startswith("attn: ") and said.endswith("\n"))
    assert not list((folder / "out").glob("*/*")) and before >= {
        path.name for path in folder.iterdir() if path.name != "out"
    }
