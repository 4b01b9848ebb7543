"""Check of the translator to which `attn align train` adds an alignment layer. Imports no torch."""

from __future__ import annotations

from pathlib import Path

from attncli.training.settings.corpora import CorpusConfig
from models.base.errors import ModelError, unknown_name
from models.storage.settings import family_of, read_settings


def check_translator(folder: Path, languages: str) -> None:
    """Raise ModelError for a model that is not a text Transformer, or has other languages.

    languages: of source and target, such as en-fr; a model of a single direction names none.
    """
    stored = read_settings(folder)
    if (family := family_of(stored)) != "transformer":
        raise ModelError(
            f"{folder} of family {family}", "a text Transformer", "choose another --start-from"
        )
    source, target = CorpusConfig(languages).sides
    known = stored["tokenizer"].get("languages") or (source, target)
    trained = stored["tokenizer"].get("directions") or directions_of(source, target)
    for language in (source, target):
        if language not in known:
            raise unknown_name(f"language of the files for {folder}", language, known)
    for way in directions_of(source, target):
        if way not in trained:
            raise ModelError(
                f"{folder} was not trained from {way.replace('-', ' to ')}",
                "a translator of both directions, or one without languages",
                "choose another --start-from",
            )


def directions_of(source: str, target: str) -> tuple[str, str]:
    """Return both directions of two languages, such as en-fr and fr-en."""
    return f"{source}-{target}", f"{target}-{source}"
