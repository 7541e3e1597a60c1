"""What reading a result set found, and what its unfinished runs still owe, so that no mean hides it."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from michelangelo.results.intake.given import Given, NeedsError
from michelangelo.results.loading.reading import FileFound, Intake
from michelangelo.results.table.repetition import Repetitions
from michelangelo.results.table.schema import Problem

NOT_ASKED = "not_asked"
"""Flag of a row that stands for a planned sample which was never answered; its status is ``cancelled``."""

_NOTED = ["model", "task", "target_tokens", "variant", "filler", "run_id", "family", "provider"]
_VERSIONS = {
    "michelangelo_version": "versions",
    "task_version": "task versions",
    "scorer_version": "scorer versions",
}


class Owing:
    """Counts, while the rows of a set are read, what the runs in it still owe.

    Args:
        files: the set's files by name; of these, run folders' ``results.jsonl`` beside a plan count.
    """

    def __init__(self, files: Mapping[str, Path]) -> None:
        self._plans = {name: plan for name, path in files.items() if (plan := _plan_beside(path))}
        self._distinct: dict[str, list[pd.DataFrame]] = {name: [] for name in self._plans}
        self._rows = 0

    def take(self, frame: pd.DataFrame, names: npt.NDArray[np.object_]) -> None:
        """Note these rows.

        Args:
            frame: tidy rows.
            names: for each row the name of its file, shape (rows,).
        """
        for name, distinct in self._distinct.items():
            places = np.flatnonzero(names == name)
            if len(places):
                rows = frame[_NOTED] if len(places) == len(frame) else frame[_NOTED].iloc[places]
                codes = rows.groupby(_NOTED, dropna=False, sort=False).ngroup().to_numpy()
                first = np.unique(codes, return_index=True)[1]
                where = [places[codes == code] + self._rows for code in range(len(first))]
                distinct.append(rows.iloc[first].assign(places=where))
        self._rows += len(frame)

    def rows(self, dropped: npt.NDArray[np.bool_]) -> list[dict[str, Any]]:
        """A row for every planned sample that is not there; status ``cancelled``, flagged ``NOT_ASKED``.

        Args:
            dropped: rows that do not count because a later one repeats them, shape (rows,).
        """
        owed = []
        for name, parts in self._distinct.items():
            if parts:
                counted = pd.concat(parts, ignore_index=True)
                counted["rows"] = [int((~dropped[places]).sum()) for places in counted["places"]]
                owed += _missing(self._plans[name], counted[counted["rows"] > 0])
        return owed


def _missing(plan: Mapping[str, Any], counted: pd.DataFrame) -> list[dict[str, Any]]:
    each = int(plan["count"]) * int(plan.get("repeats", 1))
    counts = counted.groupby(["model", "task", "target_tokens"])["rows"].sum()
    rows = []
    for model in plan["models"]:
        for task in plan["tasks"]:
            like = _shared(counted[counted["task"] == task], counted[counted["model"] == model], str(model))
            for tokens in plan["lengths"]:
                owed = each - int(counts.get((model, task, tokens), 0))
                row = {"model": model, "task": task, "target_tokens": tokens, "status": "cancelled", **like}
                rows += [{**row, "flags": [NOT_ASKED]} for _ in range(owed)]
    return rows


def _plan_beside(file: Path) -> Mapping[str, Any] | None:
    folder = file.parent
    if file.name != "results.jsonl" or not (folder / "run.json").is_file():
        return None
    try:
        plan = tomllib.loads((folder / "plan.toml").read_text(encoding="utf-8"))
        int(plan["count"]) * int(plan.get("repeats", 1))
        return plan if all(isinstance(plan[name], list) for name in ("models", "tasks", "lengths")) else None
    except (OSError, ValueError, TypeError, KeyError):
        return None


def _shared(of_task: pd.DataFrame, of_model: pd.DataFrame, model: str) -> dict[str, Any]:
    """Fields that every row of the task, and every row of the model, has alike."""
    fields = {"provider": model.partition("/")[0]}
    for rows, names in ((of_task, ("variant", "filler", "run_id")), (of_model, ("family", "provider", "run_id"))):
        for name in names:
            values = rows[name].dropna().unique()
            if len(values) == 1:
                fields[name] = values[0]
    return fields


@dataclass(frozen=True)
class Report:
    """What reading one result set found.

    Attributes:
        format: name of the format's module, e.g. ``"native"``; ``"several"`` where files differ.
        title: the format's name for people.
        source: name of the result set.
        sha256: of the file as it lies on the disk; of a folder: of its files' names and sizes.
        rows_read: rows the files have, unreadable ones included.
        rows_accepted: rows in the frame that stand in the files.
        duplicates: rows that a later one replaced.
        problems: the first ``tidying.KEPT_PROBLEMS`` problems in order of rows.
        problem_count: all of them.
        messages: sentences on the set as a whole.
        first: earliest ``started_at``, or ``None``.
        last: latest ``started_at``, or ``None``.
        conflicts: of the duplicates, how many were measured with another score.
        covered: averages left out because their samples are there.
        files: what was found in each file.
        passed: files that hold no results.
        refused: why files of a folder or archive could not be read, a sentence each.
        needs: what files of a folder or archive leave out.
        said: what the user said of it, as text; with ``sha256`` it decides what the rows are.
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
    conflicts: int = 0
    covered: int = 0
    files: tuple[FileFound, ...] = ()
    passed: int = 0
    refused: tuple[str, ...] = ()
    needs: tuple[NeedsError, ...] = field(default=(), compare=False)
    said: str = ""

    @property
    def rejected(self) -> int:
        """Rows that could not be taken."""
        return self.rows_read - self.rows_accepted - self.duplicates - self.covered

    @property
    def left_out(self) -> tuple[str, ...]:
        """Sentences on what the files hold and the frame doesn't: rows with problems, files that could not be read."""
        count = "1 problem" if self.problem_count == 1 else f"{self.problem_count:,} problems, first"
        problems = [f"{self.source}: {count}: {self.problems[0]}"] if self.problems else []
        unread = [f"{self.source}: not read: {reason}" for reason in (*self.refused, *self.needs)]
        return (*problems, *unread)

    @property
    def level(self) -> str:
        """``"samples"``, ``"averages"`` or ``"samples and averages"``."""
        words = {word for file in self.files for word in file.level.split(" and ") if word}
        return " and ".join(sorted(words, reverse=True))

    @property
    def scales(self) -> tuple[str, ...]:
        """How scores became 0 to 1, each way once; empty where they stand in the files as they are."""
        return tuple(dict.fromkeys(file.scale for file in self.files if file.scale))


