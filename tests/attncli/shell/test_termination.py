"""SIGTERM and SIGHUP; the programs that they end are in tests/integration/test_pipe.py."""

from __future__ import annotations

import signal

import pytest

from attncli.shell.app import GRACE, Termination


def test_only_a_late_second_signal_ends_a_program_during_its_clean_up(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    termination, ended = Termination(), list[str]()
    monkeypatch.setattr(termination, "end_process", lambda: ended.append("by the signal"))
    with pytest.raises(KeyboardInterrupt):
        termination.interrupt(signal.SIGTERM, None)
    termination.interrupt(signal.SIGTERM, None)  # at once, as `timeout` sends it
    assert not ended
    termination.received -= 2 * GRACE
    termination.interrupt(signal.SIGTERM, None)
    assert ended == ["by the signal"]
