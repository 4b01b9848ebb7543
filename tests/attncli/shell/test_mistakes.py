"""Mistakes in the words of a command: one line that names what was found, before the work."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from attncli.task.table import RUNNERS
from tests.attncli.command_line import Attn
from tests.fixtures.small import FILES

HERE = "cannot be used in a bulk job"
CAPTION, TRANSLATOR = "-m {caption} --device cpu", FILES / "bundles/transformer"
SCORED = "evaluate captions captions.tsv"
MISTAKES = [  # words, exit status, what the message says
    ("tranlate x", 2, "'translate'"),
    ("models shwo dot", 2, "'models show'"),
    ("--foo", 2, "no such option: --foo"),
    ("translate --bean 3", 2, "--beam"),
    ("translate -m {text} -i x.en x", 2, "--input"),
    ("translate -i one --input=two", 2, "--input is given 2 times"),
    ("translate -m x -s search.temperature=0.5 x", 1, "without search.method=sample"),
    ("caption a.png -s search.bean=3", 1, "did you mean beam"),
    ("caption a.png -s beam=3", 1, "setting 'beam' without its table; expected search.beam"),
    ("caption a.png -s train.warmup=3", 1, "unknown setting 'train'"),
    ("caption a.png -s search.max_ratio=3", 1, "search.max_ratio', which has no effect"),
    ("caption a.png -s search.beam=0", 1, "search.beam = 0; expected at least 1"),
    ("caption a.png -s search.beam", 1, "the form section.key=value"),
    ("models show transformr", 1, "did you mean transformer"),
    ("models show NOPE", 1, "`attn models` lists all names"),
    ("models show ./none", 1, "no model at none"),
    ("models show .", 1, "config"),
    ("models show a.csv", 1, "a.csv is a file"),
    ("translate -m {text} a.csv", 1, "name of a file"),
    ("translate -m {text} film2.srt", 1, "no file film2.srt; expected text to translate"),
    ("translate -m {text} --align --keep-tags x", 2, "'--align'"),
    ("translate -m {text} --show --keep-tags x", 2, "'--show'"),
    ("translate -m {text} --show --format jsonl x", 2, "'--show'"),
    ("translate -m {text} -i nowhere/in", 1, "cannot read nowhere/in: No such file or directory"),
    ("translate -m {text} -i .", 1, "cannot read .: Is a directory; `attn bulk FOLDER OUT --"),
    ("translate -m {text} -o nowhere/out x", 1, "cannot write nowhere/out: no folder nowhere"),
    ("translate -m {text} -s align.units=char x", 1, "align.units"),
    ("translate -m {text} -i a.csv", 1, "--column and one of id, text"),
    ("translate -m {text} -i a.ipynb", 1, "-s input.format=text translates its lines"),
    ("translate -m {text} -i a.eml", 1, "mail is not read: save its body as FILE.txt"),
    ("translate -m {text} -i a.pdf", 1, "`pdftotext FILE.pdf` writes its text"),
    ("translate -m {text} -i x.en --column text", 2, "the input is text, and this is for csv"),
    ("translate -m {text} -i a.csv --field text", 2, "is csv, and this is for json, jsonl"),
    ("translate -m {text} -i a.csv --column text -n 2", 2, "a document has one output"),
    ("translate -m {text} -i a.csv --column text --align", 2, "a document has one output"),
    ("translate -m {text} -i a.jsonl --field a -s input.keep=b", 2, "cannot be combined"),
    ("translate -m {text} -m {text} -s compute.backend=ctranslate2 x", 1, "several models"),
    ("translate -m {text} -m {text} --precision int8 x", 1, "several models"),
    ("translate -m {text} -m {caption} x", 1, "attn caption"),
    ("translate -m {text} --to de x", 1, "for a model of a single direction"),
    ("translate --to it --from auto x", 1, "unknown target language 'it'"),
    ("translate -m {text} --threads -1 x", 1, "'--threads'"),
    ("translate -m {text} --beam 0 x", 1, "search.beam = 0"),
    ("classify -m {label} -m {label} x", 2, "--model is given 2 times"),
    ("caption -m {caption} -m {caption} a.png", 2, "--model is given 2 times"),
    ("translate -m {text} -i a.srt --into b.srt", 2, "the input is srt, and this is for json"),
    ("classify -m no-model -s picture.lines=1 x", 1, "--show or --picture"),
    ("classify -m no-model -o missing/out x", 1, "no folder missing"),
    ("classify -m no-model --picture missing/a.svg x", 1, "no folder missing"),
    ("classify -m no-model x.en", 1, "expected text to classify"),
    (f"caption {CAPTION} -r . --picture maps.png", 2, "put {name} into its name"),
    (f"caption {CAPTION} a.png --picture maps.bmp", 1, "ending in .png, .svg, .pdf, .html"),
    (f"caption {CAPTION} a.png --picture nowhere/maps.png", 1, "no folder nowhere"),
    (f"caption {CAPTION} a.png --show --format tsv", 2, "cannot be combined with --format tsv"),
    (f"caption {CAPTION} - --sidecar", 2, "no place for text"),
    (f"caption {CAPTION} a.png -s output.overwrite=true", 1, "expected --sidecar"),
    ("caption -m nowhere a.png", 1, "nowhere"),
    (f"caption {CAPTION} a.png -s attention.read_decode=argmax", 1, "attention is not hard"),
    (f"caption {CAPTION} a.png -s search.method=greedy -n 2", 2, "--nbest"),
    (f"caption -m {TRANSLATOR} a.png", 1, "use `attn translate`"),
    ("align --hypotheses x -s align.layer=2", 1, "align.layer without a model"),
    ("align --hypotheses x --reverse-model y", 1, "--reverse-model without a model"),
    ("align -m x a b c", 2, "source and target, or one file of both"),
    ("align -m x --hypotheses y -s align.units=char", 1, "align.units with --hypotheses"),
    ("align -m x --format tiff", 2, "'tiff' is not one of"),
    (
        "align -m x --reverse-model y -s align.flavour=fast_align",
        1,
        "unknown setting in [align] 'flavour'",
    ),
    ("align -m {text} -s align.symmetrise=union x.en x.de", 1, "--reverse-model"),
    ("align -m {text} -s picture.lines=2 x.en x.de", 1, "--show or --picture"),
    ("align -m {text} --show -s picture.lines=0 x.en x.de", 1, "lines such as 1-20,35"),
    ("align -m nothing -o x.doc", 1, "a name ending in"),
    ("align -m nothing --picture x.jsonl", 1, "a name ending in"),
    ("align -m nothing --picture no/x.svg", 1, "no folder"),
    ("align 'The dog ||| Le chien'", 1, "echo 'The dog ||| Le chien' | attn align"),
    ("explain -m {text} x --method atention", 1, "did you mean attention"),
    ("explain -m {text} 'a ||| b' --word 9", 1, "word 9 of an output of 1 words"),
    ("explain -m {text} x --show --format jsonl", 2, "cannot be combined with --format jsonl"),
    ("explain -m {text} x --picture no/folder.svg", 1, "no folder no"),
    ("explain -m {caption} no.jpg --device cpu", 1, "no file no.jpg"),
    ("explain -m {caption} a.png --to de", 1, "does not translate"),
    ("explain -q -m {label} x --method rollout", 1, "no method that the model supports"),
    ("evaluate -m a --nbest 2 x.en x.de", 2, "--nbest"),
    ("evaluate -m a -m b --save x x.en x.de", 2, "{model}"),
    ("evaluate --hypotheses x --save y x.en x.de", 2, "--save"),
    ("evaluate -m a -s lengths.source=x x.en x.de", 1, "with a model, whose first file"),
    ("evaluate -m a -s scores.tokenise=none x.en x.de", 1, "did you mean tokenize?"),
    ("evaluate -m a --plot x.gif x.en x.de", 1, "a name ending in .png, .svg, .pdf"),
    ("evaluate -m a --plot none/x.png x.en x.de", 1, "cannot write none/x.png: no folder none"),
    ("evaluate -m a --save none/x x.en x.de", 1, "cannot write none/x: no folder none"),
    ("evaluate -m {label} x.en x.de", 1, "use `attn evaluate labels`"),
    (f"{SCORED} -m x", 2, "'--images': a model needs them"),
    (f"{SCORED} captions.tsv --hypotheses x", 2, "unexpected extra argument"),
    ("evaluate captions --images x -m x", 2, "missing argument"),
    (f"{SCORED} --hypotheses x --by-length", 2, "--by-length"),
    (f"{SCORED} --hypotheses nowhere", 1, "cannot read nowhere"),
    (f"{SCORED} --images nowhere -m x", 1, "nowhere cannot be read as images"),
    ("bulk a.md out -- translate -m {text}", 1, "for documents: attn translate -i a.md -o out"),
    ("bulk in out", 1, f"-- {'|'.join(RUNNERS)}"),
    ("bulk translate -m en-de in out", 1, f"-- {'|'.join(RUNNERS)}"),
    ("bulk . out -- translate --show", 1, HERE),
    ("bulk . out -- translate -o out", 1, HERE),
    ("bulk . out -- translate -i in", 1, HERE),
    ("bulk . out -- translate --align", 1, HERE),
    ("bulk . out -- translate 'A dog.'", 1, HERE),
    ("bulk . out -- classify --picture words.svg", 1, HERE),
    ("bulk . out -- caption --sidecar", 1, HERE),
    ("bulk . out -- align --hypotheses links", 1, HERE),
    ("bulk . out -- translate -s picture.lines=1", 1, f"picture.lines {HERE}"),
    ("bulk . out -- classify -s picture.lines=1", 1, f"picture.lines {HERE}"),
    ("bulk . out -- align -s picture.lines=1", 1, f"picture.lines {HERE}"),
    ("bulk . out -- caption -s output.overwrite=true", 1, f"output.overwrite {HERE}"),
    ("bulk . out -- align --format svg", 1, "one document"),
    ("bulk . out -- caption --format html", 1, "one document"),
    ("bulk . out -- translate -m {text} -s search.method=greedy -n 2", 2, "--nbest"),
    ("bulk . out -- align -m {text} -m {text}", 2, "--model"),
    ("bulk . out -- transalte", 1, "unknown task"),
    ("transcribe a.wav b.wav --format srt", 1, "one recording"),
    ("models pack {text} m.tar.gz", 1, "NAME.zip"),
]


@pytest.mark.parametrize(("words", "status", "message"), MISTAKES)
def test_a_mistake_is_one_line_that_names_it(
    words: str,
    status: int,
    message: str,
    tiny_bundle: Path,
    soft_captioner: Path,
    toy_classifier: Path,
    photos: Path,
    attn: Attn,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(photos)
    Path("captions.tsv").write_text("a.png\ta dog\n")
    for name in ("x.en", "x.de", "a.csv", "a.ipynb", "a.eml", "a.pdf", "a.jsonl", "a.srt", "a.md"):
        Path(name).write_text("id,text\n1,a\n")
    models = {"text": tiny_bundle, "caption": soft_captioner, "label": toy_classifier}
    for name, folder in models.items():
        words = words.replace(f"{{{name}}}", str(folder))
    ran = attn(*shlex.split(words), status=status, given="")
    assert not ran.out.strip() and message in " ".join(ran.err.split())
    assert status == 2 or len(ran.err.splitlines()) == 1