@dataclass(frozen=True)
class Loaded:
    """A set's usable rows and what was found on the way.

    Attributes:
        frame: tidy rows, see ``tidying.Tidy``; column ``source`` holds the result set's name.
        report: what reading found.
    """

    frame: pd.DataFrame
    report: Report


@dataclass
class Facts:
    """What a report says of the rows themselves, gathered part by part."""

    first: str | None = None
    last: str | None = None
    versions: dict[tuple[str, str], set[str]] = field(default_factory=dict)

    def take(self, frame: pd.DataFrame) -> None:
        """Note dates and versions of these rows."""
        times = frame["started_at"].dropna()
        if len(times):
            self.first = min(filter(None, (self.first, str(times.min()))))
            self.last = max(filter(None, (self.last, str(times.max()))))
        for name in _VERSIONS:
            if name not in frame or not frame[name].notna().any():
                continue
            pairs = frame.loc[frame[name].notna(), ["task", name]].drop_duplicates()
            for task, version in pairs.itertuples(index=False):
                key = (name, "" if name == "michelangelo_version" else str(task))
                self.versions.setdefault(key, set()).add(str(version))

    def mixed(self) -> list[str]:
        """Sentences on versions that differ where they should not."""
        messages = []
        for (name, task), versions in sorted(self.versions.items()):
            if len(versions) > 1:
                of = f" of {task}" if task else ""
                messages.append(
                    f"the file mixes {_VERSIONS[name]}{of} {', '.join(sorted(versions))}; scores may not be comparable"
                )
        return messages


def report_of(
    intake: Intake, accepted: int, repeated: Repetitions, facts: Facts, sha256: str, more: Sequence[str] = ()
) -> Report:
    """The report on a batch that was read.

    Args:
        intake: the batch, all its parts taken.
        accepted: rows that stay.
        repeated: which rows repeat others.
        facts: dates and versions.
        sha256: of what was read.
        more: further sentences.
    """
    files = tuple(intake.files)
    keys = list(dict.fromkeys(file.format for file in files))
    rows_read = sum(file.rows_read for file in files)
    rejected = rows_read - accepted - repeated.duplicates - repeated.covered
    repeated.say(intake.notes)
    messages = list(intake.notes.messages())
    if rejected:
        messages.append(f"{rejected:,} of {rows_read:,} rows {'was' if rejected == 1 else 'were'} left out")
    messages += [*facts.mixed(), *more]
    if intake.passed:
        messages.append(_passed(intake.passed))
    messages += [f"not read: {reason}" for reason in intake.refused] + [f"not read: {need}" for need in intake.needs]
    return Report(
        format=keys[0] if len(keys) == 1 else "several",
        title=", ".join(dict.fromkeys(file.title for file in files)),
        source=intake.batch.name,
        sha256=sha256,
        rows_read=rows_read,
        rows_accepted=accepted,
        duplicates=repeated.duplicates,
        problems=tuple(intake.problems),
        problem_count=intake.problem_count,
        messages=tuple(messages),
        first=facts.first,
        last=facts.last,
        conflicts=repeated.conflicts,
        covered=repeated.covered,
        files=files,
        passed=intake.passed,
        refused=tuple(intake.refused),
        needs=tuple(intake.needs),
        said="" if intake.given == Given() else repr(intake.given),
    )


def _passed(count: int) -> str:
    return (
        f"{count:,} file that holds no results was passed over"
        if count == 1
        else (f"{count:,} files that hold no results were passed over")
    )
