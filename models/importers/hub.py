"""Models of the Hugging Face hub: only the files that are needed, checked, in the hub's own cache.

The package huggingface_hub fetches and resumes them; HF_ENDPOINT, HF_HOME, HF_TOKEN and
HF_HUB_OFFLINE have their usual meaning. Without network, a model that is in the cache is used.
"""

from __future__ import annotations

import errno
import os
import re
from importlib import import_module
from pathlib import Path
from typing import Any

from models.core.errors import (
    ConfigurationError,
    DamagedError,
    ModelError,
    NotFoundError,
    ResourceError,
)
from models.importers._weights import PICKLED, SAFE
from models.storage.digests import file_digest

NAME = re.compile(r"[A-Za-z0-9][\w.-]*/[\w.-]+")
WANTED = re.compile(
    r"(config|generation_config|tokenizer|tokenizer_config|special_tokens_map|added_tokens"
    r"|preprocessor_config|vocab|target_vocab|((shared|source|target)_)?vocabulary)\.json"
    r"|((shared|source|target)_)?vocabulary\.txt|vocab\.txt|merges\.txt|.*\.spm|sentencepiece.*\.model"
    r"|README\.md|model\.bin"
)
SHARDS = re.compile(r"model(-\d+-of-\d+)?\.safetensors(\.index\.json)?")
DISK = (errno.ENOSPC, errno.EDQUOT, errno.EACCES, errno.EROFS)  # faults of the own disk
CARRY = "config.json, generation_config.json, README.md, the tokenizer's files and the weights"


def is_hub_name(source: str) -> bool:
    """Return True for a name of the hub, such as Helsinki-NLP/opus-mt-en-de."""
    return bool(NAME.fullmatch(source)) and not Path(source).exists()


def fetch(name: str, revision: str = "") -> Path:
    """Return a folder with the needed files of a model of the hub; fetch those that are missing.

    revision: branch, tag or commit; the default is the main branch. Raises ModelError in one line
    for a model that does not exist or is gated, without network, and for a file that is damaged.
    """
    try:
        hub = import_module("huggingface_hub")
    except ImportError:
        raise ConfigurationError(
            f"{name} is a name of the Hugging Face hub, whose package is missing",
            "the package huggingface_hub",
            f"pip install -e '.[hub]', or copy a folder with {CARRY} here and give its path",
        ) from None
    errors = import_module("huggingface_hub.errors")
    endpoint = os.environ.get("HF_ENDPOINT") or None
    try:
        found = hub.HfApi(endpoint=endpoint).model_info(
            name, revision=revision or None, files_metadata=True
        )
        return _fetched(hub, name, revision, found)
    except errors.GatedRepoError:
        raise ModelError(
            f"{name} is gated: its publisher asks users to accept terms",
            "a token that may read it",
            f"accept them at https://huggingface.co/{name}, then set HF_TOKEN",
        ) from None
    except (errors.RepositoryNotFoundError, errors.RevisionNotFoundError):
        at = f" at revision {revision}" if revision else ""
        raise NotFoundError(f"the hub has no model {name}{at}", "owner/name") from None
    except errors.HFValidationError as error:
        raise NotFoundError(f"{name} is no name of the hub ({error})", "owner/name") from None
    except (OSError, errors.HTTPError) as error:
        return _without_network(hub, name, revision, error)


def _fetched(hub: Any, name: str, revision: str, found: Any) -> Path:
    options = {"revision": revision or None, "endpoint": os.environ.get("HF_ENDPOINT") or None}
    files = {each.rfilename: each for each in found.siblings}
    safe = [file for file in files if SHARDS.fullmatch(file)]
    chosen = [file for file in files if WANTED.fullmatch(file)]
    chosen += safe or [file for file in files if file == PICKLED]
    if not safe and not {PICKLED, "model.bin"} & {*files}:
        raise NotFoundError(f"{name} has no weights that are known", f"{SAFE} or {PICKLED}")
    for file in chosen:
        path = Path(hub.hf_hub_download(name, file, **options))
        expected = getattr(files[file].lfs, "sha256", None)
        if expected and file_digest(path) != expected:
            # the cache's blob too, or the next fetch finds the damaged file again
            path.resolve().unlink()
            path.unlink(missing_ok=True)
            raise DamagedError(
                f"{file} of {name} differs from its digest", "the file of the hub", "fetch it again"
            )
    return path.parent


def _without_network(hub: Any, name: str, revision: str, error: Exception) -> Path:
    """Return the folder of a model in the cache; raise ModelError for other errors."""
    if isinstance(error, OSError) and error.errno in DISK:
        raise ResourceError(f"cannot store {name}: {error.strerror}", "free space") from None
    try:
        folder = Path(hub.snapshot_download(name, revision=revision or None, local_files_only=True))
    except OSError:
        folder = Path()
    if (folder / "config.json").exists():
        return folder
    reason = (str(error).splitlines() or [type(error).__name__])[0]
    raise ResourceError(
        f"cannot fetch {name} ({reason})",
        "a connection to the hub",
        f"or copy a folder with {CARRY} here, and give its path",
    ) from None
