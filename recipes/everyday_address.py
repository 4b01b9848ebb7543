"""Training pairs that teach the form of address: you as Sie or du, vous or tu, usted or tú.

    python recipes/everyday_address.py MODEL -o FOLDER --work WORK [--steps 150]

trains the embeddings of the two tokens of address alone, on the corpora that everyday.py wrote into
WORK, and writes the model with the names that `text.address` looks for. In the corpora the tokens
are characters; MODEL has them, or the names. A mean of models, or further training, weakens what
their tokens say; this step brings it back, and the output for a source without a token stays as it
is.

    python recipes/everyday_address.py MODEL --data DIR

counts the forms in the outputs for the first 200 Tatoeba test sentences that say you.

The pairs come from the other corpora. A source whose translation addresses somebody begins with the
token of that form. A fifth of the pairs address nobody and have either token, so that it changes
nothing else; so do pairs into English, which has one form.

Pronouns tell the form. Commands and Spanish verbs often have none: which English words begin a
command, and which Spanish verbs stand beside tú or usted, is counted in the pairs themselves.
"""

from __future__ import annotations

import argparse
import random
import re
from collections import Counter
from pathlib import Path

import torch
from everyday_data import CODES, Pairs, rows

from attncli.translate.engine import LineSettings, TranslateOptions
from attncli.translate.runner import TranslateRunner
from models.networks import bundle
from models.networks.bundle import Bundle
from models.search.batching import pad, teacher_forcing_batch
from models.storage.installed import find_model
from models.text.tokenizer import SPACE, UNKNOWN, Tokenizer
from models.text.vocabulary import CONTROL, USER_DEFINED, added_pieces

FORMAL, INFORMAL = "\ue100", "\ue101"  # in the corpora, in front of a source
TOKENS = {SPACE + FORMAL: "<formal>", SPACE + INFORMAL: "<informal>"}  # names in the model
MARKS = (FORMAL, INFORMAL)
WORDS = {  # whose mean embedding is the first one of a token
    SPACE + FORMAL: ("Sie", "Ihnen", "vous", "votre", "usted"),
    SPACE + INFORMAL: ("du", "dich", "tu", "toi", "tú", "te"),
}
LINES = 60_000  # of each language
INTO_ENGLISH = 10_000
NEUTRAL = 0.2  # share of pairs that address nobody
RATE, BATCH, NEVER = 0.02, 48, -20  # of the tokens; pairs; output bias
SCORED = 200  # sentences
LEAST = 2  # times that a word must stand beside a pronoun, or begin a command
YOU = re.compile(r"\b(you|your|yours|yourself|yourselves)\b", re.IGNORECASE)
OTHERS = re.compile(r"\b(he|she|it|they|his|her|its|their|them|him|who|that)\b", re.IGNORECASE)
WORD = re.compile(r"[^\W\d_]+(?:'[^\W\d_]+)?")
FORMS = {  # patterns of a formal and an informal address
    "de": (
        r"(?<=[\w,;:] )(Sie|Ihnen|Ihr(e[nmrs]?)?)\b",
        r"\b([Dd]u|[Dd]ich|[Dd]ir|[Dd]ein(e[nmrs]?)?|[Ee]uch|[Ee]ur?e[nmrs]?|ihr)\b",
    ),
    "fr": (
        r"\b([Vv]ous|[Vv]otre|[Vv]os)\b|^[A-ZÉ]\w+ez\b",
        r"\b([Tt]u|[Tt]e|[Tt]oi|[Tt]on|[Tt]a|[Tt]es)\b|\b[Tt]'",
    ),
    "es": (
        r"\b([Uu]sted(es)?)\b",
        r"\b([Tt]ú|[Tt]e|[Tt]i|[Cc]ontigo|[Tt]us?|[Vv]osotr[oa]s|[Oo]s|[Vv]uestr[oa]s?)\b",
    ),
}


