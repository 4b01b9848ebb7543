"""A model that answers in capitals, and the command line with it in place of a trained one.

``python -m tests.upper_model translate`` is ``attn translate`` without torch, for the tests of
what stands around the model.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from attncli.options.settings import Options
from models.core.settings import merged
from models.core.types import Hypothesis, Translation
from models.core.use_config import SearchConfig
from models.engines.text_translator import TextTranslator
from models.text.lexicon import FoundForm

if TYPE_CHECKING:
    from typing_extensions import Self


class Upper(TextTranslator):
    """Takes 20 pieces, a word being one for every 10 characters begun.

    reserved: number of its tokens for protected parts.
    """

    max_source_length = 20
    read_mode = through = ""
    languages = ()

    def __init__(self, reserved: int = 0) -> None:
        self.reserved = reserved
        self.search = SearchConfig()
        self.asked: deque[str] = deque(maxlen=100)

    def in_torch(self) -> tuple[Any, ...]:
        """Return this model."""
        return (self,)

    def for_direction(self, to: str = "", source: str = "") -> Self:
        """Return this model."""
        return self

    def is_zero_shot(self, source: str = "") -> bool:
        """Return False."""
        return False

    def source_length(self, text: str) -> int:
        """Pieces and the end mark."""
        return sum(1 + len(word) // 10 for word in text.split()) + 1

    def read_with_entries(
        self, text: str, to: str = "", language: str = ""
    ) -> tuple[list[int], tuple[FoundForm, ...]]:
        """Return no entries, because this model has no lexicon."""
        return [], ()

    def unknown_characters(self, text: str) -> str:
        """Return no characters."""
        return ""

    def is_small(self, word: str) -> bool:
        """Return False, because outputs are in capitals."""
        return False

    def stream(
        self,
        texts: Iterable[str],
        *,
        search: SearchConfig | None = None,
        on_batch: Callable[[int], None] = lambda done: None,
        **options: Any,
    ) -> Iterator[Translation]:
        """Yield each text in capitals; further outputs have exclamation marks."""
        for done, text in enumerate(texts, 1):
            on_batch(done)
            yield self._translation(text, search or self.search)

    def _translation(self, text: str, search: SearchConfig) -> Translation:
        assert text.strip() and self.source_length(text) <= self.max_source_length
        self.asked.append(text)
        outputs = [text.upper() + "!" * rank for rank in range(search.nbest)]
        return Translation(
            text,
            tuple(
                Hypothesis(output, -0.5 - rank, -2.0 - rank, tuple(output.split()), ())
                for rank, output in enumerate(outputs)
            ),
        )


def opened(path: Path, options: Options) -> Upper:
    """Stand in for `TranslateRunner.load`."""
    model = Upper()
    model.search = merged(model.search, options.of("search"))
    return model


if __name__ == "__main__":
    from attncli.shell.app import main
    from attncli.translate.runner import TranslateRunner

    TranslateRunner.load = opened  # type: ignore[assignment]
    main()
