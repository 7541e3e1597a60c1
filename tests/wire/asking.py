"""Asking a model once, as a run does, and looking for a key where none may be."""

from __future__ import annotations

import asyncio
import logging
import traceback
from collections.abc import Callable
from typing import Any

import pytest

from michelangelo.errors import ProviderError
from michelangelo.models import Completion, Request, open_model
from michelangelo.scoring.outcome import status_without_score

SENTINEL = "sentinel-" + "0123456789abcdef" * 2
ASK: Any = ({"role": "user", "content": "Say 7."},)


def ask(name: str, *, messages: Any = ASK, limit: int = 1024, timeout_s: float = 20.0, times: int = 1) -> Completion:
    """Ask so many times, one after the other; the last reply."""
    model: Any = open_model(name)

    async def asking() -> Completion:
        try:
            for repeat in range(times):
                completion: Completion = await model.complete(Request(messages, limit, repeat, timeout_s))
            return completion
        finally:
            await model.close()

    return asyncio.run(asking())


def fails(name: str, **how: Any) -> ProviderError:
    """The error that asking ends with."""
    with pytest.raises(ProviderError) as caught:
        ask(name, **how)
    return caught.value


def status(completion: Completion, sent: float | None = None) -> str:
    """What a row would say before any parsing."""
    return status_without_score(completion, sent) or "ok"


def leaks(caplog: pytest.LogCaptureFixture, act: Callable[[], Any]) -> list[str]:
    """Where the sentinel key shows up when something is done: names of places; every logger at DEBUG."""
    named = [logging.getLogger(name) for name in list(logging.root.manager.loggerDict)]
    before = [(logger, logger.level) for logger in named]
    for logger in named:
        logger.setLevel(logging.NOTSET)
    said: list[str] = []
    try:
        with caplog.at_level(logging.DEBUG):
            try:
                said.append(repr(act()))
            except Exception as error:
                said += ["".join(traceback.format_exception(error)), repr(error), str(vars(error))]
    finally:
        for logger, level in before:
            logger.setLevel(level)
    assert caplog.records  # or nothing was listened to
    found = [f"log of {r.name}" for r in caplog.records if SENTINEL in r.getMessage() + str(vars(r))]
    return found + [text for text in said if SENTINEL in text]