def addressed(pairs: Pairs, language: str) -> Pairs:
    """Return pairs whose English side begins with the token of the address in the other one."""
    rng = random.Random(f"address {language}")
    marks = [re.compile(pattern) for pattern in FORMS[language]]
    commands, verbs = openings(pairs, marks[0]), spanish_verbs(pairs) if language == "es" else ()
    found: dict[str, Pairs] = {FORMAL: [], INFORMAL: [], "": []}
    for english, other in dict.fromkeys(pairs):
        asked = bool(YOU.search(english))
        if not asked and first_word(english) not in commands:
            found[""].append((english, other))
            continue
        formal, informal = (bool(mark.search(other)) for mark in marks)
        if language == "de" and asked and other.startswith(("Sie ", "Ihre ")):
            formal = not OTHERS.search(english)
        if verbs and not formal and not informal:
            words = {word.lower() for word in WORD.findall(other)}
            informal = bool(words & verbs[1])
            formal = bool(words & verbs[0]) and not informal and not OTHERS.search(english)
        if not asked and not formal and language != "es":
            informal = True  # a command without a pronoun
        if formal != informal:
            found[FORMAL if formal else INFORMAL].append((english, other))
    return sampled(found, rng)


def into_english(pairs: Pairs, language: str) -> Pairs:
    """Return pairs into English whose source begins with either token."""
    rng = random.Random(f"into English {language}")
    chosen = rng.sample(pairs, min(INTO_ENGLISH, len(pairs)))
    return [(f"{rng.choice((FORMAL, INFORMAL))} {other}", english) for english, other in chosen]


def openings(pairs: Pairs, formal: re.Pattern[str]) -> set[str]:
    """Return the English words that begin a command: those of formal ones that do not say you."""
    counts, every = Counter[str](), Counter[str]()
    for english, other in pairs:
        word = first_word(english)
        every[word] += 1
        if english.endswith((".", "!")) and not YOU.search(english):
            counts[word] += bool(formal.search(other))
    return {word for word, n in counts.items() if n >= LEAST and n > every[word] / 10}


def first_word(english: str) -> str:
    """Return the first word of a text; of "Please come" and "Do not come", the first two."""
    words = [word.lower() for word in WORD.findall(english)[:2]]
    return " ".join(words if words[:1] in (["please"], ["don't"], ["do"]) else words[:1])


def spanish_verbs(pairs: Pairs) -> tuple[set[str], set[str]]:
    """Return the words that stand behind usted alone, and behind tú alone."""
    formal, informal = Counter[str](), Counter[str]()
    for _, other in pairs:
        formal.update(word.lower() for word in re.findall(r"\b[Uu]sted (?:no )?(\w+)", other))
        informal.update(word.lower() for word in re.findall(r"\b[Tt]ú (?:no )?(\w+s)\b", other))
    both = {word for word in formal if informal[word] * 4 > formal[word]}
    usted = {word for word, n in formal.items() if n >= LEAST and word not in both}
    tu = {word for word, n in informal.items() if n >= LEAST and formal[word] * 4 < n}
    return {word for word in usted if word + "s" in tu or word + "es" in tu}, tu


def sampled(found: dict[str, Pairs], rng: random.Random) -> Pairs:
    """Return both forms in equal numbers, and pairs that address nobody with either token."""
    each = round(LINES * (1 - NEUTRAL) / 2)
    chosen = Pairs()
    for token in (FORMAL, INFORMAL):
        some = rng.sample(found[token], min(each, len(found[token])))
        chosen += [(f"{token} {english}", other) for english, other in some]
    neutral = rng.sample(found[""], min(round(LINES * NEUTRAL), len(found[""])))
    for english, other in neutral:
        chosen.append((f"{rng.choice((FORMAL, INFORMAL))} {english}", other))
    rng.shuffle(chosen)
    return chosen


