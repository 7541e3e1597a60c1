"""Many frames into one without having all of them in memory twice."""

from __future__ import annotations

from typing import Any

import pandas as pd

from michelangelo.results.columns import TEXT, missing
from michelangelo.results.schema import EXTRA, FIELDS, PROVENANCE

_AT_ONCE = 100_000


class Stack:
    """Takes tidy frames one after the other and gives them as one.

    Small frames are joined early, because many small pieces take much more room than few large ones, and columns
    without a value are not kept at all.
    """

    def __init__(self) -> None:
        self._large: list[pd.DataFrame] = []
        self._fresh: list[pd.DataFrame] = []
        self._rows = 0

    def push(self, frame: pd.DataFrame) -> None:
        """Put a frame below the others."""
        self._fresh.append(frame)
        self._rows += len(frame)
        if self._rows >= _AT_ONCE:
            self._join()

    def frame(self) -> pd.DataFrame | None:
        """All rows; ``None`` where no frame was taken. The stack is empty afterwards."""
        frames, self._large, self._fresh = self._large + self._fresh, [], []
        return _stacked(frames)

    def _join(self) -> None:
        joined = _stacked(self._fresh)
        if joined is not None:
            self._large.append(joined[[n for n in joined if n == "aggregate" or joined[n].notna().any()]])
        self._fresh, self._rows = [], 0


def _stacked(frames: list[pd.DataFrame]) -> pd.DataFrame | None:
    """The frames one below the other; column by column, so that never all of them are there twice."""
    import pyarrow as pa

    if not frames or (len(frames) == 1 and (FIELDS | EXTRA).keys() <= {*frames[0].columns}):
        return frames[0] if frames else None
    kinds = FIELDS | EXTRA | PROVENANCE
    blank = missing("text", sum(len(frame) for frame in frames))
    columns = {}
    for name in [n for n in kinds if n in FIELDS | EXTRA or any(n in frame for frame in frames)]:
        if not any(name in frame for frame in frames) and kinds[name] == "text":
            columns[name] = blank
            continue
        pieces = [f.pop(name) if name in f else missing(kinds[name], len(f)) for f in frames]
        columns[name] = _in_one_piece(pd.concat(pieces, ignore_index=True))
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
