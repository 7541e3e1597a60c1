"""A batch of files as checked rows, one bounded part after the other, and what was found on the way."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePosixPath

import numpy as np
import numpy.typing as npt
import pandas as pd

from michelangelo.errors import DataError
from michelangelo.results.formats import UnknownFormatError, formats, recognise
from michelangelo.results.intake.archives import Member
from michelangelo.results.intake.files import content_of
from michelangelo.results.intake.gathering import Batch
from michelangelo.results.intake.given import Given, NeedsError, fill
from michelangelo.results.intake.records import NO_MODEL
from michelangelo.results.intake.tables import Table
from michelangelo.results.table.columns import plain
from michelangelo.results.table.repetition import Notes
from michelangelo.results.table.schema import Details, Problem, left_out
from michelangelo.results.table.tidying import KEPT_PROBLEMS, tidy

_POOL_ROWS = 20_000
_LARGE = 2_000
_SMALL_FILE = 1024**2


@dataclass
class FileFound:
    """What reading one file found.

    Attributes:
        name: the file's name in its folder or archive.
        format: name of its format's module.
        title: the format's name for people.
        scale: how its scores became 0 to 1, ``""`` where they stand there like that.
        rows_read: rows it has, unreadable ones included.
        accepted: rows that could be taken.
        samples: of these, how many are samples; the others are averages.
    """

    name: str
    format: str
    title: str
    scale: str = ""
    rows_read: int = 0
    accepted: int = 0
    samples: int = 0

    @property
    def level(self) -> str:
        """``"samples"``, ``"averages"`` or ``"samples and averages"``; ``""`` where no row was taken."""
        averages = self.accepted - self.samples
        return " and ".join(word for word, n in (("samples", self.samples), ("averages", averages)) if n)


@dataclass
class _Pending:
    """A table that waits to be checked together with others."""

    file: int
    table: Table
    rows: Sequence[int]
    small: bool


@dataclass
class Part:
    """Checked rows.

    Attributes:
        frame: tidy rows, see ``tidying.Tidy``; repeated ones are still there.
        names: for each row the name of its file, shape (rows,).
    """

    frame: pd.DataFrame
    names: npt.NDArray[np.object_]


@dataclass
class Intake:
    """Reads a batch; ``parts`` fills the rest.

    Attributes:
        batch: what to read.
        given: what the user says of it.
        details: which of the bulky fields are wanted.
        files: what was found, by file that could be read.
        passed: files that hold no results.
        refused: why others could not be read, a sentence each.
        needs: what yet others leave out.
        problems: the first ``KEPT_PROBLEMS`` problems.
        problem_count: all of them.
        notes: sentences on the batch as a whole.
    """

    batch: Batch
    given: Given = field(default_factory=Given)
    details: Details = True
    files: list[FileFound] = field(default_factory=list)
    passed: int = 0
    refused: list[str] = field(default_factory=list)
    needs: list[NeedsError] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    problem_count: int = 0
    notes: Notes = field(default_factory=Notes)

    def parts(self) -> Iterator[Part]:
        """The batch's rows.

        Raises:
            DataError: where a lone file can't be read.
            UserError: where it can't be opened.
        """
        self.passed, self.refused = self.batch.passed, list(self.batch.refused)
        pool: list[_Pending] = []
        for member in self._distinct():
            for pending in self._read(member):
                if not pending.small or len(pending.table.cells) >= _LARGE:
                    yield from self._checked([pending])
                    continue
                pool.append(pending)
                if sum(len(p.table.cells) for p in pool) >= _POOL_ROWS:
                    yield from self._checked(pool)
                    pool = []
        if pool:
            yield from self._checked(pool)
        self.problems = sorted(self.problems, key=lambda p: (p.file, p.row))[:KEPT_PROBLEMS]

    def _distinct(self) -> Iterator[Member]:
        """The files, packed and plain copies of one file only once."""
        copies: dict[str, list[Member]] = {}
        for member in self.batch.members:
            copies.setdefault(member.name.removesuffix(".gz").removesuffix(".zst"), []).append(member)
        for same in copies.values():
            contents: set[str] = set()
            for member in same:
                content = content_of(member.path) if len(same) > 1 else ""
                if content and content in contents:
                    self.notes.say(1, "1 file is a packed copy of another", "{n} files are packed copies of others")
                else:
                    contents.add(content)
                    yield member

    def _read(self, member: Member) -> Iterator[_Pending]:
        weak, unwanted, short = False, left_out(self.details), PurePosixPath(member.name).name
        try:
            key, look = recognise(member.path, member.name, shown=short if self.batch.lone else member.name)
            form = formats()[key]
            weak = form.late > 0
            file = FileFound(member.name, key, form.title)
            start = 1
            for table in form.tables(look, details=self.details, beside=self._beside(member), given=self.given):
                rows = table.rows if table.rows is not None else range(start, start + len(table.cells))
                start += len(table.cells)
                cells, scale = _scaled(table, self.given)
                cells = cells.drop(columns=unwanted.intersection(cells.columns))
                cells = fill(cells, self.given, short if self.batch.lone else member.name)
                file.scale = scale or file.scale
                if file not in self.files:
                    self.files.append(file)
                small = member.path.stat().st_size < _SMALL_FILE
                yield _Pending(len(self.files) - 1, replace(table, cells=cells), rows, small)
        except UnknownFormatError:
            if self.batch.lone:
                raise
            self.passed += 1
        except NeedsError as error:
            if self.batch.lone:
                raise NeedsError(short, error.fields, error.proposal, error.why) from None
            if error.proposal is not None and not error.proposal.likely:
                self.passed += 1
            else:
                self.needs.append(error)
        except DataError as error:
            if self.batch.lone:  # people know it by its name, not by the path that formats go by
                raise DataError(str(error).replace(member.name, short)) from error
            if weak:
                self.passed += 1
            else:
                self.refused.append(f"{member.name}: {error}" if member.name not in str(error) else str(error))

    def _beside(self, member: Member) -> dict[str, Path]:
        return {name: path for name, path in self.batch.beside.items() if name != member.name}

    def _checked(self, pool: list[_Pending]) -> Iterator[Part]:
        sizes = [len(p.table.cells) for p in pool]
        origin = np.repeat(np.array([p.file for p in pool], dtype=np.int64), sizes)
        rows = np.concatenate([np.asarray(p.rows, dtype=np.int64) for p in pool])
        cells = pool[0].table.cells if len(pool) == 1 else _together([p.table.cells for p in pool])
        for pending in pool:
            self._take_table(pending)
        tidied = tidy(cells, unique=False)
        self.notes.add(tidied.notes)
        self.problem_count += tidied.problem_count
        for problem in tidied.problems:
            at = problem.row - 1
            self._list(replace(problem, row=int(rows[at])), int(origin[at]))
        origin = origin[tidied.positions]
        aggregate = tidied.frame["aggregate"].to_numpy(dtype=bool)
        for number, count in zip(*np.unique(origin, return_counts=True), strict=True):
            self.files[number].accepted += int(count)
            self.files[number].samples += int((~aggregate[origin == number]).sum())
        tidied.frame["source"] = plain(tidied.frame["source"]).fillna(self.batch.name)
        tidied.frame["family"] = _families(tidied.frame)
        yield Part(tidied.frame, np.array([file.name for file in self.files], dtype=object)[origin])

    def _take_table(self, pending: _Pending) -> None:
        table, file = pending.table, self.files[pending.file]
        unread = len(table.problems) + table.unlisted
        file.rows_read += len(table.cells) + unread
        self.problem_count += unread
        for problem in table.problems:
            self._list(problem, pending.file)
        for message in table.messages:
            self.notes.say(1, message)

    def _list(self, problem: Problem, file: int) -> None:
        if len(self.problems) < 2 * KEPT_PROBLEMS:
            self.problems.append(problem if self.batch.lone else replace(problem, file=self.files[file].name))


def _families(frame: pd.DataFrame) -> pd.Series[str]:
    """Families, where missing told by the model's name."""
    from michelangelo.models.families import family_of

    lacking = frame["family"].isna() & frame["model"].ne(NO_MODEL)
    if not lacking.any():
        return frame["family"]
    known = {model: family_of(model) for model in frame.loc[lacking, "model"].unique()}
    family = plain(frame["family"])
    return family.where(~lacking, plain(frame["model"]).map(known).astype(family.dtype))


def _together(tables: list[pd.DataFrame]) -> pd.DataFrame:
    names = dict.fromkeys(name for table in tables for name in table.columns)
    return pd.DataFrame(
        {
            name: [v for t in tables for v in (t[name].astype(object) if name in t else [None] * len(t))]
            for name in names
        },
        dtype=object,
    )


def _scaled(table: Table, given: Given) -> tuple[pd.DataFrame, str]:
    """The table's cells with scores divided as the user says, where the format has no scale of its own."""
    cells, scale = table.cells, given.scale
    if scale is None or scale == 1 or table.scale or "score" not in cells:
        return cells, table.scale
    values = pd.to_numeric(cells["score"], errors="coerce")
    divided = cells["score"].astype(object).mask(values.notna(), values / scale)
    return cells.assign(score=divided), f"scores were divided by {scale:g}, as asked"
