"""One evaluation instance: its text, what each part of the text is, and what was proved about it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any, NamedTuple, overload

import numpy as np
import numpy.typing as npt

KINDS = ("instruction", "demonstration", "setup", "relevant", "filler", "query")


class Segment(NamedTuple):
    """A span of one message, as character offsets; all segments together cover every message without gap or overlap.

    Attributes:
        kind: one of ``KINDS``.
        message: index of the message the span lies in.
        start: first character.
        end: one past the last character.
        unit: the operation or filler strategy, ``""`` where the part has neither; segments of one unit that stands in
            several places share a name with a number of its own, such as ``cancel:17``.
    """

    kind: str
    message: int
    start: int
    end: int
    unit: str


class Segments(Sequence[Segment]):
    """Segments kept as columns, so that a 1M-token instance costs a few arrays instead of 100,000 objects.

    Attributes:
        kinds: index into ``KINDS``, shape (n,), uint8.
        messages: message index, shape (n,), int32.
        starts: first character, shape (n,), int64.
        ends: one past the last character, shape (n,), int64.
        units: index into ``unit_names``, shape (n,), int32.
        unit_names: the distinct names of units.
    """

    __slots__ = ("ends", "kinds", "messages", "starts", "unit_names", "units")

    def __init__(
        self,
        kinds: npt.ArrayLike,
        messages: npt.ArrayLike,
        starts: npt.ArrayLike,
        ends: npt.ArrayLike,
        units: npt.ArrayLike,
        unit_names: Sequence[str],
    ) -> None:
        self.kinds = np.asarray(kinds, dtype=np.uint8)
        self.messages = np.asarray(messages, dtype=np.int32)
        self.starts = np.asarray(starts, dtype=np.int64)
        self.ends = np.asarray(ends, dtype=np.int64)
        self.units = np.asarray(units, dtype=np.int32)
        self.unit_names = tuple(unit_names)

    @classmethod
    def of(cls, segments: Sequence[Segment]) -> Segments:
        """The same segments as columns."""
        names = list(dict.fromkeys(s.unit for s in segments))
        code = {name: i for i, name in enumerate(names)}
        return cls(
            [KINDS.index(s.kind) for s in segments],
            [s.message for s in segments],
            [s.start for s in segments],
            [s.end for s in segments],
            [code[s.unit] for s in segments],
            names,
        )

    def __len__(self) -> int:
        return len(self.kinds)

    @overload
    def __getitem__(self, index: int) -> Segment: ...
    @overload
    def __getitem__(self, index: slice) -> Segments: ...
    def __getitem__(self, index: int | slice) -> Segment | Segments:
        if isinstance(index, slice):
            return Segments(*self._at(index), self.unit_names)
        kind, message, start, end, unit = map(int, self._at(index))
        return Segment(KINDS[kind], message, start, end, self.unit_names[unit])

    def __iter__(self) -> Iterator[Segment]:
        names = self.unit_names
        for kind, message, start, end, unit in zip(*(c.tolist() for c in self._at(slice(None))), strict=True):
            yield Segment(KINDS[kind], message, start, end, names[unit])

    def _at(self, index: Any) -> tuple[Any, Any, Any, Any, Any]:
        return self.kinds[index], self.messages[index], self.starts[index], self.ends[index], self.units[index]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Segments) and list(self) == list(other)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        counts = {k: int(n) for k, n in zip(KINDS, np.bincount(self.kinds, minlength=len(KINDS)), strict=True) if n}
        return f"Segments({len(self)}: {counts})"

    def where(self, *kinds: str) -> npt.NDArray[np.int64]:
        """Indices of the segments of the given kinds, in order."""
        wanted = [KINDS.index(k) for k in kinds]
        return np.flatnonzero(np.isin(self.kinds, wanted))

    def of_kind(self, *kinds: str) -> list[Segment]:
        """The segments of the given kinds, in order."""
        return list(Segments(*self._at(self.where(*kinds)), self.unit_names))


@dataclass(frozen=True, slots=True)
class Certificate:
    """What was proved about an instance by executing it.

    Attributes:
        full: answer from everything, relevant updates and filler.
        chiselled: answer from the relevant updates alone.
        state_relevant: per relevant update, whether leaving it out changes the latent structure's final state.
        answer_relevant: per relevant update, whether leaving it out changes the answer to the view.
        filler_inert: whether each filler unit, left out alone, leaves everything after it as it is.
        promise: whether the instance keeps what its parameters promise (e.g. each update state-relevant).
        facts: what else the task proved, JSON values only.
    """

    full: str
    chiselled: str
    state_relevant: tuple[bool, ...]
    answer_relevant: tuple[bool, ...]
    filler_inert: bool
    promise: bool
    facts: Mapping[str, Any]

    @property
    def holds(self) -> bool:
        """Whether every claim an instance must meet was proved."""
        return self.full == self.chiselled and self.filler_inert and self.promise

    def as_dict(self) -> dict[str, Any]:
        """The certificate as JSON values."""
        relevant = {name: list(getattr(self, name)) for name in _RELEVANT}
        return {"holds": self.holds, **_values(self), **relevant, "facts": dict(self.facts)}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Certificate:
        """The certificate that ``as_dict`` wrote.

        Raises:
            KeyError: where a field is missing.
        """
        relevant = {name: tuple(data[name]) for name in _RELEVANT}
        return cls(**{f.name: data[f.name] for f in fields(cls)} | relevant)


_RELEVANT = ("state_relevant", "answer_relevant")


def _values(one: Certificate | Instance) -> dict[str, Any]:
    return {f.name: getattr(one, f.name) for f in fields(one)}


def instance_id(
    task: str, task_version: str, params: Mapping[str, Any], seed: int, tokenizer: str, target_tokens: int
) -> str:
    """Hash of everything that determines an instance, 16 hexadecimal digits."""
    key = json.dumps([task, task_version, dict(params), seed, tokenizer, target_tokens], sort_keys=True)
    return hashlib.sha256(key.encode()).hexdigest()[:16]


@dataclass(frozen=True)
class Instance:
    """One question on one context, with its ground truth.

    Attributes:
        task: registered name of the task.
        task_version: version of the task's generator; another version may give other bytes.
        params: every parameter of the task, resolved; generating with them gives the same bytes.
        seed: the seed it was drawn from.
        tokenizer: name of the tokenizer its length is counted with.
        target_tokens: the length asked for.
        context_tokens: the length it has: the sum of the token counts of the messages' contents.
        messages: chat messages, ``{"role": ..., "content": ...}``.
        answer: ground truth.
        view: name of the view operation.
        complexity: number of relevant updates.
        segments: ordered spans that cover every message.
        certificate: what was proved about it.
    """

    task: str
    task_version: str
    params: Mapping[str, Any]
    seed: int
    tokenizer: str
    target_tokens: int
    context_tokens: int
    messages: tuple[Mapping[str, str], ...]
    answer: str
    view: str
    complexity: int
    segments: Segments
    certificate: Certificate

    def __repr__(self) -> str:
        """A line that says which one it is; its text may be megabytes long."""
        return f"<Instance {self.task}, {self.context_tokens:,} tokens, seed {self.seed}, id {self.id}>"

    @cached_property
    def id(self) -> str:
        """Hash of everything that determines the instance."""
        return instance_id(self.task, self.task_version, self.params, self.seed, self.tokenizer, self.target_tokens)

    @property
    def prompt(self) -> str:
        """The whole conversation as one string, for base models."""
        return flat_prompt(self.messages)

    @cached_property
    def digest(self) -> str:
        """sha256 of the messages as they are sent; equal digests mean equal bytes."""
        return messages_digest(self.messages)

    @property
    def options(self) -> Mapping[str, str]:
        """Options of a multiple-choice question, text by letter; empty where the task has none."""
        found: Mapping[str, str] = self.certificate.facts.get("options", {})
        return found

    def text(self, segment: Segment) -> str:
        """The text of one segment."""
        return self.messages[segment.message]["content"][segment.start : segment.end]

    def texts(self, *kinds: str) -> list[str]:
        """The texts of all segments of some kinds, in order."""
        return [self.text(segment) for segment in self.segments.of_kind(*kinds)]

    def depth(self, segment: Segment) -> float:
        """Where a segment starts, as a share of the characters of all messages, 0 to 1."""
        lengths = [len(m["content"]) for m in self.messages]
        return (sum(lengths[: segment.message]) + segment.start) / max(1, sum(lengths))

    def as_dict(self) -> dict[str, Any]:
        """The instance row, JSON values only."""
        return {
            "id": self.id,
            **_values(self),
            "params": dict(self.params),
            "messages": [dict(m) for m in self.messages],
            "segments": [s._asdict() for s in self.segments],
            "certificate": self.certificate.as_dict(),
        }

    @classmethod
    def from_dict(cls, row: Mapping[str, Any]) -> Instance:
        """The instance a row holds.

        Raises:
            KeyError: where a field is missing.
        """
        segments = [
            Segment(s["kind"], s["message"], s["start"], s["end"], s.get("unit") or "") for s in row["segments"]
        ]
        made: dict[str, Any] = {"messages": tuple(row["messages"]), "segments": Segments.of(segments)}
        made["certificate"] = Certificate.from_dict(row["certificate"])
        return cls(**{f.name: row[f.name] for f in fields(cls)} | made)


def flat_prompt(messages: Sequence[Mapping[str, str]]) -> str:
    """Messages as one string: a single message is its content, several are labelled turns."""
    if len(messages) == 1:
        return messages[0]["content"]
    turns = [f"{m['role'].capitalize()}: {m['content']}" for m in messages]
    return "\n\n".join([*turns, "Assistant:"])


def messages_digest(messages: Sequence[Mapping[str, str]]) -> str:
    """sha256 over roles and contents, 64 hexadecimal digits."""
    text = json.dumps([[m["role"], m["content"]] for m in messages], ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()
