"""Lexical shortlists of a bundle, and their safetensors file.

common     (F,) target tokens that every output may contain, sorted
rows       (V, N) further target tokens for each source token, most probable first, then PAD
unseen     (U,) source tokens that the sentence pairs did not contain; missing in older files

A multilingual model has one shortlist per target language, as common.de, rows.de and unseen.de.
`models.alignment.shortlist` makes them, `models.inference.search.shortlist` searches with them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import torch
from torch import Tensor

from models.base.errors import DamagedError
from models.base.files import write_bytes
from models.base.types import VocabularySizes
from models.storage.digests import check_digests, read_digests, write_files
from models.storage.settings import SHORTLIST
from models.text.tokenizer import END, PAD


class Shortlist(NamedTuple):
    """Target tokens to which a search is limited: common ones, and some for each source token."""

    common: Tensor  # (F,) sorted; the first are PAD to END
    rows: Tensor  # (V, N) none of the common ones; PAD in place of a missing one
    unseen: Tensor = torch.zeros(
        0, dtype=torch.long
    )  # (U,) source tokens of which nothing is known

    def covers(self, source: Sequence[int]) -> bool:
        """Return True if the sentence pairs contained all tokens of a source."""
        return not torch.isin(torch.tensor(source), self.unseen).any()


Shortlists = Mapping[str, Shortlist]  # by target language; "" for a model of one direction


def shortlist_bytes(shortlists: Shortlists) -> bytes:
    """Return the content of the file."""
    from safetensors.torch import save

    return save(
        {
            f"{name}.{language}" if language else name: part.int().contiguous()
            for language, one in shortlists.items()
            for name, part in one._asdict().items()
        }
    )


def write_shortlists(shortlists: Shortlists, folder: Path) -> None:
    """Write the file into a bundle, and its digest if the bundle has digests."""
    content = shortlist_bytes(shortlists)
    if read_digests(folder):
        write_files(folder, {SHORTLIST: content})
    else:
        write_bytes(folder / SHORTLIST, content)


def read_shortlists(folder: Path, sizes: VocabularySizes) -> Shortlists:
    """Return the shortlists of a bundle; none if it has no such file.

    Raises DamagedError if the file cannot be read, or does not fit the vocabularies.
    """
    from safetensors import SafetensorError
    from safetensors.torch import load

    path = folder / SHORTLIST
    if not path.exists():
        return {}
    check_digests(folder, [SHORTLIST])
    try:
        found = from_tensors(load(path.read_bytes()))
        for one in found.values():
            check(one, sizes)
    except (OSError, SafetensorError, ValueError, KeyError, RuntimeError) as error:
        raise _damaged(path, error) from None
    return found


def read_sizes(folder: Path) -> dict[str, tuple[int, int]]:
    """Return the number of common and of further tokens per source token, by target language.

    Reads only the header of the file; none if the bundle has no such file. Raises DamagedError.
    """
    from safetensors import SafetensorError, safe_open

    path = folder / SHORTLIST
    if not path.exists():
        return {}
    try:
        with safe_open(path, "pt") as file:
            names = file.keys()
            shapes = {name: file.get_slice(name).get_shape() for name in names}
        return {
            name.partition(".")[2]: (shape[0], shapes[name.replace("common", "rows", 1)][1])
            for name, shape in shapes.items()
            if name.startswith("common")
        }
    except (OSError, SafetensorError, LookupError) as error:
        raise _damaged(path, error) from None


def _damaged(path: Path, error: Exception) -> DamagedError:
    return DamagedError(
        f"{path} is damaged ({error})",
        "a file written by `attn models shortlist`",
        "make it again, or remove it",
    )


def from_tensors(tensors: dict[str, Tensor]) -> dict[str, Shortlist]:
    """Return the shortlists of stored tensors."""
    found: dict[str, Shortlist] = {}
    known: set[str] = set()
    for name in tensors:
        first, _, language = name.partition(".")
        if first == "common":
            ending = f".{language}" if language else ""
            names = [f"{part}{ending}" for part in Shortlist._fields]
            needed = len(names) - (names[-1] not in tensors)  # an older file has no unseen tokens
            found[language] = Shortlist(*(tensors[name].long() for name in names[:needed]))
            known.update(names)
    if not known >= set(tensors):
        raise ValueError("unknown parts")
    return found


def check(shortlist: Shortlist, sizes: VocabularySizes) -> None:
    """Raise ValueError unless a shortlist fits the vocabularies and names no token twice."""
    common, rows, unseen = shortlist
    first = torch.arange(END + 1)
    if common.dim() != 1 or not common[: END + 1].equal(first) or int(common[-1]) >= sizes.target:
        raise ValueError("common tokens")
    if not bool((common[1:] > common[:-1]).all()):
        raise ValueError("common tokens in another order")
    if rows.dim() != 2 or len(rows) != sizes.source:
        raise ValueError("rows of another vocabulary")
    if rows.numel() and not (int(rows.min()) >= PAD and int(rows.max()) < sizes.target):
        raise ValueError("a token that is not in the vocabulary")
    if unseen.dim() != 1 or (
        unseen.numel() and not 0 <= int(unseen.min()) <= int(unseen.max()) < sizes.source
    ):
        raise ValueError("an unseen token that is not in the vocabulary")
    is_common = torch.zeros(sizes.target, dtype=torch.bool)
    is_common[common] = True
    if bool((is_common[rows] & (rows != PAD)).any()):
        raise ValueError("a common token in a row")
