"""The table of annexes: parts that the core works without, and what each adds to the tables.

An annex is a folder, or a few files, and one row here. The core asks a table for a name and
imports the place then; it imports no annex by itself. Without the row and the files of an annex,
its names are unknown, and all else works (tests/test_annexes.py).
"""

from __future__ import annotations

from pkgutil import resolve_name
from typing import Any

from models.core.errors import ModelError

AnnexRow = dict[str, dict[str, str]]  # places, as module:name or module, by table and name

ANNEXES: dict[str, AnnexRow] = {
    "documents": {
        "document": {
            "formats": "attncli.documents.formats",
            "names": "attncli.documents.formats:NAMES",
            "translation": "attncli.documents.translation",
        },
        "tags": {"reader": "attncli.documents.tags", "writer": "attncli.documents.place"},
        "endpoint": {
            "POST /translate_file": "attncli.serve.documents:translate_file",
            "GET /download_file/{token}/{name}": "attncli.serve.documents:download_file",
        },
        "service text": {"html": "attncli.serve.documents:translated_html"},
    },
    "speech": {
        "task": {"transcribe": "attncli.transcribe:TASK"},
        "family": {
            "listen-attend-spell": "models.speech.config:ListenAttendSpellConfig",
            "speech-transformer": "models.speech.config:SpeechTransformerConfig",
        },
        "source": {"audio": "models.speech.config:AudioSource"},
        "published": {
            "whisper": "models.importers.whisper:Whisper",
            "faster-whisper": "models.importers.whisper_files:FasterWhisper",
            "openai-whisper": "models.importers.whisper_files:OpenAIWhisper",
        },
        "explained": {"transcribe": "attncli.transcribe.explained:of_transcript"},
        "endpoint": {
            "POST /transcribe": "attncli.serve.transcripts:transcribe",
            "POST /v1/audio/transcriptions": "attncli.serve.transcripts:transcriptions",
        },
    },
    "serve": {"command": {"serve": "attncli.serve.command:ServeCommand"}},
    "bulk": {"command": {"bulk": "attncli.bulk.command:bulk"}},
    "several inputs": {
        "family": {
            "multi-source": "models.several_inputs.config:MultiSourceConfig",
            "multi-source-transformer": "models.several_inputs.config:MultiSourceTransformerConfig",
        },
        "combination": {
            "flat": "models.several_inputs.combinations:Flat",
            "hierarchical": "models.several_inputs.combinations:Hierarchical",
        },
        "source": {"rows": "models.several_inputs.config:RowSource"},
        "training": {"rows": "attncli.several_inputs.source:RowTraining"},
    },
    "compare": {"command": {"models compare": "attncli.compare.command:CompareCommand"}},
    "importers": {
        "importer": {
            "hub": "models.importers.hub",
            "files": "models.importers.base",
            "heads": "attncli.importers.heads",
        }
    },
    "align train": {
        "command": {"align train": "attncli.align_train.command:align_train"},
        "aligner": {"tables": "models.align_train.tables", "hmm": "models.align_train.hmm"},
    },
    "fine-tuning": {
        "start": {
            "model": "attncli.fine_tuning.start:ModelStart",
            "settings": "attncli.fine_tuning.settings",
            "replay": "attncli.fine_tuning.replay",
        }
    },
    "processes": {
        "world": {
            "several": "attncli.processes.several:open_several",
            "launch": "attncli.processes.several:launch",
        }
    },
    "loggers": {
        "logger": {
            "tensorboard": "attncli.loggers.trackers:TensorBoardLogger",
            "wandb": "attncli.loggers.trackers:WandbLogger",
            "mlflow": "attncli.loggers.trackers:MlflowLogger",
        }
    },
}
# in listings, names of annexes behind another; those of the same row follow, all others are last
BEHIND = {"listen-attend-spell": "captioner-transformer", "audio": "image", "whisper": "vit-gpt2"}


def entries(table: str) -> dict[str, str]:
    """Return what the annexes add to a table: places by name."""
    return {name: place for row in ANNEXES.values() for name, place in row.get(table, {}).items()}


def with_entries(table: str, places: dict[str, str]) -> dict[str, str]:
    """Return a table with what the annexes add, at the end or behind a name of BEHIND."""
    found = [*places.items()]
    for row in ANNEXES.values():
        added = [*row.get(table, {}).items()]
        behind = BEHIND.get(added[0][0], "") if added else ""
        at = [*dict(found)].index(behind) + 1 if behind else len(found)
        found[at:at] = added
    return dict(found)


def find_part(table: str, name: str) -> Any:
    """Import and return what an annex adds to a table under a name; None without that annex."""
    place = entries(table).get(name)
    return resolve_name(place) if place else None


def need_part(table: str, name: str, found: str) -> Any:
    """Import and return what an annex adds to a table; a ModelError without that annex.

    found: what the user asked for.
    """
    part = find_part(table, name)
    if part is None:
        raise ModelError(found, f"an attn with the part {name} of {table}", "install attn again")
    return part
