"""The folder in which the command lines of the documentation run, and the files that they name.

Data and bundles are those of tests/fixtures/small.
"""

from __future__ import annotations

import json
import lzma
import shutil
import subprocess
import zipfile
from pathlib import Path

from attncli.data.embedded import generate
from attncli.transcribe import tones
from models.core.use_config import SearchConfig, TokenizerConfig
from models.networks.bundle import Bundle, build, save, sizes_of
from models.storage.installed import BOX
from models.text.tokenizer import Tokenizer
from tests.attncli.files import write
from tests.attncli.labels import write_toy
from tests.docs.pages import MISSING, ROOT
from tests.fixtures.small import FILES
from tests.models.small import small_config

ROW_PRESET, SPEECH_PRESET = "multi-source-nano", "listen-attend-spell-nano"
TINY = (
    *("model.embedding=16", "model.hidden=16", "model.encoder_layers=1", "model.decoder_layers=1"),
    *("train.steps=2", "train.batch_tokens=200", "tokenizer.size=330", "search.method=greedy"),
    *("search.max_extra=2", "search.max_ratio=0.2", "train.samples=0"),
)
SMALL = " ".join(f"-s {value}" for value in TINY)


def write_workplace(folder: Path, classifier: Path) -> None:
    """Write the files and models that the documentation names.

    classifier: the folder of a trained classifier, copied to runs/intents.
    """
    pairs = [line.split("\t") for line in (FILES / "train.tsv").read_text("utf-8").splitlines()]
    for name in ("train", "val", "test", "dev", "mine", "in", "letter", "distilled", "more"):
        rows = pairs if name in ("train", "mine", "distilled") else pairs[:4]
        for language, column in (("en", 0), ("de", 1), ("fr", 1)):
            text = "".join(f"{row[column]}\n" for row in rows)
            (folder / f"{name}.{language}").write_text(text, "utf-8")
    shutil.copy(FILES / "train.tsv", folder)
    shutil.copy(FILES / "dev.tsv", folder / "pairs.tsv")
    last = [f"1-1 {len(source.split())}-{len(target.split())}\n" for source, target in pairs[:4]]
    for name in ("gold.talp", "dev.talp"):  # links to last words show that words count from 1
        (folder / name).write_text("".join(last))
    (folder / "links").write_text("0-0 1-1\n" * 4)
    (folder / "links.txt").write_text("0-0 1-1\n" * len(pairs))
    for language in ("en", "de"):
        (folder / f"{language}.vec").write_text(f"a {' '.join(['0.1'] * 300)}\n")
    for name in ("own.vocab", "terms.txt"):
        (folder / name).write_text("the\ndog\nangiography\n")
    (folder / "corpus").mkdir()
    shutil.copy(folder / "in.en", folder / "corpus")
    write_documents(folder)
    write_images(folder)
    write_runs(folder / "runs")
    write_rows(folder)
    write_speech(folder)
    shutil.copytree(classifier, folder / "runs" / "intents")
    for name in ("intents", "dev-intents", "test-intents"):
        write_toy(folder / f"{name}.tsv", 60, seed=len(name))
    (folder / "letter.txt").write_text("Where do you live?\nCall me.\n", "utf-8")
    (folder / "mixed.txt").write_text("The dog is old.\nDer Hund ist alt.\n", "utf-8")


def write_documents(folder: Path) -> None:
    """Write a document of each format, with a sentence."""
    text = "A dog runs."
    documents = {
        "terms.tsv": "dog\tHund\n",
        "film.srt": f"1\n00:00:01,000 --> 00:00:02,000\n{text}\n",
        "page.md": f"# {text}\n",
        "page.html": f"<p>{text}</p>\n",
        "products.csv": f"id,name,note\n1,{text},{text}\n",
        "messages.json": f'{{"save": "{text}"}}\n',
        "reviews.jsonl": f'{{"id": "a", "text": "{text}"}}\n',
        "app.po": f'msgid "{text}"\nmsgstr ""\n',
    }
    for name, content in documents.items():
        (folder / name).write_text(content, "utf-8")
    xml = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
    body = f"<w:p><w:r><w:t>{text}</w:t></w:r></w:p>"
    packed = {
        "report.docx": ("word/document.xml", f'<w:document xmlns:w="{xml}">{body}</w:document>'),
        "book.epub": ("a.xhtml", f"<p>{text}</p>"),
    }
    for name, (inner, content) in packed.items():
        with zipfile.ZipFile(folder / name, "w") as archive:
            archive.writestr(inner, content)


def write_images(folder: Path) -> None:
    """Write photos/, photo.jpg, images.tar and files of captions."""
    from PIL import Image

    shutil.copytree(FILES / "images", folder / "photos")
    (folder / "docs/gallery").mkdir(parents=True)
    shutil.copy(ROOT / "docs/gallery/scene.png", folder / "docs/gallery")
    first = sorted((folder / "photos").iterdir())[0]
    for path in (folder / "photo.jpg", folder / "photos" / "a.jpg"):
        Image.open(first).convert("RGB").save(path)
    subprocess.run(["tar", "cf", folder / "images.tar", "-C", FILES / "images", "."], check=True)
    shutil.copy(FILES / "captions.tsv", folder / "captions.tsv")
    shutil.copy(FILES / "dev_captions.tsv", folder / "dev.tsv")
    rows = (FILES / "captions.tsv").read_text("utf-8").splitlines()
    other = "".join("\t".join(row.split("\t")[:2]) + "\n" for row in rows)
    (folder / "other.tsv").write_text(other, "utf-8")


