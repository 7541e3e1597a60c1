"""What the user named, as batches of files: each becomes one result set; and the files that come with the package."""

from __future__ import annotations

import glob
import itertools
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from michelangelo.errors import DataError, UserError
from michelangelo.results.intake.archives import Contents, Member, is_one_file, is_zip, unpack, walk

if TYPE_CHECKING:
    import pandas as pd

ROWS = "results.jsonl"
"""The row file of a run folder."""

_SIBLINGS = 2000
_PAPER = "spearman_paper.csv"
_PERPLEXITY = "perplexity"
_ENDINGS = (".csv", ".jsonl", ".jsonl.gz", ".parquet")


@dataclass(frozen=True)
class Batch:
    """Files that make one result set.

    Attributes:
        name: the set's name.
        members: its files.
        path: what it was made of: a file, an archive or a folder.
        beside: files a format may look into besides the one it reads, by name.
        lone: whether it is one file, not a folder or an archive.
        named: whether the user named it; else it only matched, and may hold nothing.
        passed: files that were passed over unseen.
        refused: why archives in it, or members of it, were not read, a sentence each.
    """

    name: str
    members: tuple[Member, ...]
    path: Path
    beside: Mapping[str, Path] = field(default_factory=dict)
    lone: bool = True
    named: bool = True
    passed: int = 0
    refused: tuple[str, ...] = ()


def gather(patterns: Sequence[str | Path], workspace: Path) -> Iterator[Batch]:
    """The result sets that files, archives, folders and globs stand for, each file once.

    A folder with a ``results.jsonl`` stands for it. Any other folder stands for every run folder below it, a set each,
    and for all other files below it as one set more.

    Args:
        patterns: what the user named.
        workspace: an empty folder for what archives hold; it must outlive the batches.

    Raises:
        UserError: where one of them stands for nothing.
        DataError: where an archive is refused.
    """
    if not patterns:
        raise UserError("no result file given; name files, archives, folders or a pattern such as runs/**/*.jsonl")
    seen: set[Path] = set()
    counter = itertools.count()
    expanded = [(p, named) for pattern in patterns for p, named in _expand(Path(pattern).expanduser())]
    by_name = {path.resolve() for path, named in expanded if named}
    for path, named in expanded:
        if path.resolve() in seen:
            continue
        seen.add(path.resolve())
        yield from _batches(path, named or path.resolve() in by_name, workspace / str(next(counter)), seen)


def _expand(pattern: Path) -> Iterator[tuple[Path, bool]]:
    if pattern.exists():
        yield pattern, True
        return
    if not glob.has_magic(str(pattern)):
        raise UserError(f"{pattern} does not exist; give a result file, an archive, a run folder or a pattern")
    hits = [Path(p) for p in sorted(glob.glob(str(pattern), recursive=True))]  # noqa: PTH207  (takes absolute patterns)
    hits = [path / ROWS if (path / ROWS).is_file() else path for path in hits]
    matched = [path for path in hits if path.is_file()] or [path for path in hits if path.is_dir()]
    if not matched:
        raise UserError(f"no file matches {str(pattern)!r}")
    yield from ((path, False) for path in matched)


def _batches(path: Path, named: bool, workspace: Path, seen: set[Path]) -> Iterator[Batch]:
    if not path.is_dir():
        yield _archive(path, named, workspace) if is_archive(path) else lone(path, named)
        return
    if (path / ROWS).is_file():
        seen.add((path / ROWS).resolve())
        yield lone(path / ROWS, named)
        return
    contents = walk(path, workspace)
    runs, others = _split(contents)
    for run in runs:
        if run.path.resolve() not in seen:
            seen.add(run.path.resolve())
            yield lone(run.path, named=False)
    if not contents.members:
        if contents.refused:
            raise DataError(contents.refused[0])
        raise UserError(f"{path} holds no {ROWS} and no other result file; give a run folder or a result file")
    others = [m for m in others if m.path.resolve() not in seen]
    seen.update(m.path.resolve() for m in others)
    if others:
        batch = _many(path.resolve().name, others, path, named and not runs, contents.passed)
        yield replace(batch, refused=tuple(contents.refused))


