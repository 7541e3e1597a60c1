"""Files, folders and uploads in, one frame and an honest report out."""

from __future__ import annotations

import glob
import hashlib
import re
import tempfile
import warnings
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path

import pandas as pd

from michelangelo.errors import DataError, UserError
from michelangelo.results.files import sha256_of
from michelangelo.results.formats import read_as, recognise, title_of
from michelangelo.results.schema import Problem
from michelangelo.results.tidying import KEPT_PROBLEMS, Tidy, drop_duplicates, tidy
from michelangelo.results.unfinished import missing_rows


@dataclass(frozen=True)
class Report:
    """What reading one file found.

    Attributes:
        format: name of the format's module, e.g. ``"native"``.
        title: the format's name for people.
        source: name of the result set.
        sha256: of the file as it lies on the disk.
        rows_read: rows the file has, unreadable ones included.
        rows_accepted: rows in the frame.
        duplicates: rows that a later one replaced.
        problems: the first ``tidying.KEPT_PROBLEMS`` problems in order of rows.
        problem_count: all of them.
        messages: sentences on the file as a whole.
        first: earliest ``started_at``, or ``None``.
        last: latest ``started_at``, or ``None``.
    """

    format: str
    title: str
    source: str
    sha256: str
    rows_read: int
    rows_accepted: int
    duplicates: int
    problems: tuple[Problem, ...]
    problem_count: int
    messages: tuple[str, ...]
    first: str | None
    last: str | None


@dataclass(frozen=True)
class Loaded:
    """A file's usable rows and what was found on the way.

    Attributes:
        frame: tidy rows, see ``tidying.Tidy``; column ``source`` holds the result set's name.
        report: what reading found.
    """

    frame: pd.DataFrame
    report: Report


def read_file(path: str | Path, *, source: str | None = None, details: bool = True) -> Loaded:
    """Read one result file of any known format, recognised by its content.

    Args:
        path: the file.
        source: name of the result set; the file's name (of a run's ``results.jsonl``: its folder's) where left out.
        details: whether replies, answers, parameters and further scores are wanted; curves don't need them.

    Raises:
        UserError: where the file can't be opened.
        DataError: where it is of no known format or has no usable row.
    """
    file = Path(path)
    if file.is_dir():
        raise UserError(f"{file} is a folder; give a file, or use load_results")
    key, look = recognise(file)
    table = read_as(key, look, details=details)
    found = tidy(table.cells, table.rows)
    problems = tuple(sorted((*table.problems, *found.problems), key=lambda p: p.row))[:KEPT_PROBLEMS]
    if not len(found.frame):
        why = f": {problems[0]}" if problems else ""
        raise DataError(f"{file.name} has no usable row{why}")
    owed = missing_rows(file, found.frame)
    frame = pd.concat([found.frame, tidy(owed).frame], ignore_index=True) if owed else found.frame
    name = source or _source_name(file)
    frame["source"] = frame["source"].fillna(name)
    times = frame["started_at"].dropna()
    report = Report(
        format=key,
        title=title_of(key),
        source=name,
        sha256=sha256_of(file),
        rows_read=found.rows_read + len(table.problems),
        rows_accepted=len(found.frame),
        duplicates=found.duplicates,
        problems=problems,
        problem_count=found.problem_count + len(table.problems),
        messages=(*table.messages, *found.messages, *_on_the_whole(found), *_unfinished(len(owed), len(frame))),
        first=str(times.min()) if len(times) else None,
        last=str(times.max()) if len(times) else None,
    )
    return Loaded(frame, report)


def _unfinished(owed: int, planned: int) -> list[str]:
    if not owed:
        return []
    return [
        f"the run is not finished: {owed:,} of {planned:,} planned samples were not asked and count as not measured"
    ]


def _on_the_whole(found: Tidy) -> list[str]:
    said = []
    if found.rejected:
        row = "row was" if found.rejected == 1 else "rows were"
        said.append(f"{found.rejected:,} of {found.rows_read:,} {row} left out")
    versions = sorted(found.frame["michelangelo_version"].dropna().unique())
    if len(versions) > 1:
        said.append(f"the file mixes versions {', '.join(versions)}; scores may not be comparable")
    return said


def _source_name(path: Path) -> str:
    name = path.resolve().parent.name if path.name.startswith("results.jsonl") else ""
    return name or re.sub(r"\.gz$", "", path.name)


def read_bytes(name: str, data: bytes) -> Loaded:
    """Read an upload.

    Args:
        name: the file's name as the browser gives it; folders in it are not followed.
        data: its bytes.

    Raises:
        DataError: as ``read_file``.
    """
    base = re.sub(r"[^A-Za-z0-9 ._()@+=-]", "_", re.split(r"[/\\]", name)[-1]).strip(" .")[-120:] or "upload"
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / base
        path.write_bytes(data)
        loaded = read_file(path, source=base)
    return replace(loaded, report=replace(loaded.report, sha256=hashlib.sha256(data).hexdigest()))


