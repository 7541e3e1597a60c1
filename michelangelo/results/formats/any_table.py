"""Any table whose columns are not ours, asked last: what they stand for is proposed by names and contents, or said."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from typing import Any

import numpy as np
import pandas as pd

from michelangelo.errors import DataError, UserError
from michelangelo.results.formats import result_format
from michelangelo.results.intake.files import Look
from michelangelo.results.intake.given import LENGTH_COLUMNS, Given, Level, NeedsError, Proposal
from michelangelo.results.intake.records import Rows
from michelangelo.results.intake.tables import Table, parts
from michelangelo.results.table.schema import EXTRA, FIELDS, PROVENANCE, left_out
from michelangelo.results.table.values import is_missing, lengths_of, numbers_of, parse_tokens, says_percent

SAMPLE_ROWS = 1000
"""How many rows decide what columns stand for."""

PREVIEW_ROWS = 5

SYNONYMS: dict[str, tuple[str, ...]] = {
    "model": ("model", "model_name", "model_id", "modelname", "llm", "system", "engine", "modelo", "modell"),
    "task": ("task", "task_name", "benchmark", "dataset", "dataset_name", "eval", "eval_name", "test", "test_name"),
    "score": (
        *("score", "accuracy", "acc", "mean_score", "avg_score", "average_score", "mean", "average", "avg", "auc"),
        *("correct", "is_correct", "exact_match", "em", "f1", "recall", "match", "pass", "passed", "success", "ratio"),
        *("result", "rating", "grade", "value", "metric_value", "puntuacion", "punkte", "genauigkeit", "precision"),
    ),
    "target_tokens": (
        *("target_tokens", "context_length", "context_len", "ctx_length", "ctx_len", "context_size", "context_window"),
        *(
            "context",
            "ctx",
            "length",
            "len",
            "seq_len",
            "seq_length",
            "sequence_length",
            "max_seq_length",
            "max_length",
        ),
        *("target_length", "nominal_length", "input_length", "prompt_length", "token_limit", "length_bin", "bin"),
        *("kontextlange", "lange", "longitud", "longueur"),
    ),
    "context_tokens": (
        *("context_tokens", "input_tokens", "tokens", "n_tokens", "num_tokens", "token_count", "tokens_in"),
        *("raw_input_tok_cnt", "total_tokens"),
    ),
    "depth": ("depth", "depth_percent", "needle_depth", "position", "needle_position", "insertion_percent"),
    "instance_id": (
        *("instance_id", "id", "sample_id", "question_id", "item_id", "doc_id", "example_id", "uuid", "idx", "index"),
        *("qid",),
    ),
    "repeat": ("repeat", "epoch", "trial", "attempt", "run", "repetition"),
    "run_id": ("run_id",),
    "variant": ("variant", "subset", "setting", "split", "metric", "needles", "n_needles"),
    "family": ("family", "model_family"),
    "provider": ("provider", "vendor", "organization", "org"),
    "view": ("view",),
    "complexity": ("complexity", "num_relevant", "hops"),
    "filler": ("filler",),
    "seed": ("seed",),
    "response": ("response", "model_response", "prediction", "pred", "output", "completion", "model_output", "reply"),
    "answer": ("answer", "target", "reference", "gold", "ground_truth", "expected", "label", "expected_answer"),
    "extracted": ("extracted", "parsed", "extracted_answer", "parsed_answer"),
    "error": ("error", "error_message", "exception"),
    "finish_reason": ("finish_reason", "stop_reason"),
    "prompt_tokens": ("prompt_tokens",),
    "completion_tokens": ("completion_tokens", "output_tokens", "tokens_out"),
    "reasoning_tokens": ("reasoning_tokens", "thinking_tokens"),
    "latency_s": ("latency_s", "latency", "seconds", "duration", "duration_s", "elapsed", "time_s"),
    "cost_usd": ("cost_usd", "cost", "price", "total_cost"),
    "started_at": ("started_at", "timestamp", "created_at", "date", "datetime"),
    "n": ("n", "n_samples", "num_samples", "count", "samples", "num", "total"),
}
"""Names, spelled without case, accents and signs, that columns of other people have for our fields; best first."""

ONE_SAMPLE = ("instance_id", "response", "repeat", "seed", "extracted")
"""Fields that only a table of samples has."""

_LONG = ("response", "answer", "extracted", "error")
_LOOKED_AT, _MOST = 200, 0.5
MAPPABLE = (FIELDS | EXTRA | PROVENANCE).keys()
_LENGTHS = ("target_tokens", "context_tokens")
_INSTANCES = {"certificate", "segments"}
_TRIED_LINES = 10


def plain_name(column: str) -> str:
    """A column's name without case, accents, units and signs."""
    import unicodedata

    text = unicodedata.normalize("NFKD", column).encode("ascii", "ignore").decode().lower()
    text = re.sub(r"\(.*?\)|\[.*?\]|%", " ", text)
    text = re.sub(r"(?<=[a-z])pct\b|_percent(age)?$|_pct$", "", re.sub(r"[^a-z0-9]+", "_", text).strip("_"))
    return text.strip("_")