def write_rows(folder: Path) -> None:
    """Write tables of rows of several inputs, and the model runs/edits."""
    texts = ["source\tdraft\ttarget", *["A dog runs.\tEin Hund.\tEin Hund rennt."] * 20]
    rows = ["source\tpicture\ttarget", *["A dog.\ta.jpg\tEin Hund."] * 20]
    record = {"source": "A dog runs.", "draft": "Ein Hund."}
    for name, lines in (("edits.tsv", texts), ("dev-edits.tsv", texts), ("scenes.tsv", rows)):
        write(folder / name, lines)
    (folder / "edits.jsonl").write_text(json.dumps(record) + "\n", "utf-8")
    tokenizer, config = Tokenizer.read(FILES / "bundles/rnnsearch"), small_config(ROW_PRESET)
    model = build(config, sizes_of(tokenizer, config.family))
    search = SearchConfig(method="greedy", max_ratio=0.2, max_extra=2)
    (folder / "runs/edits").mkdir()
    save(Bundle(model, tokenizer, TokenizerConfig(), search), folder / "runs/edits")


def write_speech(folder: Path) -> None:
    """Write wavs/, memo.wav, talk.flac, tables of transcripts, and the model runs/speech."""
    import soundfile

    (folder / "wavs").mkdir()
    for name, melodies in zip(
        ("spoken", "dev-spoken"), tones.split(12, 2, 0, seed=1), strict=False
    ):
        rows = []
        for number, each in enumerate(melodies):
            (folder / "wavs" / f"{name}{number}.wav").write_bytes(each.wav)
            rows.append(f"{name}{number}.wav\t{each.text}\n")
        (folder / f"{name}.tsv").write_text("".join(rows))
    shutil.copy(folder / "wavs" / "spoken0.wav", folder / "memo.wav")
    soundfile.write(folder / "talk.flac", *soundfile.read(folder / "memo.wav"))
    tokenizer, config = Tokenizer.read(FILES / "bundles/rnnsearch"), small_config(SPEECH_PRESET)
    model = build(config, sizes_of(tokenizer, config.family))
    (folder / "runs/speech").mkdir()
    save(
        Bundle(model, tokenizer, TokenizerConfig(), SearchConfig(max_ratio=0.2)),
        folder / "runs/speech",
    )


def write_runs(folder: Path) -> None:
    """Copy bundles under the names that the documentation gives them."""
    named = {
        "en-de": "transformer",
        "de-en": "transformer",
        "demo": "transformer",
        "rnn": "rnnsearch",
        "cap": "captioner-soft",
        "cap-hard": "captioner-hard",
    }
    for name, bundle in named.items():
        shutil.copytree(FILES / "bundles" / bundle, folder / name)
    if not MISSING:
        (folder / "multi").symlink_to(BOX / "everyday")
    for name in ("dev.tsv", "test.tsv"):
        shutil.copy(FILES / "dev.tsv", folder / "demo" / name)
    for path in folder.rglob("config.toml"):  # dev.tsv has captions here
        path.write_text(path.read_text("utf-8").replace('"dev.tsv"', '"pairs.tsv"'), "utf-8")


def write_everyday(folder: Path) -> None:
    """Write eng-fra.train.tsv.xz, eng-fra.dev.tsv, eng-fra.test.tsv, notes.txt and terms.tsv."""
    rows = [f"{pair.source}\t{pair.target}\n" for pair in generate(76)]
    (folder / "eng-fra.train.tsv.xz").write_bytes(lzma.compress("".join(rows[:60]).encode()))
    (folder / "eng-fra.dev.tsv").write_text("".join(rows[60:72]), "utf-8")
    (folder / "eng-fra.test.tsv").write_text("".join(rows[72:]), "utf-8")
    (folder / "notes.txt").write_text("The dog sees the car.\nThe forest is old.\n", "utf-8")
    (folder / "terms.tsv").write_text("dog\tchien\n", "utf-8")


LETTERS = {"a": "AE1", "t": "T", "p": "P", "s": "S", "n": "N", "o": "AA1"}  # and their phonemes


def write_pairs(folder: Path) -> None:
    """Write the tables in pairs/ that recipes/sequences.py reads, and abstracts.txt."""
    target = folder / "pairs"
    target.mkdir()
    words = [f"{a}{b}{c}{d}" for a in "tpsn" for b in "ao" for c in "tpsn" for d in ("", "s")]
    write_table(target / "cmudict.train.tsv.xz", [spoken(word) for word in words[8:]])
    several = [*map(spoken, words[:8]), f"{words[0]}\tT AH0 T"]
    write_table(target / "cmudict.dev.tsv.xz", several)
    parses = [f"A {a} ran .\t{a} ( x _ 1 ) AND run . agent ( x _ 2 , x _ 1 )\tkind" for a in words]
    write_table(target / "cogs.train.tsv.xz", parses[8:])
    write_table(target / "cogs.dev.tsv.xz", parses[:8])
    write_table(target / "scan_train_length.tsv.xz", [repeated(number) for number in range(1, 25)])
    texts = [
        f"The {a} is here. It has a {b}.\tA {b}." for a, b in zip(words, words[1:], strict=False)
    ]
    write_table(target / "scitldr.train.tsv.xz", texts[8:])
    write_table(target / "scitldr.dev.tsv.xz", texts[:8])
    (folder / "abstracts.txt").write_text("The tap is here. It has a tan.\n")


def spoken(word: str) -> str:
    """Return a word and its phonemes as a row."""
    return f"{word}\t{' '.join(LETTERS[letter] for letter in word)}"


def repeated(number: int) -> str:
    """Return a command and as many actions as a row."""
    return f"walk {number}\t{' '.join(['I_WALK'] * number)}"


def write_table(path: Path, rows: list[str]) -> None:
    """Write a compressed table."""
    path.write_bytes(lzma.compress("".join(f"{row}\n" for row in rows).encode()))
