"""What names say: folders and files of a run, lengths written as text, and the bins of lengths."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path, PurePosixPath

NO_MODEL = "no model (dataset)"
"""Stands for the model in rows of a dataset, which holds questions and no replies."""

EMPTY = "empty output"
"""The error of a reply that is there but blank. The tools score it 0, so it counts as ``unparsed``, not as missing."""

ESTIMATED = "estimated_length"
"""Flag of a row whose nominal length was estimated from a number of characters."""

ZERO_LENGTH = "zero_length"
"""Flag of rows whose nominal length is 0 (a puzzle without filler text)."""

_RUN_TIME = re.compile(r"\d{8}_\d{6}")
_SMALLEST_BIN = 4096


def parts_of(name: str) -> tuple[str, ...]:
    """Folders and file name of a path inside an upload, without packing endings."""
    path = PurePosixPath(name)
    return (*path.parts[:-1], re.sub(r"\.(?:gz|zst)$", "", path.name, flags=re.IGNORECASE))


def stem_of(name: str) -> str:
    """The file name without its ending (``.gz`` and ``.zst`` dropped first)."""
    return PurePosixPath(parts_of(name)[-1]).stem


def folder_after(name: str, marker: str) -> str | None:
    """The folder right below the folder of that name, or ``None`` where there is none."""
    folders = parts_of(name)[:-1]
    return folders[folders.index(marker) + 1] if marker in folders[:-1] else None


def run_id_of(name: str) -> str | None:
    """The time stamp folder of a run, ``YYYYmmdd_HHMMSS``, or ``None``."""
    return next((part for part in reversed(parts_of(name)[:-1]) if _RUN_TIME.fullmatch(part)), None)


def sibling(name: str, beside: Mapping[str, Path] | None, old: str, new: str, ending: str) -> Path | None:
    """The file of the same run that lies under folder ``new`` where this one lies under ``old``, or ``None``."""
    if not beside or old not in parts_of(name)[:-1]:
        return None
    folders = list(PurePosixPath(name).parts[:-1])
    folders[len(folders) - 1 - folders[::-1].index(old)] = new
    return beside.get("/".join([*folders, stem_of(name) + ending]))


def upper_bound(tokens: int) -> int:
    """The upper bound of a length's power-of-two bin; MRCR's begin with ``[4096, 8192]`` and ``(8192, 16384]``."""
    if tokens == _SMALLEST_BIN:
        return 2 * _SMALLEST_BIN
    return 1 << max(0, tokens - 1).bit_length()


def folder_of(name: str) -> PurePosixPath:
    """The folder part of a name inside an upload; ``.`` where there is none."""
    return PurePosixPath(name).parent


def packed_base(name: str) -> str:
    """The last part of a name, without ``.gz`` or ``.zst``."""
    return re.sub(r"\.(?:gz|zst)$", "", PurePosixPath(name).name, flags=re.IGNORECASE)
