"""What a result row is: its fields, its statuses, and which of them carry a score.

One row stands for one model on one instance in one repeat. Published figures are rows too, marked ``aggregate``.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Collection
from dataclasses import dataclass
from typing import Literal

from michelangelo.errors import UserError

Kind = Literal["text", "whole", "number", "truth", "json"]
Details = bool | Collection[str]
"""Which of ``DETAILS`` are wanted: all, none, or those named."""

FIELDS: dict[str, Kind] = {
    "run_id": "text",
    "model": "text",
    "family": "text",
    "provider": "text",
    "task": "text",
    "variant": "text",
    "view": "text",
    "complexity": "whole",
    "filler": "text",
    "instance_id": "text",
    "seed": "whole",
    "repeat": "whole",
    "target_tokens": "whole",
    "context_tokens": "whole",
    "tokenizer": "text",
    "depth": "number",
    "prompt_tokens": "whole",
    "completion_tokens": "whole",
    "reasoning_tokens": "whole",
    "response": "text",
    "extracted": "text",
    "answer": "text",
    "score": "number",
    "scores": "json",
    "postprocessed": "truth",
    "status": "text",
    "finish_reason": "text",
    "error": "text",
    "latency_s": "number",
    "cost_usd": "number",
    "started_at": "text",
    "attempts": "whole",
    "params": "json",
    "tags": "json",
    "flags": "json",
    "michelangelo_version": "text",
}
"""Every field of a result row in order, with the kind of value it holds. Lengths are tokens, ``depth`` and ``score``
lie in 0 to 1, ``latency_s`` is seconds, ``cost_usd`` dollars, ``started_at`` an ISO 8601 time."""

EXTRA: dict[str, Kind] = {
    "source": "text",
    "aggregate": "truth",
    "n": "whole",
    "task_version": "text",
    "scorer_version": "text",
}
"""What may stand beside them: the result set's name, whether the row is somebody's average, of how many samples, and
the versions of the task and of its scorer."""

PROVENANCE: dict[str, Kind] = {
    "source_title": "text",
    "source_url": "text",
    "source_kind": "text",
    "read_from": "text",
    "score_unit": "text",
    "caveat": "text",
}
"""Where a published figure comes from; these columns exist only where a file has them."""

KEPT: dict[str, Kind] = {"options": "json", "previous": "json"}
"""What scoring a row again needs: the options of its question by letter, and earlier judgements, the oldest first.
These columns too exist only where a file has them."""

ALL: dict[str, Kind] = FIELDS | EXTRA | PROVENANCE | KEPT
"""Every column a tidy frame may have, in order."""

MEASURED = frozenset({"ok", "unparsed"})
"""The statuses that carry a score. ``unparsed`` scores 0: the model finished, no answer was recognised."""

STATUSES = (
    "ok",
    "unparsed",
    "output_truncated",
    "prompt_truncated",
    "context_overflow",
    "exceeds_rate_tier",
    "blocked",
    "refused",
    "empty",
    "incomplete_stream",
    "timeout",
    "provider_error",
    "auth_error",
    "quota_exhausted",
    "cancelled",
    "no_reference",
)
"""Every status, decided before any parsing. All but ``MEASURED`` mean *not measured*: no score, never a 0."""

DETAILS = frozenset({"response", "extracted", "answer", "error", "scores", "params", "tags", "tokenizer", *KEPT})
"""The bulky fields that curves don't need."""

REPEATED = (
    *("run_id", "model", "family", "provider", "task", "variant", "view", "filler", "tokenizer", "status"),
    *("finish_reason", "michelangelo_version", "source", "task_version", "scorer_version"),
)
"""Text fields with few distinct values; frames read without all details hold them as categories, a byte or two each."""

LABELS = ("family", "provider", "task", "variant", "view", "filler")
"""Names other than the model's that pages and figures show."""


def left_out(details: Details) -> frozenset[str]:
    """The fields of ``DETAILS`` that aren't wanted.

    Raises:
        UserError: where a name is none of them.
    """
    if isinstance(details, bool):
        return frozenset() if details else DETAILS
    if unknown := sorted({*details} - DETAILS):
        raise UserError(f"details are {', '.join(sorted(DETAILS))}; {unknown[0]!r} is none of them")
    return DETAILS - {*details}


_NOT_MODEL = re.compile(r"[^A-Za-z0-9 ._:/+?=&@()~-]+")
_NOT_LABEL = re.compile(r"[\x00-\x1f\x7f\[\]`$*\\\u200e\u200f\u202a-\u202e\u2066-\u2069]+")


def clean_model(name: str) -> str:
    """A model's name without characters that a page could take for markup; at most 120 characters.

    A longer one ends in a digest of it, so that two names never become one.
    Round brackets and ``~`` stay, because published tables spell names such as ``Llama3.1 (70B)`` with them;
    without square brackets they can't form a link or an image.
    """
    return _cut(" ".join(_NOT_MODEL.sub(" ", name).split()), 120)


def clean_label(name: str) -> str:
    """A task's, family's or variant's name without characters that make Markdown of it; at most 200 characters.

    A longer one ends in a digest of it, so that two names never become one.
    """
    return _cut(_NOT_LABEL.sub(" ", name).strip(), 200)


def _cut(name: str, most: int) -> str:
    """A name of at most so many characters; two that differ only behind them stay two."""
    if len(name) <= most:
        return name
    digest = hashlib.sha256(name.encode(errors="replace")).hexdigest()[:12]
    return f"{name[: most - 14].rstrip()} ~{digest}"


@dataclass(frozen=True, slots=True)
class Problem:
    """Something in a file that could not be taken as it stands.

    Attributes:
        row: line of a JSON lines file, data row of any other, from 1.
        field: the field it is about, ``""`` for the whole row.
        value: what stands there, shortened.
        remedy: what would be right.
        rejected: whether the whole row was left out; else only this value was.
        file: of a folder or archive: the file's name in it.
    """

    row: int
    field: str
    value: str
    remedy: str
    rejected: bool = True
    file: str = ""

    def __str__(self) -> str:
        what = f"{self.field} {self.value}".strip()
        where = f"{self.file}, row {self.row}" if self.file else f"row {self.row}"
        return f"{where}: {what}: {self.remedy}" if what else f"{where}: {self.remedy}"