def main() -> None:
    """Parse the command line, train the tokens and write the model."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("model", type=Path)
    parser.add_argument("-o", "--output", type=Path)
    parser.add_argument("--work", type=Path)
    parser.add_argument("--steps", type=int, default=150)
    parser.add_argument("--data", type=Path, help="count the forms in outputs, without training")
    options = parser.parse_args()
    if options.data:
        score(find_model(options.model), options.data)
        return
    if not options.output or not options.work:
        parser.error("expected -o and --work, or --data")
    trained = bundle.read(find_model(options.model))
    tune(trained, options.work, options.steps)
    options.output.mkdir(parents=True, exist_ok=True)
    bundle.save(trained._replace(tokenizer=named(trained.tokenizer)), options.output)


def score(model: Path, data: Path) -> None:
    """Print how many outputs have pronouns of the one form alone, of the other, and of both."""
    for code, language in CODES.items():
        path, patterns = data / "tatoeba" / f"eng-{code}.test.tsv", FORMS[language]
        texts = [*dict.fromkeys(row[0] for row in rows(path) if YOU.search(row[0]))][:SCORED]
        for form in ("formal", "informal"):
            options = TranslateOptions(source="en", to=language, text=LineSettings(address=form))
            outputs = TranslateRunner.open(model, options).results(texts)
            found = Counter(
                tuple(bool(re.search(pattern, one.text)) for pattern in patterns) for one in outputs
            )
            print(
                f"{language} {form}: of {len(texts)}, formal {found[True, False]}, "
                f"informal {found[False, True]}, both {found[True, True]}"
            )


def tune(model: Bundle, work: Path, steps: int) -> None:
    """Train the embeddings of the tokens by Adam, at a rate that falls to 0; print the loss."""
    rng, tokenizer = random.Random(1), model.tokenizer
    triples = [
        (language, *pair)
        for language in FORMS
        for pair in rows(work / f"en-{language}.address.tsv")
    ]
    rng.shuffle(triples)
    triples.sort(key=lambda one: len(one[2]) // 12)
    ids = token_ids(tokenizer)
    model.model.requires_grad_(False)
    table = model.model.output.weight.requires_grad_()
    learned = torch.nn.Parameter(table[ids].detach().clone())
    adam = torch.optim.Adam([learned], RATE)
    for step in range(steps):
        adam.param_groups[0]["lr"] = RATE * (1 - step / steps)
        at = rng.randrange(max(1, len(triples) - BATCH))
        sources, targets = [], []
        for language, english, other in triples[at : at + BATCH]:
            first, *others = tokenizer.encode(english[2:], language)
            sources.append([first, ids[MARKS.index(english[0])], *others])
            targets.append(tokenizer.encode_target(other))
        cpu = torch.device("cpu")
        batch = teacher_forcing_batch(*pad(sources, cpu), *pad(targets, cpu))
        table.grad = None
        loss = -model.model.target_log_probs(batch)[batch.target_mask].mean()
        loss.backward()
        learned.grad = table.grad[ids] if table.grad is not None else None
        adam.step()
        with torch.no_grad():
            table[ids] = learned
        if step % 10 == 0:
            print(f"{step}: loss {loss:.4f}", flush=True)
    with torch.no_grad():
        model.model.output.bias[ids] = NEVER  # no output has a token of address


def token_ids(tokenizer: Tokenizer) -> list[int]:
    """Return the ids of the two tokens, of which a vocabulary has the names or the characters."""
    find = tokenizer.source.piece_to_id
    named = [find(name) for name in TOKENS.values()]
    return named if UNKNOWN not in named else [find(token) for token in TOKENS]


def named(learned: Tokenizer) -> Tokenizer:
    """Return a vocabulary whose last tokens, those of address, are control tokens with names.

    One that has the names stays as it is.
    """
    if UNKNOWN not in [learned.source.piece_to_id(name) for name in TOKENS.values()]:
        return learned
    written = added_pieces(b"", [(token, 0.0, USER_DEFINED) for token in TOKENS])
    names = added_pieces(b"", [(name, 0.0, CONTROL) for name in TOKENS.values()])
    assert learned.models[0].endswith(written), "the last tokens are not those of address"
    return Tokenizer(learned.models[0].removesuffix(written) + names)


if __name__ == "__main__":
    main()
