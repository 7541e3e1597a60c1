"""Files, archives, folders and uploads in, one frame and an honest report out."""

from __future__ import annotations

import hashlib
import re
import tempfile
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd

from michelangelo.errors import DataError, MichelangeloError, UserError
from michelangelo.results.intake.files import sha256_of
from michelangelo.results.intake.gathering import Batch, gather, is_archive, lone
from michelangelo.results.intake.given import Given, NeedsError
from michelangelo.results.loading.reading import Intake
from michelangelo.results.loading.report import Facts, Loaded, Owing, Report, report_of
from michelangelo.results.table.repetition import Notes, repetitions
from michelangelo.results.table.schema import Details, Problem
from michelangelo.results.table.stacking import Stack, filtered, stacked
from michelangelo.results.table.tidying import tidy

WARNINGS = 10
"""How many warnings ``load_results`` gives at most, and one more that says how many sentences there are besides."""

__all__ = ["Loaded", "Report", "combine", "load_results", "read_bytes", "read_file", "read_files", "read_uploads"]


def read_batch(batch: Batch, given: Given | None = None, *, details: Details = True) -> Loaded:
    """Read one result set into memory.

    Args:
        batch: its files, see ``gathering.gather``.
        given: what the user says of them.
        details: which of the bulky fields of ``schema.DETAILS`` are wanted, all, none or those named; curves need none.
            Unless all are wanted, the fields of ``schema.REPEATED`` come as categories.

    Raises:
        UserError: where a file can't be opened.
        NeedsError: where all that is there leaves out what a row needs.
        DataError: where nothing usable is there.
    """
    intake, facts = Intake(batch, given or Given(), details), Facts()
    owing = Owing({member.name: member.path for member in batch.members})
    stack = Stack(categories=details is not True)
    for part in intake.parts():
        facts.take(part.frame)
        owing.take(part.frame, part.names)
        stack.push(part.frame)
    frame = stack.frame()
    if frame is None or not len(frame):
        raise nothing_usable(intake)
    repeated = repetitions(frame)
    if repeated.dropped.any():
        frame = filtered(frame, ~repeated.dropped)
    accepted = len(frame)
    owed = owed_frame(owing.rows(repeated.dropped), batch.name)
    if owed is not None:
        frame = stacked([frame, owed])
    more = unfinished(len(frame) - accepted, accepted)
    return Loaded(frame, report_of(intake, accepted, repeated, facts, digest_of(batch, intake), more))


def owed_frame(rows: list[dict[str, Any]], source: str) -> pd.DataFrame | None:
    """Tidy rows for what unfinished runs still owe; ``None`` where they owe nothing."""
    return tidy(rows).frame.assign(source=source) if rows else None


def unfinished(owed: int, there: int) -> list[str]:
    """What is said of a run that owes answers."""
    if not owed:
        return []
    return [
        f"the run is not finished: {owed:,} of {owed + there:,} planned samples were not asked and count as not "
        "measured"
    ]


class NoRowError(DataError):
    """A file of a known format without a row that can be taken.

    Attributes:
        problems: what is wrong with its rows.
    """

    def __init__(self, message: str, problems: Sequence[Problem] = ()) -> None:
        super().__init__(message)
        self.problems = tuple(problems)


def nothing_usable(intake: Intake) -> DataError:
    """Why a batch yields no row."""
    name = intake.batch.name
    if intake.problems:
        return NoRowError(f"{_shown(intake.batch)} has no usable row: {intake.problems[0]}", intake.problems)
    if intake.files and not intake.needs:
        return NoRowError(f"{_shown(intake.batch)} has no usable row")
    if intake.needs:
        fields = tuple(dict.fromkeys(f for need in intake.needs for f in need.fields))
        proposal = next((need.proposal for need in intake.needs if need.proposal is not None), None)
        return NeedsError(f"{name} ({intake.needs[0].name})", fields, proposal)
    if intake.refused:
        more = f" (and {len(intake.refused) - 1:,} files more)" if len(intake.refused) > 1 else ""
        return DataError(intake.refused[0] + more)
    return DataError(f"{name} holds no result file of a known format ({intake.passed:,} files were looked at)")


def _shown(batch: Batch) -> str:
    return batch.path.name if batch.lone else batch.name


def digest_of(batch: Batch, intake: Intake) -> str:
    """sha256 of the file; of a folder with several files of results: of all files' names and sizes."""
    if batch.path.is_file():
        return sha256_of(batch.path)
    if len(intake.files) == 1:
        return sha256_of(next(m.path for m in batch.members if m.name == intake.files[0].name))
    listing = "".join(f"{m.name}\0{m.path.stat().st_size}\n" for m in batch.members)
    return hashlib.sha256(listing.encode()).hexdigest()


