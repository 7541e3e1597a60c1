"""Any table whose columns are not ours: read by a proposed or given mapping of its columns, asked last."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from michelangelo.errors import UserError
from michelangelo.results.formats import result_format
from michelangelo.results.intake.given import LENGTH_COLUMNS, Given, NeedsError, Proposal
from michelangelo.results.intake.look import Look
from michelangelo.results.intake.mapping import described, propose_for, sample_of
from michelangelo.results.intake.records import Rows
from michelangelo.results.intake.tables import Table, parts
from michelangelo.results.table.schema import EXTRA, FIELDS, PROVENANCE, left_out
from michelangelo.results.table.values import is_missing, lengths_of, numbers_of, parse_tokens

MAPPABLE = (FIELDS | EXTRA | PROVENANCE).keys()
_LENGTHS = ("target_tokens", "context_tokens")
_INSTANCES = {"certificate", "segments"}
_TRIED_LINES = 10


def sniff(look: Look) -> bool:
    """Whether the file is a table at all: a header and soon a row of as many cells, or JSON objects with a number."""
    if look.kind in ("parquet", "xlsx"):
        return len(look.columns) > 1 and not look.names >= _INSTANCES
    if look.kind in ("lines", "array"):
        return len(look.keys) > 1 and not look.has(*_INSTANCES) and {"number", "truth"} & {*look.keys.values()} != set()
    return look.kind == "table" and _has_rows(look)


def _has_rows(look: Look) -> bool:
    text = look.head.decode("utf-8", "replace")
    if any(c < " " and c not in "\t\r\n" for c in text[:4096]) or "\ufffd" in text[:1024]:
        return False
    lines = [line for line in text.lstrip().splitlines()[:_TRIED_LINES] if line.strip()]
    widths = [len(cells) for cells in csv.reader(lines, delimiter=look.separator)]
    return len(widths) > 1 and widths[0] > 1 and widths[0] in widths[1:]


@result_format("any_table", "a table with columns of its own", sniff, late=2)
def read(look: Look, rows: Rows) -> Iterator[Table]:
    """The table's rows, one bounded part after the other.

    Raises:
        NeedsError: where something has to be asked; it carries the proposal.
        UserError: where the user names a column or a field that is not there.
    """
    given = rows.given
    sample = sample_of(look)
    _check_given(look, sample, given)
    proposal = propose_for(sample, look.name, given)
    _ask(proposal)
    taken = {c: f for c, f in proposal.columns.items() if f not in left_out(rows.details)}
    start = 1
    for part in parts(look, {*taken, *(c.lower() for c in taken)}, lower=False):
        numbers = part.rows if part.rows is not None else range(start, start + len(part.cells))
        start += len(part.cells)
        said = (*part.messages, *(described(proposal, given) if (numbers and numbers[0] <= 1) or start == 1 else ()))
        yield _mapped(replace(part, rows=numbers, messages=said), taken, proposal)


def _check_given(look: Look, sample: pd.DataFrame, given: Given) -> None:
    for column, field in given.columns.items():
        if column not in sample.columns:
            raise UserError(
                f"{look.name} has no column {column!r}; there are {', '.join(map(str, sample.columns[:30]))}"
            )
        if field and field not in MAPPABLE and field != LENGTH_COLUMNS:
            raise UserError(f"column {column!r} can't stand for {field!r}; a result row has {', '.join(FIELDS)}, n")


def _ask(proposal: Proposal) -> None:
    fields = tuple(dict.fromkeys((*proposal.missing, *proposal.unsure)))
    if proposal.scale_question:
        fields = (*fields, "scale")
    if fields:
        columns = ", ".join(proposal.offered[:12]) + (", …" if len(proposal.offered) > 12 else "")
        several = "".join(f"; {f} may be {' or '.join(c)}" for f, c in proposal.unsure.items())
        question = f"; {proposal.scale_question}" if proposal.scale_question else ""
        raise NeedsError(proposal.name, fields, proposal, f" (its columns are {columns}{several}{question})")


def _mapped(part: Table, taken: dict[str, str], proposal: Proposal) -> Table:
    cells = part.cells
    wide = [c for c in cells.columns if taken.get(c) == LENGTH_COLUMNS]
    rows = np.asarray(part.rows)
    found = pd.DataFrame({taken[c]: cells[c] for c in cells.columns if c in taken and c not in wide})
    if wide:
        count = len(wide)
        found = found.loc[found.index.repeat(count)].reset_index(drop=True)
        found["score"] = pd.Series(cells[wide].astype(object).to_numpy().reshape(-1), dtype=object)
        found["target_tokens"] = [parse_tokens(c) for c in wide] * len(cells)
        rows = np.repeat(rows, count)
    return replace(part, cells=_valued(found, proposal), rows=rows.tolist(), scale=_said_of(proposal))


def _valued(found: pd.DataFrame, proposal: Proposal) -> pd.DataFrame:
    """Lengths, scores and depths as numbers; a row without a score says why."""
    for name in found.columns.intersection([*_LENGTHS]):
        lengths = lengths_of(found[name])
        found[name] = pd.Series([None if v != v else int(v) for v in lengths], dtype=object, index=found.index)
    if "score" in found:
        found["score"], found["status"] = _scores(found, proposal.scale or 1.0)
    if "depth" in found:
        depth = numbers_of(found["depth"])
        found["depth"] = depth / 100 if (depth > 1).any() else depth
    found["aggregate"] = proposal.level == "averages"
    return found


def _scores(found: pd.DataFrame, scale: float) -> tuple[pd.Series[Any], pd.Series[Any]]:
    numbers = numbers_of(found["score"], truth=True)
    missing = pd.Series([is_missing(v) for v in found["score"]], index=found.index)
    odd = numbers.isna() & ~missing
    scores = (numbers / scale).astype(object).mask(missing, None).mask(odd, found["score"])
    failed = found["error"].map(lambda e: not is_missing(e)) if "error" in found else pd.Series(False, found.index)
    status = pd.Series(np.where(missing, np.where(failed, "provider_error", "no_reference"), "ok"), found.index)
    if "status" in found:
        status = found["status"].where(found["status"].notna(), status)
    return scores, status


def _said_of(proposal: Proposal) -> str:
    if proposal.scale is None or proposal.scale == 1:
        return ""
    return f"scores were divided by {proposal.scale:g}"
