"""The same answer twice: in one file, in a log and its copy, in samples and the averages made of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from michelangelo.results.table.columns import plain
from michelangelo.results.table.schema import MEASURED


class Notes:
    """What happened how often; the notes of several parts of a file add up."""

    def __init__(self) -> None:
        self._counts: dict[tuple[str, str], int] = {}

    def say(self, count: int, one: str, many: str = "") -> None:
        """Note that something happened ``count`` times more.

        Args:
            count: how often; nothing is said of 0.
            one: the sentence where it happened once.
            many: the sentence where it happened ``{n}`` times; the same as ``one`` where left out.
        """
        if count:
            self._counts[one, many] = self._counts.get((one, many), 0) + count

    def add(self, other: Notes) -> None:
        """Take another's notes in."""
        for (one, many), count in other._counts.items():
            self.say(count, one, many)

    def messages(self) -> tuple[str, ...]:
        """One sentence each."""
        return tuple(
            many.replace("{n}", f"{count:,}") if count > 1 and many else one
            for (one, many), count in self._counts.items()
        )


_SAMPLE_KEY = ("run_id", "model", "task", "variant", "instance_id", "repeat", "target_tokens")
_AVERAGE_KEY = (
    *("run_id", "source", "model", "task", "variant", "view", "complexity", "filler", "depth", "target_tokens"),
    *("source_title", "source_url"),
)
_GROUP = ("model", "task", "variant", "target_tokens")
_SAME = 1e-9
_AT_ONCE = 100_000
_HASH_KEYS = ("michelangelo-key", "results-identity")  # 16 characters each, as the hash wants


@dataclass(frozen=True)
class Keys:
    """What tells rows apart, in 16 bytes a row.

    Attributes:
        key: shape (rows, 2); rows with the same two numbers are one answer.
        comparable: whether the row has what it takes to be told apart: samples their instance.
        aggregate: whether it is an average of samples.
        credited: whether it is somebody's published figure.
        cell: number of its model, task, variant and length, shape (rows,).
        score: the score where it was measured, else NaN.
    """

    key: npt.NDArray[np.uint64]
    comparable: npt.NDArray[np.bool_]
    aggregate: npt.NDArray[np.bool_]
    credited: npt.NDArray[np.bool_]
    group: npt.NDArray[np.uint64]
    score: npt.NDArray[np.float64]


@dataclass(frozen=True)
class Repetitions:
    """Which rows say again what others say.

    Attributes:
        repeated: rows that a later one repeats, shape (rows,).
        conflicting: of these, those that the later one contradicts.
        superfluous: averages whose samples are there.
    """

    repeated: npt.NDArray[np.bool_]
    conflicting: npt.NDArray[np.bool_]
    superfluous: npt.NDArray[np.bool_]

    @property
    def dropped(self) -> npt.NDArray[np.bool_]:
        """Rows to leave out, shape (rows,)."""
        return self.repeated | self.superfluous

    @property
    def duplicates(self) -> int:
        """How many rows a later one repeats."""
        return int(self.repeated.sum())

    @property
    def conflicts(self) -> int:
        """Of these, how many were measured with another score than the one that is kept."""
        return int(self.conflicting.sum())

    @property
    def covered(self) -> int:
        """How many averages are left out because the samples they were made of are there."""
        return int(self.superfluous.sum())

    def between(self, start: int, end: int) -> Repetitions:
        """The same of some of the rows."""
        return Repetitions(*(getattr(self, name)[start:end] for name in self.__dataclass_fields__))

    def kept(self, frame: pd.DataFrame) -> pd.DataFrame:
        """The rows that stay, numbered anew; the frame itself where all do."""
        return frame[~self.dropped].reset_index(drop=True) if self.dropped.any() else frame

    def say(self, notes: Notes) -> None:
        """Note what was left out."""
        notes.say(
            self.duplicates,
            "1 row repeats an earlier (run, model, instance, repeat); the last one is kept",
            "{n} rows repeat an earlier (run, model, instance, repeat); the last one is kept",
        )
        notes.say(
            self.conflicts,
            "1 of the repeated rows has another score than the one that is kept",
            "{n} of the repeated rows have another score than the one that is kept",
        )
        notes.say(
            self.covered,
            "1 average was left out, because the samples it was made of are there",
            "{n} averages were left out, because the samples they were made of are there",
        )


def keys_of(frame: pd.DataFrame) -> Keys:
    """What tells the rows of a tidy frame apart.

    A sample is one answer: run, model, task, variant, instance, repeat and length. An average is known by its source,
    model, task, setting and length.
    """
    aggregate = frame["aggregate"].to_numpy(dtype=bool)
    key = np.zeros((len(frame), 2), dtype=np.uint64)
    samples = np.flatnonzero(~aggregate & frame["instance_id"].notna().to_numpy())
    averages = np.flatnonzero(aggregate)
    for places, names in ((samples, _SAMPLE_KEY), (averages, _AVERAGE_KEY)):
        if len(places):
            rows = frame if len(places) == len(frame) else frame.iloc[places]
            key[places] = _hashed(rows, [n for n in names if n in frame], _HASH_KEYS)
    comparable = np.zeros(len(frame), dtype=bool)
    comparable[samples] = comparable[averages] = True
    credited = frame["source_url"].notna().to_numpy() if "source_url" in frame else np.zeros(len(frame), dtype=bool)
    group = _groups(frame)
    measured = frame["status"].isin(MEASURED).to_numpy()
    return Keys(key, comparable, aggregate, credited, group, np.where(measured, frame["score"].to_numpy(), np.nan))