def read_file(
    path: str | Path, *, source: str | None = None, details: Details = True, given: Given | None = None
) -> Loaded:
    """Read one result file of any known format, recognised by its content, or an archive of such files.

    Args:
        path: the file.
        source: name of the result set; the file's name (of a run's ``results.jsonl``: its folder's) where left out.
        details: which of the bulky fields of ``schema.DETAILS`` are wanted, all, none or those named; curves need none.
            Unless all are wanted, the fields of ``schema.REPEATED`` come as categories.
        given: what the user says of it.

    Raises:
        UserError: where the file can't be opened.
        NeedsError: where it leaves out what every row needs.
        DataError: where it is of no known format or has no usable row.
    """
    file = Path(path)
    if file.is_dir():
        raise UserError(f"{file} is a folder; give a file, or use load_results")
    if not is_archive(file):
        batch = lone(file)
        return read_batch(replace(batch, name=source or batch.name), given, details=details)
    with tempfile.TemporaryDirectory() as folder:
        (batch,) = gather([file], Path(folder))
        return read_batch(replace(batch, name=source or batch.name), given, details=details)


def read_bytes(name: str, data: bytes, given: Given | None = None) -> Loaded:
    """Read an upload.

    Args:
        name: the file's name as the browser gives it; folders in it are not followed.
        data: its bytes.
        given: what the user says of it.

    Raises:
        NeedsError: as ``read_file``.
        DataError: as ``read_file``.
    """
    (loaded,) = read_uploads({name: data}, {name: given or Given()})
    if isinstance(loaded, MichelangeloError):
        raise loaded
    return loaded


def read_uploads(
    uploads: Mapping[str, bytes], given: Mapping[str, Given], wanted: Sequence[str] | None = None
) -> list[Loaded | MichelangeloError]:
    """Read files that were uploaded together; one may say what another leaves out.

    Args:
        uploads: bytes by name as the browser gives it; folders in it are not followed.
        given: what the user says of each.
        wanted: names of those to read, all where left out; formats may look into the others.

    Returns:
        For each of ``wanted`` its rows, or why it can't be read.
    """
    loaded: list[Loaded | MichelangeloError] = []
    with tempfile.TemporaryDirectory() as folder:
        here, workspace = Path(folder) / "files", Path(folder) / "unpacked"
        here.mkdir()
        paths = {}
        for number, (name, data) in enumerate(uploads.items()):
            base = base_name(name)
            path = here / base if not (here / base).exists() else here / f"{number}_{base}"
            path.write_bytes(data)
            paths[name] = path
        for number, name in enumerate(uploads if wanted is None else wanted):
            try:
                loaded.append(_read_upload(paths[name], workspace / str(number), given.get(name)))
            except MichelangeloError as error:
                loaded.append(error)
    return loaded


def _read_upload(path: Path, workspace: Path, given: Given | None) -> Loaded:
    if is_archive(path):
        (batch,) = gather([path], workspace)
        return read_batch(batch, given)
    batch = lone(path, name=path.name)
    prefix = batch.members[0].name.removesuffix(path.name)  # nothing of our own folders belongs to the upload
    members = tuple(replace(m, name=m.name.removeprefix(prefix)) for m in batch.members)
    beside = {name.removeprefix(prefix): p for name, p in batch.beside.items()}
    return read_batch(replace(batch, members=members, beside=beside), given)


def base_name(name: str) -> str:
    """An upload's name without folders and unusual characters, fit to be a file's."""
    base = re.split(r"[/\\]", name)[-1]
    return re.sub(r"[^A-Za-z0-9 ._()@+=,-]", "_", base).strip(" .")[-120:] or "upload"


def read_files(*patterns: str | Path, details: Details = True, given: Given | None = None) -> list[Loaded]:
    """Read every set the patterns stand for; a file with the same content as an earlier one adds nothing.

    A file named itself must be usable; one that merely matches a pattern is passed over with a warning.

    Args:
        *patterns: files, archives, folders or globs, see ``gathering.gather``.
        details: as ``read_file``.
        given: what the user says of them.

    Raises:
        UserError: where a pattern stands for nothing.
        NeedsError: where a named file leaves out what every row needs.
        DataError: where a named file, or every file of a pattern, has no usable row.
    """
    loaded, refused = _read_sets(patterns, details, given)
    for reason in refused:
        warnings.warn(reason, UserWarning, stacklevel=2)
    return loaded


