"""Score translations against references: read the test set, translate it, compute the scores."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from json import dumps
from pathlib import Path

from attncli.data import corpus
from attncli.data.tables import row_pairs
from attncli.faithful.checks import check
from attncli.jobs import loading
from attncli.jobs.loading import model_names
from attncli.options.shared import read_outputs, save_outputs
from attncli.render.rows import columns, scores_as_json, scores_as_text
from attncli.scoring.score import System
from attncli.scoring.sequences import references_by_output
from attncli.scoring.translations import (
    EvaluationSet,
    Scoring,
    buckets_of,
    evaluate_systems,
    has_short_references,
    metrics,
)
from attncli.terminal.messages import Messages, ShowProgress, counted, one_line
from attncli.translate.engine import TranslateOptions
from attncli.translate.runner import TranslateRunner
from attncli.translate.writers import OutputReport
from models.text.normalise import nfc


def evaluate_texts(
    files: Sequence[Path],
    *,
    models: Sequence[Path] = (),
    hypotheses: Sequence[Path] = (),
    source: Path | None = None,
    scoring: Scoring | None = None,
    step: int = 0,
    save: Path | None = None,
    options: TranslateOptions | None = None,
    target: str = "target",
) -> tuple[list[System], EvaluationSet]:
    """Score the translations of models, and of other programs; return the test set, too.

    files: source and references, or one TSV file; references alone if there are no models.
    hypotheses: files of outputs. source: the source for scores by length, if there are no models.
    step: also score by source length, in ranges of so many words. save: file for the outputs of
    each model; `{model}` in its name is replaced by that of the model. target: column of the
    references, if models read rows of several inputs. Raises ModelError for files that do not fit
    together.
    """
    scoring, options = scoring or Scoring(), options or TranslateOptions()
    metrics(scoring)  # report a missing tokenizer before any work
    if not models and not source and len(files) > 1:
        source, files = _sides(files, hypotheses, options.messages)
    test_set = _test_set(files, models, source, target)
    count = len(test_set.references[0])
    others = [System(path.name, read_outputs(path, count)) for path in hypotheses]
    if has_short_references(test_set, scoring):
        options.messages.warn(
            "most references have fewer than 4 tokens, so BLEU (which counts sequences of 4) "
            "means little; compare exact match and error rate"
        )
    systems = [*_translated(models, test_set, options, save), *others]
    _warn_of_tokens(systems, scoring, options.messages)
    return evaluate_systems(systems, test_set, scoring, step), test_set


def check_texts(files: Sequence[Path], *, json: bool, messages: Messages) -> str:
    """Return the checks that translations fail: a line for each, as TSV or JSON.

    files: source and translation, or a TSV file of both. The number of failures is a message.
    """
    pairs = [(pair.source, pair.references[0]) for pair in corpus.read_pairs(files)]
    found = [(n, one) for n, pair in enumerate(pairs, 1) for one in check(*pair)]
    failed = len({number for number, _ in found})
    messages.say(f"{failed:,} of {counted(len(pairs), 'translation')} fail a check")
    if json:
        records = ({"line": number, **one._asdict()} for number, one in found)
        rows = (dumps(record, ensure_ascii=False) for record in records)
    else:
        rows = ("\t".join((str(number), *one)) for number, one in found)
    return "".join(f"{row}\n" for row in rows)


def _sides(
    files: Sequence[Path], hypotheses: Sequence[Path], messages: Messages
) -> tuple[Path | None, Sequence[Path]]:
    """Return the source, if the first file is one, and the references; say what was decided."""
    if corpus.is_source(files[0], files[1:], hypotheses):
        messages.say(
            f"{files[0]} is the source, not a reference: its words are not those of the outputs"
        )
        return files[0], files[1:]
    messages.say(f"all {len(files)} files are references, because no model translates a source")
    return None, files


def _warn_of_tokens(systems: Sequence[System], scoring: Scoring, messages: Messages) -> None:
    """Warn of outputs that are tokenised already, if the scores tokenise them again."""
    for system in systems:
        tokenised = sum(text.endswith(" .") for text in system.hypotheses)
        if scoring.tokenize == "13a" and tokenised >= 100:
            messages.warn(
                f"{system.name} looks tokenised already; -s scores.tokenize=none scores it as it is"
            )


def _test_set(
    files: Sequence[Path], models: Sequence[Path], source: Path | None, target: str
) -> EvaluationSet:
    """Read the files in the form that the models need, or as references without models."""
    if inputs := loading.row_inputs(models):
        rows = list(row_pairs(files, inputs, target))
        return EvaluationSet([row for row, _ in rows], [[nfc(text) for _, text in rows]])
    return evaluation_set(corpus.read_pairs(files)) if models else read_references(files, source)


def evaluation_set(pairs: Iterable[corpus.CorpusPair]) -> EvaluationSet:
    """Return sources with their references."""
    pairs = list(pairs)
    return EvaluationSet([pair.source for pair in pairs], corpus.reference_columns(pairs))


def read_references(files: Sequence[Path], source: Path | None = None) -> EvaluationSet:
    """Read references, and the source if its file is given.

    files: a file for each reference, or one table of sources and references: a file whose first
    line has several columns.
    """
    rows = list(corpus.aligned([*filter(None, [source]), *files]))
    if len(rows[0]) == 1 and corpus.separator_of(rows[0][0]) in rows[0][0]:
        table = corpus.table_rows(files[0], (line for [line] in rows))
        return evaluation_set(corpus.CorpusPair(text, tuple(others)) for text, *others in table)
    columns = [list(column) for column in zip(*rows, strict=True)]
    return EvaluationSet(columns[0], columns[1:]) if source else EvaluationSet([], columns)


def translate_test_set(
    name: str,
    sources: Sequence[str],
    runner: TranslateRunner,
    *,
    references: Sequence[Sequence[str]] = (),
    advance: ShowProgress = lambda done, note="": None,
) -> System:
    """Translate a test set. references: of each source; loops that they have are not reported."""
    start = time.perf_counter()

    def show(done: int, total: int) -> None:
        advance(done, f"{counted(done, 'sentence')}, {done / (time.perf_counter() - start):,.1f}/s")

    outcomes = runner.results(sources, on_batch=show)
    seconds = time.perf_counter() - start
    hypotheses = [nfc(one_line(each.text)) for each in outcomes]  # as references are read
    report = OutputReport(references)
    list(report.messages(outcomes))
    notes = (*(each.note for each in outcomes if each.note), *report.totals())
    return System(name, hypotheses, seconds, notes)


def _translated(
    folders: Sequence[Path], test_set: EvaluationSet, options: TranslateOptions, save: Path | None
) -> Iterator[System]:
    """Translate with each model; save its outputs before the next model is opened."""
    sources, references = test_set.sources, references_by_output(test_set.references)
    for name, folder in zip(model_names(folders), folders, strict=True):
        runner = TranslateRunner.open([folder], options)
        with options.messages.progress(f"translating, {name}", total=len(sources)) as advance:
            system = translate_test_set(
                name, sources, runner, references=references, advance=advance
            )
        for note in system.notes:
            options.messages.warn(f"{name}: {note}")
        save_outputs(save, name, system.hypotheses)
        yield system._replace(read=runner.model.read_mode)


def translation_scores(systems: Sequence[System], references: int, *, json: bool = False) -> str:
    """Return the scores, and those by source length, as tables or JSON."""
    count = len(systems[0].hypotheses)
    if json:
        return scores_as_json({"sentences": count, "references": references}, systems, "sentences")
    head = f"{counted(count, 'sentence')}, {counted(references, 'reference')}"
    tables = [_length_table(systems)] if buckets_of(systems[0]) else []
    return scores_as_text(head, systems, "sentences", tables)


def _length_table(systems: Sequence[System]) -> str:
    """Return a row for each range of source lengths: BLEU and length ratio of each system."""
    rows = [["words", "sentences"]]
    for system in systems:
        name = f"{system.name} " if len(systems) > 1 else ""
        rows[0] += [f"{name}BLEU", f"{name}ratio"]
    for row in zip(*map(buckets_of, systems), strict=True):
        ends = dict.fromkeys((row[0].shortest, row[0].longest))
        cells = ["–".join(map(str, ends)), f"{row[0].sentences:,}"]
        for bucket in row:
            cells += [f"{bucket.bleu:.2f}", f"{bucket.ratio:.3f}"]
        rows.append(cells)
    return columns(rows)
