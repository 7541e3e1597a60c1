"""Foreign result files made here: written, read by the one format that takes them, and made tidy."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from michelangelo.results.formats import formats
from michelangelo.results.intake.files import look_at
from michelangelo.results.intake.tables import Table
from michelangelo.results.table.tidying import tidy

OURS = (
    *("aisbench", "babilong", "context_arena", "deepmind_mrcr", "hash_hop", "niah"),
    *("openai_mrcr", "opencompass", "opencompass_result", "ruler"),
)
NAN = float("nan")
RUN = "2026-05-01T10-00-00.123456"
PIECE = "A grey heron waits.\nThe pond forgets it.\nRain."
KEY = "HG16JqtQy9"


def put(folder: Path, name: str, content: Any) -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    if isinstance(content, bytes):
        path.write_bytes(content)
    elif isinstance(content, str):
        path.write_text(content, encoding="utf-8")
    elif name.endswith("jsonl") and isinstance(content, list):
        path.write_text("".join(json.dumps(row) + "\n" for row in content), encoding="utf-8")
    elif isinstance(content, pd.DataFrame):
        content.to_parquet(path, index=False) if name.endswith("parquet") else content.to_csv(path, index=False)
    else:
        path.write_text(json.dumps(content), encoding="utf-8")
    return path


def lines(*items: Any) -> str:
    return "".join(json.dumps(item) + "\n" for item in items)


def read(path: Path, root: Path | None = None, *, details: bool = True) -> Table:
    """Read as a folder upload with ``root`` would be; alone where it is left out."""
    name = path.relative_to(root).as_posix() if root else path.name
    look = look_at(path, name)
    found = [key for key, module in formats().items() if module.sniff(look)]
    beside = {p.relative_to(root).as_posix(): p for p in root.rglob("*") if p.is_file() and p != path} if root else {}
    return formats()[found[0]].read(look, details=details, beside=beside)


def imported(root: Path, name: str, content: object, beside: Mapping[str, Path] | None = None, **options: Any) -> Table:
    """What the one format that takes the file for its own reads of it."""
    look = look_at(put(root, name, content), name)
    takers = [key for key in OURS if formats()[key].sniff(look)]
    assert len(takers) == 1, takers
    read: Any = formats()[takers[0]].read
    table: Table = read(look, **({"beside": beside} if beside is not None else {}), **options)
    return table


def frame_of(table: Table) -> pd.DataFrame:
    """The tidy rows, with 1 where a length is nowhere."""
    cells = table.cells.copy()
    if "target_tokens" not in cells:
        cells["target_tokens"] = None
    cells["target_tokens"] = cells["target_tokens"].where(cells["target_tokens"].notna(), 1)
    return _tidied(cells, table)


def means(frame: pd.DataFrame, *by: str) -> dict[Any, float]:
    grouped = frame.groupby(by[0] if len(by) == 1 else list(by), dropna=False)["score"].mean()
    found = {key: round(float(value), 4) for key, value in grouped.items()}
    return {k if isinstance(k, str) else tuple(map(str, k)): v for k, v in found.items()}


def rows_of(table: Table) -> list[dict[str, Any]]:
    return table.cells.astype(object).where(table.cells.notna(), None).to_dict("records")


def fits(table: Table, **missing: object) -> pd.DataFrame:
    """The tidy frame, what the file doesn't say filled in; nothing may be rejected."""
    cells = table.cells.assign(**{k: v for k, v in missing.items() if k not in table.cells})
    return _tidied(cells, table)


def _tidied(cells: pd.DataFrame, table: Table) -> pd.DataFrame:
    found = tidy(cells, table.rows)
    assert found.rejected == 0, found.problems
    return found.frame
