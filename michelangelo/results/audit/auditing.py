"""Audit MRCR datasets: solve every row, list those whose record is wrong, write the dataset without them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from michelangelo.errors import DataError, UserError
from michelangelo.results.audit.checks import Fault, examine
from michelangelo.results.audit.files import KINDS, dataset_rows, write_rows
from michelangelo.results.audit.rows import READERS, Bin, Source, bin_of
from michelangelo.results.formats.mrcr import DEEPMIND, DEEPMIND_COLUMNS, OPENAI, OPENAI_COLUMNS, is_deepmind, is_openai
from michelangelo.results.intake.look import Look, look_at

if TYPE_CHECKING:
    import pandas as pd

TITLES = {
    "openai_mrcr": OPENAI,
    "deepmind_mrcr": DEEPMIND,
    "instances": "Michelangelo MRCR instances",
}
"""The datasets that can be audited, by name."""


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
    found = examine(source.conversation)
    return AuditRow(
        number,
        source.id,
        source.conversation.needles,
        found.matching if found.asked is not None else None,
        found.asked,
        found.answered,
        source.tokens,
        (*source.faults, *found.faults),
        found.remarks,
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
