"""Columns of unknown make into columns of one fixed kind, without guessing and without loops over good cells."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

TEXT = pd.StringDtype(storage="pyarrow", na_value=np.nan)
NONE_WORDS = frozenset(
    {"", "nan", "na", "n/a", "none", "null", "inf", "+inf", "-inf", "infinity", "+infinity", "-infinity"}
)
"""What stands for no number in a column of numbers; in a column of text these words stay text."""

_SHARED = 1000

Mask = npt.NDArray[np.bool_]


class Column(NamedTuple):
    """A converted column.

    Attributes:
        values: the column, missing where there is no value or an unfit one.
        bad: where a cell holds something that is no value of this kind, shape (rows,).
        nothing: where a cell says "no number" in so many words: NaN, an infinity, ``null``; shape (rows,).
    """

    values: pd.Series[Any]
    bad: Mask
    nothing: Mask


def _column_of(data: Any, dtype: Any) -> pd.Series[Any]:
    return pd.Series(pd.array(data, dtype=dtype))


def _none(size: int) -> Mask:
    return np.zeros(size, dtype=bool)


def plain(column: pd.Series[Any]) -> pd.Series[Any]:
    """The column, categories as text."""
    return column.astype(TEXT) if isinstance(column.dtype, pd.CategoricalDtype) else column


def as_categories(column: pd.Series[Any]) -> pd.Series[Any]:
    """A column of text as categories in order of appearance."""
    if isinstance(column.dtype, pd.CategoricalDtype):
        return column
    whole = pa.array(column)
    whole = whole.combine_chunks() if isinstance(whole, pa.ChunkedArray) else whole
    coded = whole.dictionary_encode()
    codes = coded.indices.fill_null(-1).to_numpy(zero_copy_only=False)
    categories = pd.Index(pd.array(coded.dictionary, dtype=TEXT))
    return pd.Series(pd.Categorical.from_codes(codes, categories=categories))


def one_below_the_other(pieces: Sequence[pd.Series[Any]]) -> pd.Series[Any]:
    """Columns of one kind as one; if any has categories, so has the whole."""
    if any(isinstance(piece.dtype, pd.CategoricalDtype) for piece in pieces):
        from pandas.api.types import union_categoricals

        return pd.Series(union_categoricals([as_categories(piece) for piece in pieces]))
    return pd.concat(pieces, ignore_index=True)


def missing(kind: str, size: int) -> pd.Series[Any]:
    """A column of the kind with no value in it."""
    if kind == "text":
        return _column_of(pa.nulls(size, pa.large_string()), TEXT)
    if kind == "number":
        return pd.Series(np.full(size, np.nan))
    if kind == "json":
        return pd.Series(np.full(size, None, dtype=object))
    nothing = np.ones(size, dtype=bool)
    if kind == "whole":
        return pd.Series(pd.arrays.IntegerArray(np.zeros(size, dtype=np.int64), nothing))
    return pd.Series(pd.arrays.BooleanArray(np.zeros(size, dtype=bool), nothing))


def _is_missing(value: Any) -> bool:
    return value is None or value is pd.NA or (isinstance(value, float) and math.isnan(value))


def _as_text(value: Any) -> str | None:
    if _is_missing(value):
        return None
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    return text.encode("utf-8", "replace").decode()


def to_text(cells: pd.Series[Any]) -> Column:
    """Text, or categories of text; numbers and objects are written out, lone surrogates become ``?``."""
    size = len(cells)
    if isinstance(cells.dtype, pd.CategoricalDtype):
        texts = to_text(pd.Series(cells.cat.categories)).values
        if texts.is_unique:
            return Column(cells.cat.rename_categories(pd.Index(texts)), _none(size), _none(size))
        return to_text(cells.astype(object))
    if isinstance(cells.dtype, pd.StringDtype):
        return Column(cells.astype(TEXT), _none(size), _none(size))
    try:
        array = pa.array(cells, type=pa.large_string(), from_pandas=True)
    except (pa.ArrowException, UnicodeEncodeError, TypeError):
        array = pa.array([_as_text(c) for c in cells], type=pa.large_string())
    return Column(_column_of(array, TEXT), _none(size), _none(size))


def _float(value: Any) -> float | None:
    """The number, ``None`` where the cell says there is none, an error where it holds anything else, ``1e999`` too."""
    if _is_missing(value):
        return None
    if isinstance(value, (bool, np.bool_)):
        raise ValueError
    if isinstance(value, str):
        if "_" in value:
            raise ValueError
        number = None if value.strip().lower() in NONE_WORDS else float(value)
        if number is not None and math.isinf(number):
            raise ValueError
        return number
    if isinstance(value, (int, float, np.integer, np.floating)):
        return float(value)
    raise ValueError


def _cell_by_cell(cells: pd.Series[Any], convert: Callable[[Any], float | None]) -> tuple[list[float | None], Mask]:
    bad, out = _none(len(cells)), []
    for i, cell in enumerate(cells):
        try:
            out.append(convert(cell))
        except (ValueError, OverflowError):
            out.append(None)
            bad[i] = True
    return out, bad


def _says_nothing(cells: pd.Series[Any], values: npt.NDArray[np.float64], bad: Mask) -> Mask:
    """Where NaN or an infinity was written down, as against a cell left empty."""
    infinite = np.isinf(values)
    if cells.dtype.kind == "f":
        return infinite
    suspects = np.flatnonzero(~np.isfinite(values) & ~bad)
    in_words = _none(len(cells))
    for i in suspects:
        cell = cells.iloc[i]
        in_words[i] = isinstance(cell, (str, float)) and cell != ""
    return in_words | infinite


def to_number(cells: pd.Series[Any]) -> Column:
    """Floating-point numbers; NaN, infinities and words for none become missing, truth values are unfit."""
    size = len(cells)
    bad = _none(size)
    if isinstance(cells.dtype, pd.StringDtype):
        try:
            values = pc.cast(pa.array(cells.astype(TEXT)), pa.float64()).to_numpy(zero_copy_only=False)
            if np.isinf(values).any():
                raise ValueError
        except (pa.ArrowException, ValueError):
            numbers, bad = _cell_by_cell(cells, _float)
            values = np.array(numbers, dtype=float)
    elif cells.dtype.kind in "iuf":
        values = cells.to_numpy(dtype=float, na_value=np.nan)
    elif pd.api.types.infer_dtype(cells, skipna=True) in ("integer", "floating", "mixed-integer-float", "empty"):
        values = pd.to_numeric(cells).to_numpy(dtype=float, na_value=np.nan)
    else:
        numbers, bad = _cell_by_cell(cells, _float)
        values = np.array(numbers, dtype=float)
    values = np.array(values, dtype=float)
    nothing = _says_nothing(cells, values, bad)
    values[~np.isfinite(values)] = np.nan
    return Column(pd.Series(values), bad, nothing)


def _exact(cells: pd.Series[Any]) -> pd.Series[Any] | None:
    """The column as whole numbers where every cell is one already, so that nothing goes through floating point."""
    try:
        if isinstance(cells.dtype, pd.StringDtype):
            whole = pc.cast(pa.array(cells.astype(TEXT)), pa.int64())
            nothing = whole.is_null().to_numpy(zero_copy_only=False)
            return pd.Series(pd.arrays.IntegerArray(whole.fill_null(0).to_numpy(zero_copy_only=False), nothing))
        if cells.dtype.kind in "iu" or pd.api.types.infer_dtype(cells, skipna=True) == "integer":
            return _column_of(cells, "Int64")
    except (pa.ArrowException, OverflowError, TypeError, ValueError):
        return None
    return None


def to_whole(cells: pd.Series[Any]) -> Column:
    """Whole numbers of 64 bits; a fraction or a number beyond them is unfit."""
    size = len(cells)
    exact = _exact(cells)
    if exact is not None and not exact.isna().any():
        return Column(exact, _none(size), _none(size))
    number = to_number(cells)
    values = number.values.to_numpy()
    fraction = np.isfinite(values) & ((values != np.floor(values)) | (np.abs(values) >= 2.0**63))
    if exact is not None:
        return Column(exact, number.bad, number.nothing)
    whole = _column_of(np.where(fraction, np.nan, values), "Int64")
    big = np.flatnonzero(np.abs(np.nan_to_num(values)) >= 2.0**53)
    for i in big[~fraction[big]]:
        whole.iloc[i] = int(cells.iloc[i])
    return Column(whole, number.bad | fraction, number.nothing)


_TRUTH = {"true": True, "1": True, "yes": True, "false": False, "0": False, "no": False}


def to_truth(cells: pd.Series[Any]) -> Column:
    """Truth values; ``true``, ``1``, ``yes`` and their opposites are understood."""
    size = len(cells)
    if cells.dtype.kind == "b":
        return Column(_column_of(cells, "boolean"), _none(size), _none(size))
    codes, distinct = pd.factorize(cells.astype(object), use_na_sentinel=True)
    words = [str(int(d) if isinstance(d, float) and d.is_integer() else d).strip().lower() for d in distinct]
    known = [_TRUTH.get(w) for w in words]
    unfit = np.array([k is None and w not in NONE_WORDS for k, w in zip(known, words, strict=True)] + [False])
    values = np.array([*known, None], dtype=object)[codes]
    return Column(_column_of(values, "boolean"), unfit[codes], _none(size))


def _object(value: Any) -> Any:
    """The dictionary or list a cell holds; an error where it holds anything else."""
    if isinstance(value, str):
        value = json.loads(value) if value.strip().lower() not in NONE_WORDS else None
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if isinstance(value, (dict, list)):
        return value
    if _is_missing(value):
        return None
    raise ValueError


def to_json(cells: pd.Series[Any]) -> Column:
    """Dictionaries and lists, from objects or from JSON text. Cells that say the same may share one object."""
    size = len(cells)
    if isinstance(cells.dtype, pd.StringDtype):
        codes, distinct = pd.factorize(cells, use_na_sentinel=True)
        objects, unfit = _parsed_at_once(list(distinct)) or _objects(list(distinct))
        values = np.empty(len(objects) + 1, dtype=object)
        values[:-1] = objects
        return Column(pd.Series(values[codes]), np.append(unfit, False)[codes], _none(size))
    objects, unfit = _objects(list(cells))
    values = np.empty(size, dtype=object)
    values[:] = objects
    return Column(pd.Series(values, dtype=object), unfit, _none(size))


def _parsed_at_once(cells: list[str]) -> tuple[list[Any], Mask] | None:
    """All cells as one JSON array, five times as fast as one by one; ``None`` where one of them is unfit."""
    try:
        objects = json.loads(f"[{','.join(cells)}]")
    except (ValueError, RecursionError):
        return None
    fit = len(objects) == len(cells) and all(isinstance(f, (dict, list)) for f in objects)
    return (objects, _none(len(cells))) if fit else None


def _objects(cells: list[Any]) -> tuple[list[Any], Mask]:
    bad, out = _none(len(cells)), []
    shared: dict[str, Any] = {}  # flags, parameters and scores take few different values: one object each
    for i, cell in enumerate(cells):
        try:
            content = _object(cell)
            out.append(
                content if len(shared) > _SHARED or content is None else shared.setdefault(repr(content), content)
            )
        except (ValueError, RecursionError):
            out.append(None)
            bad[i] = True
    return out, bad


CONVERT: dict[str, Callable[[pd.Series[Any]], Column]] = {
    "text": to_text,
    "whole": to_whole,
    "number": to_number,
    "truth": to_truth,
    "json": to_json,
}