def _read_sets(patterns: Sequence[str | Path], details: Details, given: Given | None) -> tuple[list[Loaded], list[str]]:
    """The sets, and a sentence on each file that merely matched a pattern and holds nothing usable."""
    for pattern in patterns:
        if not isinstance(pattern, str | Path):
            raise UserError(f"{pattern!r} is no file; give names or patterns one by one, as in load_results('a', 'b')")
    loaded: dict[str, Loaded] = {}
    refused: list[str] = []
    with tempfile.TemporaryDirectory() as folder:
        for batch in gather(patterns, Path(folder)):
            try:
                result_set = read_batch(batch, given, details=details)
            except DataError as error:
                if batch.named:
                    raise
                refused.append(str(error))
                continue
            same = loaded.get(result_set.report.sha256)
            if same is None or not _alike(same.frame, result_set.frame):
                loaded[result_set.report.sha256 if same is None else f"{result_set.report.sha256} {len(loaded)}"] = (
                    result_set
                )
    if not loaded:
        raise DataError(refused[0])
    return _distinct_names(list(loaded.values())), [f"passed over: {reason}" for reason in refused]


def _alike(one: pd.DataFrame, other: pd.DataFrame) -> bool:
    """Whether two files of the same bytes say the same: some formats keep model and length in the file's path."""
    columns = ["model", "task", "variant", "target_tokens", "score"]
    return one[columns].equals(other[columns])


def _distinct_names(loaded: list[Loaded]) -> list[Loaded]:
    """The same, with a number after names that occur twice."""
    taken: set[str] = set()
    out = []
    for result_set in loaded:
        name, count = result_set.report.source, 1
        while name in taken:
            count += 1
            name = f"{result_set.report.source} ({count})"
        taken.add(name)
        if name != result_set.report.source:
            source = result_set.frame["source"]
            if isinstance(source.dtype, pd.CategoricalDtype):
                result_set.frame["source"] = source.cat.rename_categories({result_set.report.source: name})
            else:
                result_set.frame["source"] = source.replace(result_set.report.source, name)
            result_set = Loaded(result_set.frame, replace(result_set.report, source=name))
        out.append(result_set)
    return out


def combine(loaded: Iterable[Loaded]) -> pd.DataFrame:
    """One frame of several sets' rows; of a question asked twice in one run the last answer is kept.

    Averages are left out where the samples they were made of are there, see ``repetition.find_repetitions``.
    ``joined`` also says what was left out.
    """
    return joined(loaded)[0]


def joined(loaded: Iterable[Loaded]) -> tuple[pd.DataFrame, tuple[str, ...]]:
    """As ``combine``, and a sentence each on the rows that were left out because another set has them."""
    frames = [result_set.frame for result_set in loaded]
    if len(frames) == 1:
        return frames[0], ()
    whole, notes = stacked(frames), Notes()
    repeated = repetitions(whole)
    repeated.say(notes)
    return repeated.kept(whole), tuple(f"of all sets together: {message}" for message in notes.messages())


def load_results(*patterns: str | Path, details: Details = True, given: Given | None = None) -> pd.DataFrame:
    """One tidy frame of all results that files, archives, folders and glob patterns stand for.

    Example:
        >>> frame = load_results("runs/**/*.jsonl", "other_tool.eval")  # doctest: +SKIP

    Args:
        *patterns: files, zip archives, folders (run folders and those of other tools), or globs.
        details: which of the bulky fields (replies, answers, parameters, further scores, see ``schema.DETAILS``) are
            wanted: all, none, or those named. Curves need none; large files are read several times faster and smaller
            without, and names that repeat (model, task, status, …) then come as pandas categories.
        given: model, task, length, scale or columns' meaning, where the files don't say it.

    Returns:
        One row per model, instance and repeat (or per published average); columns as in ``schema.FIELDS`` and
        ``schema.EXTRA``. A score that was not measured is NaN. What was left out is said by warnings, all of it in
        ``frame.attrs["left_out"]``, a sentence each; for the list of problems use ``read_files``.

    Raises:
        UserError: where a pattern stands for nothing.
        NeedsError: where a file leaves out what every row needs.
        DataError: where a file has no usable row.
    """
    loaded, passed_over = _read_sets(patterns, details, given)
    frame, repeated = joined(loaded)
    left_out = [
        *passed_over,
        *(sentence for result_set in loaded for sentence in result_set.report.left_out),
        *repeated,
    ]
    for text in left_out[:WARNINGS]:
        warnings.warn(text, UserWarning, stacklevel=2)
    if len(left_out) > WARNINGS:
        more = f"{len(left_out) - WARNINGS:,} more things were left out, see frame.attrs['left_out']"
        warnings.warn(more, UserWarning, stacklevel=2)
    frame.attrs["left_out"] = left_out
    return frame