def find_files(*patterns: str | Path) -> list[tuple[Path, bool]]:
    """The files that names, globs and run folders stand for, each once, with whether it was named itself.

    A folder stands for its ``results.jsonl``, or else for every ``results.jsonl`` below it.

    Raises:
        UserError: where one of them stands for nothing.
    """
    found: dict[Path, bool] = {}
    for pattern in patterns:
        for path, named in _expand(Path(pattern).expanduser()):
            found[path] = found.get(path, False) or named
    if not patterns:
        raise UserError("no result file given; name files, run folders or a pattern such as runs/**/*.jsonl")
    return list(found.items())


def _expand(pattern: Path) -> list[tuple[Path, bool]]:
    if pattern.is_file():
        return [(pattern, True)]
    if pattern.is_dir():
        own = pattern / "results.jsonl"
        below = [own] if own.is_file() else sorted(pattern.rglob("results.jsonl"))
        if not below:
            raise UserError(f"{pattern} holds no results.jsonl; give a run folder or a result file")
        return [(path, path == own) for path in below]
    if glob.has_magic(str(pattern)):
        hits = [Path(p) for p in sorted(glob.glob(str(pattern), recursive=True))]  # noqa: PTH207  (takes absolute patterns)
        runs = [path / "results.jsonl" for path in hits if path.is_dir()]
        matched = [(path, False) for path in [*hits, *runs] if path.is_file()]
        if matched:
            return matched
        raise UserError(f"no file matches {str(pattern)!r}")
    raise UserError(f"{pattern} does not exist; give a result file, a run folder or a pattern")


def read_files(*patterns: str | Path, details: bool = True) -> list[Loaded]:
    """Read every file the patterns stand for; a file with the same content as an earlier one adds nothing.

    A file named itself must be usable; one that merely matches a pattern is passed over with a warning.

    Raises:
        UserError: where a pattern stands for nothing.
        DataError: where a named file, or every file of a pattern, has no usable row.
    """
    loaded: dict[str, Loaded] = {}
    refused: list[str] = []
    for path, named in find_files(*patterns):
        try:
            one = read_file(path, details=details)
        except DataError as error:
            if named:
                raise
            refused.append(str(error))
            continue
        loaded.setdefault(one.report.sha256, one)
    if not loaded:
        raise DataError(refused[0])
    for reason in refused:
        warnings.warn(f"passed over: {reason}", UserWarning, stacklevel=2)
    return _distinct_names(list(loaded.values()))


def _distinct_names(loaded: list[Loaded]) -> list[Loaded]:
    """The same, with a number after names that occur twice."""
    taken: set[str] = set()
    out = []
    for one in loaded:
        name, count = one.report.source, 1
        while name in taken:
            count += 1
            name = f"{one.report.source} ({count})"
        taken.add(name)
        if name != one.report.source:
            one.frame["source"] = one.frame["source"].replace(one.report.source, name)
            one = Loaded(one.frame, replace(one.report, source=name))
        out.append(one)
    return out


def combine(loaded: Iterable[Loaded]) -> pd.DataFrame:
    """One frame of several files' rows; of a question asked twice in one run the last answer is kept."""
    frames = [one.frame for one in loaded]
    if len(frames) == 1:
        return frames[0]
    return drop_duplicates(pd.concat(frames, ignore_index=True))


def load_results(*patterns: str | Path, details: bool = True) -> pd.DataFrame:
    """One tidy frame of all results that files, run folders and glob patterns stand for.

    Example:
        >>> frame = load_results("runs/**/*.jsonl", "other_tool.csv")  # doctest: +SKIP

    Args:
        *patterns: files, run folders (their ``results.jsonl``), or globs.
        details: whether replies, answers, parameters and further scores are wanted. Curves don't need them; large
            Parquet files are read several times faster without.

    Returns:
        One row per model, instance and repeat (or per published average); columns as in ``schema.FIELDS`` and
        ``schema.EXTRA``. A score that was not measured is NaN. What was left out is said by a warning; for the list
        of problems use ``read_files``.

    Raises:
        UserError: where a pattern stands for nothing.
        DataError: where a file has no usable row.
    """
    loaded = read_files(*patterns, details=details)
    for one in loaded:
        if one.report.problem_count:
            first = one.report.problems[0]
            text = f"{one.report.source}: {one.report.problem_count:,} problems, first {first}"
            warnings.warn(text, UserWarning, stacklevel=2)
    return combine(loaded)
