"""Audit MRCR datasets: solve every row, list those whose record is wrong, write the dataset without them."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from michelangelo.errors import DataError, UserError
from michelangelo.lsq.lengths import format_length
from michelangelo.lsq.tokenizers import BUNDLED, DEFAULT_TOKENIZER, get_tokenizer
from michelangelo.results.audit.checks import Conversation, Fault, Turn, examine
from michelangelo.results.audit.files import KINDS, dataset_rows, write_rows
from michelangelo.results.formats.mrcr import (
    DEEPMIND,
    DEEPMIND_COLUMNS,
    OPENAI,
    OPENAI_COLUMNS,
    is_deepmind,
    is_openai,
    messages_of,
    numbers_in,
)
from michelangelo.results.intake.files import Look, look_at
from michelangelo.results.intake.records import parts_of
from michelangelo.results.table.values import length_of, whole

if TYPE_CHECKING:
    import pandas as pd

Record = Mapping[str, Any]

_BIN = re.compile(r"(?:in_)?[\[(](\d{3,8}),\s*(\d{3,8})[\])]|(?<!\d)(\d{3,8})[-_](\d{3,8})(?!\d)")
_UP_TO = re.compile(r"upto_(\d+[kKmM]?)(?![a-zA-Z0-9])")
_LAST_EXAMPLE = re.compile(r"=+ ?END EXAMPLE[^\n]*=+[ \t]*\n?", re.IGNORECASE)
_TURN = re.compile(r"(?:\A|\n)User: (?P<request>[^\n]*)\n+Assistant:[ ]?")
_TIMES_OFF = 2.0
"""A recorded length in another tokenizer's tokens may differ from our count by this factor at most."""
TITLES = {
    "openai_mrcr": OPENAI,
    "deepmind_mrcr": DEEPMIND,
    "instances": "Michelangelo MRCR instances",
}
"""The datasets that can be audited, by name."""


class Source(NamedTuple):
    """A row taken apart.

    Attributes:
        id: what names the row for people.
        conversation: its text, ``None`` where it can't be read.
        tokens: our count of its text, or ``None``.
        faults: what is wrong with what the row records of itself.
    """

    id: str
    conversation: Conversation | None
    tokens: int | None
    faults: tuple[Fault, ...]


class Bin(NamedTuple):
    """The lengths a file's name says it holds, both ends included."""

    low: int
    high: int


def bin_of(name: str) -> Bin | None:
    """The bin a file or one of its folders is named for: ``in_(4096,8192)``, ``4096-8192``, ``upto_128K``."""
    for part in reversed(parts_of(name)):
        if match := _BIN.search(part):
            low, high = (int(g) for g in match.groups() if g)
            if low < high:
                return Bin(low, high)
        if match := _UP_TO.search(part):
            return Bin(0, length_of(match[1]) or 0)
    return None


def _outside(tokens: float, stated: Bin | None) -> list[Fault]:
    if stated is None or stated.low <= tokens <= stated.high:
        return []
    bin_text = f"{format_length(stated.low)} to {format_length(stated.high)}"
    return [Fault("bin", f"it has {tokens:,.0f} tokens, the file's name says {bin_text}")]