def _groups(frame: pd.DataFrame) -> npt.NDArray[np.uint64]:
    """The same numbers as for any frame, worked out once per distinct cell."""
    codes = frame.groupby(list(_GROUP), dropna=False, sort=False).ngroup().to_numpy()
    _, first = np.unique(codes, return_index=True)
    return _hashed(frame.iloc[first], _GROUP, _HASH_KEYS[:1])[:, 0][codes]


def _hashed(frame: pd.DataFrame, names: Sequence[str], seeds: Sequence[str]) -> npt.NDArray[np.uint64]:
    cells = pd.DataFrame({n: _named(frame[n]) if _is_text(frame[n]) else _number(frame[n]) for n in names})
    hashes = np.zeros((len(frame), len(seeds)), dtype=np.uint64)
    for i, seed in enumerate(seeds):
        hashes[:, i] = pd.util.hash_pandas_object(cells, index=False, hash_key=seed).to_numpy()
    return hashes


def _is_text(column: pd.Series[Any]) -> bool:
    return isinstance(column.dtype, pd.StringDtype | pd.CategoricalDtype)


def _named(column: pd.Series[Any]) -> pd.Series[Any]:
    """The column with "" for what is missing; categories hash as the texts they stand for."""
    if not isinstance(column.dtype, pd.CategoricalDtype) or 4 * len(column.cat.categories) > len(column):
        return plain(column).fillna("")
    return (column if "" in column.cat.categories else column.cat.add_categories([""])).fillna("")


def _number(column: pd.Series[float]) -> npt.NDArray[np.float64]:
    return np.asarray(column.to_numpy(dtype=float, na_value=np.nan), dtype=np.float64)


def joined(keys: Sequence[Keys]) -> Keys:
    """The keys of several frames, one after the other."""
    return Keys(*(np.concatenate([getattr(k, name) for k in keys]) for name in Keys.__dataclass_fields__))


def find_repetitions(keys: Keys) -> Repetitions:
    """Which rows a later one repeats, and which averages their samples make superfluous.

    An average is superfluous where samples of the same model, task, variant and length are there; published figures,
    which have a source of their own, always stay.
    """
    places = np.flatnonzero(keys.comparable)
    places = places[
        pd.Series(keys.key[places, 0]).duplicated(keep=False).to_numpy()
    ]  # most are told apart by half a key
    table = pd.DataFrame({"a": keys.key[places, 0], "b": keys.key[places, 1]})
    repeated = np.zeros(len(keys.key), dtype=bool)
    conflicting = np.zeros(len(keys.key), dtype=bool)
    again = table.duplicated(keep="last").to_numpy()
    if again.any():
        repeated[places] = again
        last = table.assign(place=places).groupby(["a", "b"], sort=False)["place"].transform("last").to_numpy()
        conflicting[places] = again & (np.abs(keys.score[places] - keys.score[last]) > _SAME)
    covered = np.zeros(len(keys.key), dtype=bool)
    if keys.aggregate.any() and not keys.aggregate.all():
        sampled = np.unique(keys.group[~keys.aggregate])
        covered = keys.aggregate & ~keys.credited & ~repeated & np.isin(keys.group, sampled)
    return Repetitions(repeated, conflicting, covered)


def repetitions(frame: pd.DataFrame) -> Repetitions:
    """``find_repetitions`` of a tidy frame."""
    if not frame["aggregate"].any() and not _may_repeat(frame):
        none = np.zeros(len(frame), dtype=bool)
        return Repetitions(none, none, none)
    return find_repetitions(joined([keys_of(frame.iloc[places]) for places in _slices(len(frame))]))


def _slices(size: int) -> list[slice]:
    """Pieces of a frame that are hashed one by one, because hashing takes much room for a moment."""
    return [slice(start, start + _AT_ONCE) for start in range(0, max(1, size), _AT_ONCE)]


def _may_repeat(frame: pd.DataFrame) -> bool:
    """Whether any two samples could be one answer: a quick look, that of most files says no."""
    known = frame["instance_id"].notna()
    rows = frame if known.all() else frame[known]
    telling = [name for name in _SAMPLE_KEY if _varies(rows[name].head(1000)) or _varies(rows[name])]
    if not telling:
        return len(rows) > 1
    hashes = np.concatenate(
        [_hashed(rows.iloc[places], telling, _HASH_KEYS[:1])[:, 0] for places in _slices(len(rows))]
    )
    return bool(pd.Series(hashes).duplicated().any())


def _varies(column: pd.Series[Any]) -> bool:
    return column.nunique(dropna=False) > 1


def drop_duplicates(frame: pd.DataFrame) -> pd.DataFrame:
    """The frame without the rows that ``repetitions`` finds."""
    return repetitions(frame).kept(frame)
