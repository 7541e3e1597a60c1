"""Replies kept between runs: a question that was answered before isn't paid for twice.

A reply is found by everything that decides it: the model's canonical name with its settings and address, the messages
as they are sent, the output limit, the request's settings and which repeat it is. Only replies with a score are kept.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from michelangelo.errors import MichelangeloError, UserError
from michelangelo.lsq.files import replacing
from michelangelo.models.model import Completion, Model, Request

CACHED = "cached"
"""Flag of a row whose reply came from the cache: it cost nothing and took no time that says anything."""


def is_cached(flags: object) -> bool:
    """Whether a row's reply came from the cache."""
    return isinstance(flags, list) and CACHED in flags


_KEPT = ("text", "finish_reason", "prompt_tokens", "completion_tokens", "reasoning_tokens", "reasoning")


class ReplyCache:
    """A folder of replies, one file each, which appear whole and never change; several runs may share it.

    Raises:
        UserError: where the folder can't be made.
    """

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise UserError(f"cache folder {self.folder} can't be made: {error.strerror}") from None

    def find(self, model: Model, request: Request, digest: str) -> Completion | None:
        """The reply to a question asked before, or ``None``.

        Args:
            model: who is asked.
            request: what is asked.
            digest: sha256 of the messages as they are sent.
        """
        try:
            stored = json.loads(self._path(model, request, digest).read_text(encoding="utf-8"))
            kept = {name: stored[name] for name in _KEPT}
            flags = tuple(stored["flags"])
        except (OSError, ValueError, KeyError, TypeError):
            return None
        return Completion(**kept, flags=(*flags, CACHED), cost_usd=0.0, attempts=0)

    def keep(self, model: Model, request: Request, digest: str, completion: Completion) -> None:
        """Keep a reply that was scored; one from the cache is there already."""
        path = self._path(model, request, digest)
        if CACHED in completion.flags or path.exists():
            return
        values = asdict(replace(completion, flags=()))
        stored: dict[str, Any] = {name: values[name] for name in _KEPT}
        stored |= {"flags": list(completion.flags), "model": model.name}
        with contextlib.suppress(OSError, MichelangeloError):  # a full disk must not cost the row
            path.parent.mkdir(exist_ok=True)
            with replacing(path) as temporary:
                temporary.write_text(json.dumps(stored), encoding="utf-8", errors="backslashreplace")

    def _path(self, model: Model, request: Request, digest: str) -> Path:
        settings = sorted(request.settings.items())
        address = os.environ.get(f"{model.provider.upper()}_BASE_URL", "")  # one in the name is part of the name
        key = [model.name, address, digest, request.max_output_tokens, request.repeat, settings]
        name = hashlib.sha256(json.dumps(key).encode()).hexdigest()
        return self.folder / name[:2] / f"{name}.json"
