"""Many frames into one without having all of them in memory twice."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from michelangelo.results.table.columns import TEXT, as_categories, missing, one_below_the_other
from michelangelo.results.table.schema import ALL, EXTRA, FIELDS, REPEATED

_AT_ONCE = 100_000
_ROOM = 4_194_304  # large enough for the system to hand out pages only when they are written to
_NUMBERS = {name: kind for name, kind in ALL.items() if kind in ("whole", "number")}


class Stack:
    """Takes tidy frames one after the other and gives them as one.

    Small frames are joined early, because many small pieces take much more room than few large ones, and columns
    without a value are not kept at all.

    Args:
        categories: whether the fields of ``schema.REPEATED`` become categories.
    """

    def __init__(self, *, categories: bool = False) -> None:
        self._categories = categories
        self._large: list[pd.DataFrame] = []
        self._numbers: dict[str, _Numbers] = {}
        self._size = 0
        self._fresh: list[pd.DataFrame] = []
        self._rows = 0

    def push(self, frame: pd.DataFrame) -> None:
        """Put a frame below the others."""
        repeated = REPEATED if self._categories else ()
        self._fresh.append(frame.assign(**{n: as_categories(frame[n]) for n in repeated if n in frame}))
        self._rows += len(frame)
        if self._rows >= _AT_ONCE:
            self._join()

    def frame(self) -> pd.DataFrame | None:
        """All rows; ``None`` where no frame was taken. The stack is empty afterwards."""
        if not self._large:
            return _used_up(self._fresh) if self._fresh else None
        if self._fresh:
            self._join()
        frames, self._large = self._large, []
        whole = _used_up(frames)
        for name in [*self._numbers]:
            whole[name] = self._numbers.pop(name).column(self._size)
        return whole

    def _join(self) -> None:
        joined = _used_up(self._fresh)
        self._fresh, self._rows = [], 0
        joined = joined[[n for n in joined if n == "aggregate" or joined[n].notna().any()]].copy(deep=False)
        for name in [n for n in joined if n in _NUMBERS]:
            self._numbers.setdefault(name, _Numbers(_NUMBERS[name])).put(joined.pop(name), self._size)
        self._large.append(joined)
        self._size += len(joined)


class _Numbers:
    """A column of numbers that grows in place: memory is taken as it is written to, and never copied."""

    def __init__(self, kind: str) -> None:
        self._kind = kind
        self._values: npt.NDArray[Any] = np.empty(_ROOM, dtype=np.int64 if kind == "whole" else np.float64)
        self._lacking = np.empty(_ROOM if kind == "whole" else 0, dtype=bool)
        self._size = 0

    def put(self, column: pd.Series[Any], start: int) -> None:
        """Write the column from row ``start`` on; rows that were passed over have no value."""
        end = start + len(column)
        if end > len(self._values):
            for array in filter(len, (self._values, self._lacking)):
                array.resize(2 * end, refcheck=False)
        self._fill(start)
        if self._kind == "whole":
            self._lacking[start:end] = column.isna()
            self._values[start:end] = column.to_numpy(dtype=np.int64, na_value=0)
        else:
            self._values[start:end] = column
        self._size = end

    def column(self, size: int) -> pd.Series[Any]:
        """The column with this many rows; it can't grow any more."""
        self._values.resize(size, refcheck=False)
        self._lacking.resize(size if self._kind == "whole" else 0, refcheck=False)
        self._fill(size)
        if self._kind != "whole":
            return pd.Series(self._values, copy=False)
        return pd.Series(pd.arrays.IntegerArray(self._values, self._lacking), copy=False)

    def _fill(self, end: int) -> None:
        self._values[self._size : end] = 0 if self._kind == "whole" else np.nan
        self._lacking[self._size : end] = True
        self._size = end


def stacked(frames: Sequence[pd.DataFrame]) -> pd.DataFrame:
    """Tidy frames one below the other, which stay as they are."""
    return _used_up([frame.copy(deep=False) for frame in frames])


def with_categories(frame: pd.DataFrame) -> pd.DataFrame:
    """The frame with the fields of ``schema.REPEATED``, and instances that rows share, as categories."""
    coded = {name: as_categories(frame[name]) for name in (*REPEATED, "instance_id") if name in frame}
    if "instance_id" in coded and 2 * len(coded["instance_id"].cat.categories) > len(frame):
        del coded["instance_id"]
    return frame.assign(**{name: column.array for name, column in coded.items()})


def filtered(frame: pd.DataFrame, kept: npt.NDArray[np.bool_]) -> pd.DataFrame:
    """The rows to keep, numbered anew. Columns are taken from the frame one by one, so that it is empty afterwards."""
    nothing, columns = _Nothing(int(kept.sum())), {}
    for name in [*frame]:
        column = frame.pop(name)
        columns[name] = nothing.of(name) if column.isna().all() else column[kept].array
    return pd.DataFrame(columns, copy=False)


class _Nothing:
    """Columns without a value; those of one kind are one."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._found: dict[str, pd.Series[Any]] = {}

    def of(self, name: str) -> pd.Series[Any]:
        """Such a column for the field of that name."""
        kind = ALL[name]
        if kind not in self._found:
            self._found[kind] = missing(kind, self._size)
        return self._found[kind]


def _used_up(frames: list[pd.DataFrame]) -> pd.DataFrame:
    """The frames one below the other; column by column, taken from them, so that never all of them are there twice."""
    import pyarrow as pa

    if len(frames) == 1 and (FIELDS | EXTRA).keys() <= {*frames[0].columns}:
        return frames[0]
    nothing, columns = _Nothing(sum(len(frame) for frame in frames)), {}
    for name in [n for n in ALL if n in FIELDS | EXTRA or any(n in frame for frame in frames)]:
        if not any(name in frame for frame in frames):
            columns[name] = nothing.of(name)
            continue
        pieces = [f.pop(name) if name in f else missing(ALL[name], len(f)) for f in frames]
        columns[name] = _in_one_piece(one_below_the_other(pieces))
        del pieces
        pa.default_memory_pool().release_unused()
    return pd.DataFrame(columns, copy=False)


def _in_one_piece(column: pd.Series[Any]) -> pd.Series[Any]:
    """The column as it is; text in one piece, because pieces keep the room they once grew into."""
    import pyarrow as pa

    if not isinstance(column.dtype, pd.StringDtype):
        return column
    whole = pa.array(column)
    return pd.Series(pd.array(whole.combine_chunks() if isinstance(whole, pa.ChunkedArray) else whole, dtype=TEXT))