def sample_of(look: Look, rows: int = SAMPLE_ROWS) -> pd.DataFrame:
    """The first rows of a table as they stand there.

    Raises:
        DataError: where it can't be read as a table.
    """
    tables = [part.cells for part in islice(parts(look, lower=False), 1)]
    if not tables:
        raise DataError(f"{look.name} has no rows")
    return tables[0].head(rows)


def propose(look: Look, given: Given | None = None) -> Proposal:
    """Propose what a table's columns stand for.

    Args:
        look: the file: a text table, a spreadsheet, Parquet, JSON lines or an array of objects.
        given: what the user says already; it is taken as it is.

    Raises:
        DataError: where it can't be read as a table.
        UserError: where the user names a column or a field that is not there.
    """
    return propose_for(sample_of(look), look.name, given or Given())


def propose_for(cells: pd.DataFrame, name: str, given: Given) -> Proposal:
    """``propose`` for rows that are there already."""
    columns_given = dict(given.columns)
    columns, unsure = _by_names(cells, columns_given)
    lengths = _length_columns(cells, columns)
    if "score" not in columns.values() and lengths:
        columns |= dict.fromkeys(lengths, LENGTH_COLUMNS)
    likely = bool(columns_given) or "score" in columns.values() or bool(lengths) or "score" in unsure
    fields = set(columns.values())
    missing = []
    for needed, value in (("model", given.model), ("task", given.task), ("target_tokens", given.tokens)):
        is_known = needed in fields or (needed == "target_tokens" and {"context_tokens", LENGTH_COLUMNS} & fields)
        if not is_known and value is None and needed not in unsure:
            missing.append(needed)
    if not fields & {"score", LENGTH_COLUMNS} and "score" not in unsure:
        missing.append("score")
    scale, question = _scale(cells, columns, given)
    return Proposal(
        name,
        columns,
        tuple(map(str, cells.columns)),
        unsure,
        tuple(missing),
        scale,
        question,
        given.level or _level(cells, columns),
        _preview(cells, columns, {column for rivals in unsure.values() for column in rivals}),
        likely,
    )


def _by_names(cells: pd.DataFrame, columns_given: dict[str, str]) -> tuple[dict[str, str], dict[str, tuple[str, ...]]]:
    """The field each column's name speaks for, and fields that several columns speak for alike."""
    columns = {column: field_name for column, field_name in columns_given.items() if field_name}
    unsure: dict[str, tuple[str, ...]] = {}
    open_columns = [str(c) for c in cells.columns if str(c) not in columns_given]
    for field_name, names in SYNONYMS.items():
        if field_name in columns_given.values():
            continue
        ranked = sorted(
            (names.index(plain_name(c)), c)
            for c in open_columns
            if plain_name(c) in names and _fits(field_name, cells[c])
        )
        if not ranked:
            continue
        rivals = [c for rank, c in ranked if _rival(field_name, rank, ranked[0][0])]
        if len(rivals) > 1:
            unsure[field_name] = tuple(rivals)
            continue
        columns[ranked[0][1]] = field_name
        open_columns.remove(ranked[0][1])
    return columns, unsure


def _rival(field_name: str, rank: int, best: int) -> bool:
    """Whether a name speaks for a field as well as the best one does."""
    if field_name == "score":
        return rank == best or best > 0
    return rank == best


def _fits(field_name: str, column: pd.Series[Any]) -> bool:
    """Whether the cells could hold what the name says."""
    cells = column.dropna().head(_LOOKED_AT)
    filled = cells[[not is_missing(cell) for cell in cells]]
    if not len(filled):
        return True
    if field_name == "score":
        return bool(numbers_of(filled, truth=True).notna().mean() > _MOST)
    if field_name in ("target_tokens", "context_tokens"):
        return bool(lengths_of(filled).notna().mean() > _MOST)
    if field_name in ("depth", "n", "latency_s", "cost_usd", "repeat", "seed", "complexity"):
        return bool(numbers_of(filled).notna().mean() > _MOST)
    return True


def _length_columns(cells: pd.DataFrame, columns: Mapping[str, str]) -> list[str]:
    """Columns whose names are lengths and whose cells are numbers, where there are at least two."""
    columns_by_length = [
        str(c)
        for c in cells.columns
        if str(c) not in columns and (parse_tokens(str(c)) or 0) >= 100 and _fits("score", cells[c])
    ]
    return columns_by_length if len(columns_by_length) > 1 else []