def _split(contents: Contents) -> tuple[list[Member], list[Member]]:
    """The row files of run folders, and all files that lie in no run folder of ours."""
    runs = [m for m in contents.members if m.name.rpartition("/")[2] == ROWS]
    folders = {m.name.rpartition("/")[0] for m in contents.members if m.name.rpartition("/")[2] == "run.json"}
    ours = {m.name.rpartition("/")[0] for m in runs} & folders
    rest = [m for m in contents.members if m not in runs and m.name.rpartition("/")[0] not in ours]
    return runs, rest


def is_archive(path: Path) -> bool:
    """Whether a file is an archive of files.

    Raises:
        UserError: where it can't be opened.
    """
    try:
        return is_zip(path) and not is_one_file(path)
    except OSError as error:
        raise UserError(f"{path} can't be read: {error.strerror or error}") from None


def _archive(path: Path, named: bool, workspace: Path) -> Batch:
    workspace.mkdir(parents=True, exist_ok=True)
    contents = unpack(path, path.name, workspace)
    batch = _many(path.name, contents.members, path, named, contents.passed)
    return replace(batch, refused=tuple(contents.refused))


def _many(name: str, members: Sequence[Member], path: Path, named: bool, passed: int) -> Batch:
    ordered = tuple(sorted(members, key=lambda m: m.name))
    return Batch(name, ordered, path, {m.name: m.path for m in ordered}, lone=False, named=named, passed=passed)


def lone(path: Path, named: bool = True, *, name: str = "", siblings: bool = True) -> Batch:
    """One file as a batch.

    Its name is its path as the user wrote it, because some formats keep model and length in folders' names.

    Args:
        path: the file.
        named: see ``Batch``.
        name: name of the result set; the file's (of a run's ``results.jsonl``: its folder's) where left out.
        siblings: whether formats may look into the other files of its folder.
    """
    folders = [part for part in path.parent.parts if part not in (".", "..", path.anchor)]
    prefix = "".join(f"{part}/" for part in folders)
    beside: dict[str, Path] = {}
    if siblings:
        try:
            around = itertools.islice(path.parent.iterdir(), _SIBLINGS)
            beside = {prefix + p.name: p for p in around if p.name != path.name and p.is_file()}
        except OSError:
            pass
    return Batch(name or _source_name(path), (Member(prefix + path.name, path),), path, beside, named=named)


def _source_name(path: Path) -> str:
    name = path.resolve().parent.name if path.name.startswith(ROWS) else ""
    return name or re.sub(r"\.(gz|zst)$", "", path.name)


def sample_folder() -> Path:
    """Where the sample results lie, in an installed package or in a checkout.

    Raises:
        UserError: where they are missing.
    """
    package = Path(__file__).resolve().parents[2]
    for folder in (package / "_app" / "sample_results", package.parent / "sample_results"):
        if folder.is_dir():
            return folder
    raise UserError("the sample results are missing from this installation; install the package again")


def sample_result_files() -> list[Path]:
    """The sample result files, by name.

    Raises:
        UserError: where they are missing.
    """
    others = (_PAPER, *(p.name for p in sample_perplexity_files()))
    return sorted(p for p in sample_folder().iterdir() if p.name.endswith(_ENDINGS) and p.name not in others)


def sample_perplexity_files() -> list[Path]:
    """The sample files of perplexity rows, by name; see ``runs.perplexity``.

    Raises:
        UserError: where the sample results are missing.
    """
    return sorted(p for p in sample_folder().iterdir() if _PERPLEXITY in p.name and p.name.endswith(".jsonl"))


def paper_correlations() -> pd.DataFrame:
    """The three rank correlations the Michelangelo paper states (its Figure 9: ten models, 128K tokens).

    Returns:
        One row per pair: ``task_a``, ``task_b``, ``rho``, ``n_models``, ``source_title``, ``source_url``.
    """
    import pandas as pd

    return pd.read_csv(sample_folder() / _PAPER)
