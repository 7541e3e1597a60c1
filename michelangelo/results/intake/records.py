"""Records of foreign files one at a time, whatever they are kept in: JSON lines, one JSON value, a table, Parquet."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping
from typing import Any

import pandas as pd

from michelangelo.errors import DataError
from michelangelo.results.intake.files import MAX_BYTES, CutOff, encoding_of, header_of, open_bytes, raw_head
from michelangelo.results.intake.foreign import Rows, json_lines
from michelangelo.results.intake.look import Look

Record = Mapping[str, Any]

_CHUNK = 8


def records_of(look: Look, rows: Rows, wanted: Collection[str] | None = None) -> Iterator[tuple[int, Record]]:
    """Every record of a file with its number: the line of JSON lines, the item or data row, from 1, of all else.

    JSON lines, text tables and Parquet files are read piece by piece. Cells of a text table are text, an empty one is
    ``None``. Names of columns are in lower case without spaces around them.

    Args:
        look: JSON lines, an object, an array of objects, a text table or a Parquet file.
        rows: where unreadable records and cuts are noted.
        wanted: the columns of tables that are read, in lower case; ``None`` for all.

    Raises:
        DataError: where the file is damaged beyond reading.
    """
    if look.kind in ("lines", "object", "array"):
        yield from json_lines(look, rows)
        return
    read = _batches(look, wanted) if look.kind == "parquet" else _cells(look, rows, wanted)
    for number, record in enumerate(read, 1):
        yield number, {str(name).strip().lower(): value for name, value in record.items()}


def _batches(look: Look, wanted: Collection[str] | None) -> Iterator[Record]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        with pq.ParquetFile(look.path) as file:
            size = sum(file.metadata.row_group(i).total_byte_size for i in range(file.num_row_groups))
            if size > MAX_BYTES:
                raise DataError(f"{look.name} unpacks to {size:,} bytes; the limit is {MAX_BYTES:,}")
            names = [n for n in file.schema_arrow.names if wanted is None or n.strip().lower() in wanted]
            for batch in file.iter_batches(batch_size=_CHUNK, columns=names):
                yield from batch.to_pylist()
    except (pa.ArrowException, OSError) as error:
        raise DataError(f"{look.name} is cut off or damaged: {str(error).splitlines()[0]}") from None


def _cells(look: Look, rows: Rows, wanted: Collection[str] | None) -> Iterator[Record]:
    names = {c.strip().lower() for c in look.columns}
    done = 0
    try:
        with open_bytes(look.path) as stream:
            chunks = pd.read_csv(
                stream,
                sep=header_of(look.head, names.issubset) or ",",
                dtype=str,
                keep_default_na=False,
                na_values=[""],
                index_col=False,
                encoding=encoding_of(raw_head(look.path)),
                encoding_errors="replace",
                usecols=None if wanted is None else lambda c: c.strip().lower() in wanted,
                chunksize=_CHUNK,
                low_memory=False,
            )
            for chunk in chunks:
                for record in chunk.astype(object).where(chunk.notna(), None).to_dict("records"):
                    yield {str(name): value for name, value in record.items()}
                done += len(chunk)
    except (pd.errors.ParserError, pd.errors.EmptyDataError, *CutOff) as error:
        if not done:
            raise DataError(f"{look.name} can't be read as a table: {str(error)[:120]}") from None
        rows.messages.append(f"the table can't be read after row {done:,} ({str(error)[:80]})")


def number_or_none(value: object) -> float | None:
    """A finite number, also written as text; ``None`` for anything else, truth values included."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        found = float(value)
    except (ValueError, OverflowError):
        return None
    return found if math.isfinite(found) else None


def text_or_none(value: object) -> str | None:
    """A text; ``None`` for anything else."""
    return value if isinstance(value, str) else None


def is_blank(text: str | None) -> bool:
    """Whether a reply is there but says nothing."""
    return text is not None and not text.strip()