def from_openai(record: Record, stated: Bin | None) -> Source:
    """A row of openai/mrcr, seven columns or eight."""
    key, answer = record.get("random_string_to_prepend"), record.get("answer")
    name = key if isinstance(key, str) else "?"
    messages = messages_of(record.get("prompt"))
    if messages is None or not isinstance(answer, str) or not isinstance(key, str) or not key:
        reason = "the prompt is no list of messages" if messages is None else "answer or string to prepend is missing"
        return Source(name, None, None, (Fault("unreadable", reason),))
    counter = get_tokenizer(DEFAULT_TOKENIZER)
    tokens = sum(counter.count(m["content"]) for m in messages)
    faults = _outside(tokens + counter.count(answer), stated)
    for field, counted in (("total_messages", len(messages)), ("n_chars", sum(len(m["content"]) for m in messages))):
        if field in record and whole(record[field]) != counted:
            faults.append(Fault("counts", f"{field} says {record[field]}, the prompt has {counted:,}"))
    first = 1 if len(messages) > 1 and messages[1]["role"] == "user" else 0
    spoken = messages[first:]
    if [m["role"] for m in spoken] != ["user", "assistant"] * (len(spoken) // 2) + ["user"] or len(spoken) < 3:
        return Source(
            name, None, tokens, (*faults, Fault("turns", "turns do not alternate between user and assistant"))
        )
    turns = tuple(Turn(a["content"], b["content"]) for a, b in zip(spoken[:-1:2], spoken[1::2], strict=True))
    asked = whole(record.get("desired_msg_index"))
    place = None if asked is None else (asked - first) // 2
    if asked is None or asked < first or (asked - first) % 2 or asked >= len(messages) - 1:
        faults.append(Fault("place", f"desired_msg_index {record.get('desired_msg_index')} is no request"))
        place = None
    needles = whole(record.get("n_needles"))
    conversation = Conversation(turns, spoken[-1]["content"], answer, key, needles, place)
    return Source(name, conversation, tokens, tuple(faults))


def from_deepmind(record: Record, stated: Bin | None) -> Source:
    """A row of MRCR v2: one text with worked examples, turns and the question."""
    text, answer, view = (record.get(name) for name in ("queries", "answer", "view_ops"))
    if not isinstance(text, str) or not isinstance(answer, str) or not isinstance(view, str):
        return Source("?", None, None, (Fault("unreadable", "queries, answer or view_ops is missing"),))
    tokens = get_tokenizer(DEFAULT_TOKENIZER).count(text)
    faults = _length_faults(record, tokens, stated)
    if not text.rstrip().endswith(view.strip()):
        faults.append(Fault("question", "the prompt does not end with the question in view_ops"))
    turns, question = spoken_turns(text)
    conversation = Conversation(turns, question, answer, None, whole(record.get("num_relevant")))
    return Source(answer[:12], conversation, tokens, (*faults, *_position_faults(record, question)))


def _length_faults(record: Record, tokens: int, stated: Bin | None) -> list[Fault]:
    """The recorded length is in Gemini's tokens, so our count only tells whether it is of this text at all."""
    recorded = whole(record.get("context_len"))
    if recorded is None:
        return [Fault("counts", f"context_len is {record.get('context_len')!r}")] if "context_len" in record else []
    faults = _outside(recorded, stated)
    if not tokens / _TIMES_OFF <= recorded <= tokens * _TIMES_OFF:
        reason = f"context_len says {recorded:,}, the prompt has about {tokens:,} tokens ({DEFAULT_TOKENIZER})"
        faults.append(Fault("counts", reason))
    return faults


def _position_faults(record: Record, question: str) -> list[Fault]:
    """Whether the answer's position is the asked one among the positions of all matching pieces."""
    answer = numbers_in(record.get("answer_context_position"))
    flat = numbers_in(record.get("relevant_context_positions"))
    pairs = list(zip(flat[::2], flat[1::2], strict=False))
    if len(answer) != 2 or not pairs:
        return []
    faults = []
    needles = whole(record.get("num_relevant"))
    if needles is not None and needles != len(pairs):
        faults.append(
            Fault("needles", f"{len(pairs)} positions of matching pieces are recorded, the row says {needles}")
        )
    if (answer[0], answer[1]) not in pairs:
        faults.append(Fault("place", "the answer's recorded position is none of those of the matching pieces"))
    return faults


def spoken_turns(text: str) -> tuple[tuple[Turn, ...], str]:
    """Turns and final question of a prompt that is one text, after its last worked example.

    A turn begins with a line ``User: …`` that is followed by ``Assistant:``; such a line inside a piece is not.
    """
    examples = list(_LAST_EXAMPLE.finditer(text))
    spoken = text[examples[-1].end() :] if examples else text
    marks = list(_TURN.finditer(spoken))
    if not marks:
        return (), spoken
    ends = [m.start() for m in marks[1:]]
    turns = tuple(
        Turn(mark["request"], spoken[mark.end() : end].strip("\n")) for mark, end in zip(marks, ends, strict=False)
    )
    return turns, marks[-1]["request"]


def from_ours(record: Record, stated: Bin | None) -> Source:
    """An instance row of this package's own MRCR."""
    messages: Sequence[Mapping[str, str]] = record["messages"]
    faults = []
    tokens = None
    if record["tokenizer"] in BUNDLED:
        counter = get_tokenizer(record["tokenizer"])
        tokens = sum(counter.count(m["content"]) for m in messages)
        if tokens != record["context_tokens"]:
            reason = f"context_tokens says {record['context_tokens']:,}, the messages have {tokens:,}"
            faults.append(Fault("counts", reason))
        if tokens > record["target_tokens"]:
            faults.append(Fault("bin", f"it has {tokens:,} tokens, more than its target {record['target_tokens']:,}"))
        faults += _outside(tokens, stated)
    if [m["role"] for m in messages] != ["user", "assistant"] * (len(messages) // 2) + ["user"] or len(messages) < 3:
        faults.append(Fault("turns", "turns do not alternate between user and assistant"))
        return Source(record["id"], None, tokens, tuple(faults))
    turns = tuple(Turn(a["content"], b["content"]) for a, b in zip(messages[:-1:2], messages[1::2], strict=True))
    conversation = Conversation(turns, messages[-1]["content"], record["answer"], None, record["complexity"])
    return Source(record["id"], conversation, tokens, tuple(faults))


READERS: dict[str, Callable[[Record, Bin | None], Source]] = {
    "openai_mrcr": from_openai,
    "deepmind_mrcr": from_deepmind,
    "instances": from_ours,
}
"""How a row is taken apart, by the dataset's name."""


@dataclass(frozen=True, slots=True)
class AuditRow:
    """What auditing found of one row.

    Attributes:
        row: its number in the dataset, from 0.
        id: what names it: the string to prepend, or an instance's id.
        needles: how many matching pieces it says it has, or ``None``.
        matching: how many match the question, or ``None`` where it can't be read.
        asked: which of them is asked for, from 1, or ``None``.
        answered: which of them the recorded answer is, or ``None``.
        tokens: our count of the prompt (o200k_base, or an instance's own tokenizer), or ``None``.
        faults: what makes it unusable; empty where it is sound.
        remarks: what is worth knowing but leaves it usable.
    """

    row: int
    id: str
    needles: int | None
    matching: int | None
    asked: int | None
    answered: int | None
    tokens: int | None
    faults: tuple[Fault, ...]
    remarks: tuple[str, ...] = ()


@dataclass(frozen=True)
class Audit:
    """What auditing a dataset found.

    Attributes:
        path: the dataset.
        dataset: which it is, a key of ``TITLES``.
        rows: every row in order.
    """

    path: Path
    dataset: str
    rows: tuple[AuditRow, ...]

    @property
    def title(self) -> str:
        """The dataset's name for people."""
        return TITLES[self.dataset]

    @property
    def bad(self) -> tuple[AuditRow, ...]:
        """The rows with a fault."""
        return tuple(row for row in self.rows if row.faults)

    def frame(self) -> pd.DataFrame:
        """One row per row of the dataset.

        Returns:
            Columns ``row`` (from 0), ``id``, ``sound``, ``needles``, ``matching``, ``asked``, ``answered``,
            ``tokens`` (missing where unknown), ``codes`` (list of fault codes), ``reasons`` and ``remarks`` (texts).
        """
        import pandas as pd

        whole = ("needles", "matching", "asked", "answered", "tokens")
        cells = {
            "row": [r.row for r in self.rows],
            "id": [r.id for r in self.rows],
            "sound": [not r.faults for r in self.rows],
            **{name: pd.array([getattr(r, name) for r in self.rows], dtype="Int64") for name in whole},
            "codes": [[f.code for f in r.faults] for r in self.rows],
            "reasons": ["; ".join(f.text for f in r.faults) for r in self.rows],
            "remarks": ["; ".join(r.remarks) for r in self.rows],
        }
        return pd.DataFrame(cells)


def audit_file(
    path: str | Path, *, name: str | None = None, progress: Callable[[int, int | None], None] | None = None
) -> Audit:
    """Solve every row of an MRCR dataset, one in memory at a time.

    Args:
        path: openai/mrcr (Parquet, JSON lines or a text table; seven columns or eight), MRCR v2 of Google DeepMind
            (the same kinds), or instances of this package (JSON lines or Parquet). Files may be packed with gzip.
        name: how the file was called where ``path`` is a copy of it; a bin in the name is held against each row.
        progress: told the number of rows done and, where known, of all.

    Raises:
        UserError: where the file can't be opened.
        DataError: where it is no MRCR dataset, is damaged, or holds no row.
    """
    file = Path(path)
    if file.is_dir():
        raise UserError(f"{file} is a folder; name a dataset file")
    look = look_at(file, name or str(file))
    dataset = _dataset_of(look)
    stated = bin_of(look.name)
    rows = []
    for number, record in enumerate(dataset_rows(look, instances=dataset == "instances")):
        rows.append(_examined(number, record, dataset, stated))
        if progress:
            progress(number + 1, None)
    if not rows:
        raise DataError(f"{file.name} holds no row")
    return Audit(file, dataset, tuple(rows))


def _dataset_of(look: Look) -> str:
    if look.kind not in KINDS:
        raise DataError(f"{look.path.name} is no table, JSON lines or Parquet file; an MRCR dataset is one of these")
    if is_openai(look):
        return "openai_mrcr"
    if is_deepmind(look):
        return "deepmind_mrcr"
    if {"messages", "answer", "certificate", "segments"} <= (set(look.keys) | set(look.names)):
        return "instances"
    raise DataError(
        f"{look.path.name} is no MRCR dataset; it must have the columns of openai/mrcr "
        f"({', '.join(sorted(OPENAI_COLUMNS))}), of MRCR v2 ({', '.join(sorted(DEEPMIND_COLUMNS))}), "
        "or hold MRCR instances of this package"
    )


def _examined(number: int, record: Mapping[str, Any], dataset: str, stated: Bin | None) -> AuditRow:
    source: Source = READERS[dataset](record, stated)
    if source.conversation is None:
        return AuditRow(number, source.id, None, None, None, None, source.tokens, source.faults)
    findings = examine(source.conversation)
    return AuditRow(
        number,
        source.id,
        source.conversation.needles,
        findings.matching if findings.asked is not None else None,
        findings.asked,
        findings.answered,
        source.tokens,
        (*source.faults, *findings.faults),
        findings.remarks,
    )


def write_sound(audit: Audit, out: str | Path) -> int:
    """Write the dataset without its bad rows, in the same format; every kept row stays byte for byte what it was.

    Args:
        audit: what ``audit_file`` found; the file must still lie where it was.
        out: the new file, which appears whole or not at all; ``.gz`` at the end packs it.

    Returns:
        The number of rows written.

    Raises:
        UserError: another ending than the format's, or the file can't be written.
        DataError: where the dataset has changed meanwhile.
    """
    write_rows(look_at(audit.path), Path(out), [not row.faults for row in audit.rows])
    return len(audit.rows) - len(audit.bad)