def _score_columns(columns: Mapping[str, str]) -> list[str]:
    return [c for c, f in columns.items() if f in ("score", LENGTH_COLUMNS)]


def _scale(cells: pd.DataFrame, columns: Mapping[str, str], given: Given) -> tuple[float | None, str]:
    """What the table itself divides scores by, and what is to be asked."""
    names = _score_columns(columns)
    if given.scale is not None or not names:
        return given.scale, ""
    in_percent = [says_percent(str(c), cells[c]) for c in names if c in cells]
    if in_percent and all(in_percent):
        return 100.0, ""
    numbers = pd.concat([numbers_of(cells[c], truth=True) for c in names if c in cells]).dropna()
    highest = float(numbers.max()) if len(numbers) else 0.0
    if highest <= 1:
        return None, ""
    guess = "a percentage: divide by 100" if highest <= 100 else "on some other scale: divide by its highest score"
    return None, f"scores go up to {highest:g}, not 1; they may be {guess}"


def _level(cells: pd.DataFrame, columns: Mapping[str, str]) -> Level:
    fields = set(columns.values())
    if LENGTH_COLUMNS in fields or "n" in fields:
        return "averages"
    if fields & set(ONE_SAMPLE):
        return "samples"
    setting = [c for c, f in columns.items() if f not in ("score", *_LONG, "latency_s", "cost_usd", "started_at")]
    once = bool(setting) and not cells[[c for c in setting if c in cells]].astype(str).duplicated().any()
    return "averages" if once and len(cells) > 1 else "samples"


def _preview(cells: pd.DataFrame, columns: Mapping[str, str], rivals: set[str]) -> pd.DataFrame:
    shown = [c for c in cells.columns if c in rivals or columns.get(str(c), "") not in ("", *_LONG)]
    return cells[shown].head(PREVIEW_ROWS).map(lambda v: str(v)[:60] if isinstance(v, (str, list, dict)) else v)


def described(proposal: Proposal, given: Given) -> Sequence[str]:
    """What was taken for what, a sentence each."""
    wide = [c for c, f in proposal.columns.items() if f == LENGTH_COLUMNS]
    sources = [f"{f} from column {c!r}" for c, f in proposal.columns.items() if f != LENGTH_COLUMNS and f != c]
    if wide:
        sources.append(f"scores from {len(wide)} columns named by length, {wide[0]!r} to {wide[-1]!r}")
    sentences = [f"taken: {', '.join(sources)}"] if sources else []
    if given.level is None:
        sentences.append(f"rows were taken as {proposal.level}")
    return sentences


def sniff(look: Look) -> bool:
    """Whether the file is a table at all: a header, a row of as many cells or more, or JSON objects with a number."""
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
    return len(widths) > 1 and widths[1] >= widths[0] > 1 and widths[0] in widths[1:]


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
        messages = (
            *part.messages,
            *(described(proposal, given) if (numbers and numbers[0] <= 1) or start == 1 else ()),
        )
        yield _mapped(replace(part, rows=numbers, messages=messages), taken, proposal)


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
    fields = pd.DataFrame({taken[c]: cells[c] for c in cells.columns if c in taken and c not in wide})
    if wide:
        count = len(wide)
        fields = fields.loc[fields.index.repeat(count)].reset_index(drop=True)
        fields["score"] = pd.Series(cells[wide].astype(object).to_numpy().reshape(-1), dtype=object)
        fields["target_tokens"] = [parse_tokens(c) for c in wide] * len(cells)
        rows = np.repeat(rows, count)
    return replace(part, cells=_valued(fields, proposal), rows=rows.tolist(), scale=_said_of(proposal))


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


def _scores(fields: pd.DataFrame, scale: float) -> tuple[pd.Series[Any], pd.Series[Any]]:
    numbers = numbers_of(fields["score"], truth=True)
    missing = pd.Series([is_missing(v) for v in fields["score"]], index=fields.index)
    unreadable = numbers.isna() & ~missing
    scores = (numbers / scale).astype(object).mask(missing, None).mask(unreadable, fields["score"])
    failed = fields["error"].map(lambda e: not is_missing(e)) if "error" in fields else pd.Series(False, fields.index)
    status = pd.Series(np.where(missing, np.where(failed, "provider_error", "no_reference"), "ok"), fields.index)
    if "status" in fields:
        status = fields["status"].where(fields["status"].notna(), status)
    return scores, status


def _said_of(proposal: Proposal) -> str:
    if proposal.scale is None or proposal.scale == 1:
        return ""
    return f"scores were divided by {proposal.scale:g}"
