"""Files a session uploads: read once, together, and again where the reader says more of them.

The bytes stay with the uploader; kept are what was read and what was said.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import PurePosixPath
from typing import Protocol

import streamlit as st

from michelangelo.errors import DataError, MichelangeloError
from michelangelo.results import Given, NeedsError, NoRowError, Problem, read_uploads
from michelangelo.results.table.tidying import PERCENTAGE
from michelangelo.web.shared import sources

_OUTCOMES, _GIVEN = "f_outcomes", "f_given"


class Upload(Protocol):
    """A file as the uploader hands it over."""

    file_id: str
    name: str

    def getvalue(self) -> bytes:
        """Its bytes."""
        ...


@dataclass(frozen=True)
class Outcome:
    """What became of an upload.

    Attributes:
        file_id: the upload.
        name: its file's name.
        kept: the set made of it, ``""`` where there is none.
        problem: why there is none.
        needs: what it leaves out, ``None`` where nothing.
        percentage: whether its scores look like percentages.
    """

    file_id: str
    name: str
    kept: str = ""
    problem: str = ""
    needs: NeedsError | None = None
    percentage: bool = False


def read_new(files: Sequence[Upload]) -> list[Outcome]:
    """Read the uploads that were not read yet; one may say what another leaves out.

    Returns:
        What became of each, in order.
    """
    outcomes, given = _outcomes(), _given()
    new = [file for file in files if file.file_id not in outcomes]
    if new:
        labels = _labels(files)
        data = {labels[file.file_id]: file.getvalue() for file in files}
        said = {labels[file_id]: what for file_id, what in given.items() if file_id in labels}
        found = read_uploads(data, said, [labels[file.file_id] for file in new])
        for file, one in zip(new, found, strict=True):
            if isinstance(one, MichelangeloError):
                outcomes[file.file_id] = _failed(file, one)
            else:
                name = sources.keep(one)
                outcomes[file.file_id] = Outcome(
                    file.file_id, file.name, name, percentage=_percentage(one.report.problems)
                )
                st.session_state["f_set"] = name
    return [outcomes[file.file_id] for file in files]


def _labels(files: Iterable[Upload]) -> dict[str, str]:
    """The files' names, with a number where one comes twice."""
    labels: dict[str, str] = {}
    for file in files:
        name, count = file.name, 1
        while name in labels.values():
            count += 1
            path = PurePosixPath(file.name)
            name = f"{path.stem} ({count}){path.suffix}"
        labels[file.file_id] = name
    return labels


def _failed(file: Upload, error: MichelangeloError) -> Outcome:
    needs = error if isinstance(error, NeedsError) else None
    looks_like = isinstance(error, NoRowError) and _percentage(error.problems)
    text = str(error)
    named = text if file.name in text or not isinstance(error, DataError) else f"{file.name}: {text}"
    return Outcome(file.file_id, file.name, "", named, needs, looks_like)


def _percentage(problems: Iterable[Problem]) -> bool:
    return any(p.field == "score" and p.remedy == PERCENTAGE for p in problems)


def outcome_of(name: str, files: Sequence[Upload]) -> Outcome | None:
    """What became of the upload a set was made of, where its file is still listed."""
    listed = {file.file_id for file in files}
    return next((o for o in _outcomes().values() if o.kept == name and o.file_id in listed), None)


def said_of(file_id: str) -> Given:
    """What was said of an upload so far."""
    return _given().get(file_id, Given())


def read_again(file_id: str, given: Given) -> None:
    """Read an upload anew, with more said of it; the set made of it before is forgotten."""
    _given()[file_id] = given
    old = _outcomes().pop(file_id, None)
    entry = sources.entries().get(old.kept) if old and old.kept else None
    if entry is not None and entry.kind == "upload":
        sources.remove(entry)


def renamed(old: str, new: str) -> None:
    """Follow a set to its new name."""
    for file_id, outcome in list(_outcomes().items()):
        if outcome.kept == old:
            _outcomes()[file_id] = replace(outcome, kept=new)


def _outcomes() -> dict[str, Outcome]:
    found: dict[str, Outcome] = st.session_state.setdefault(_OUTCOMES, {})
    return found


def _given() -> dict[str, Given]:
    found: dict[str, Given] = st.session_state.setdefault(_GIVEN, {})
    return found
