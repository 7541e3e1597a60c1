"""Files and a run whose every text tries to be run, to load something, or to hide what it is."""

from __future__ import annotations

import io
import json
import zipfile
from pathlib import Path
from typing import Any

from michelangelo.runs.plan import Plan
from michelangelo.runs.store import RunFolder
from tests.pages import lines, row

MARK = (
    "![x](http://127.0.0.1:9/a.png) <img src=http://127.0.0.1:9/b.png onerror='window.hacked=1'>"
    "<script>window.hacked=1</script> [l](javascript:window.hacked=1) $x$ :material/home: \u202egpj.exe\u202c"
)
FORMULA = '=HYPERLINK("http://127.0.0.1:9/c","x")'
RUN_ID = "20261201-000000-hostile"
LONG = "w" * 180

TASKS = ("idk", "latent_list", MARK)
MODELS = tuple(f"{lead}{k} {MARK}" for k, lead in enumerate(("", "=1+", "@", "-", "+", "\u200f")))
LENGTHS = (2048, 8192)


def rows() -> list[dict[str, Any]]:
    """Six models on three tasks, twice each, with tags, depths and an option to abstain."""
    texts = dict.fromkeys(("family", "provider", "filler", "response", "error"), MARK)
    return [
        row(**texts, model=model, task=task, view=("absent", "present")[i % 2] if task == "idk" else MARK, params={},
            instance_id=f"{MARK}{task}{length}-{i}", target_tokens=length, seed=i, repeat=repeat, answer=FORMULA,
            extracted=MARK, score=float(i < k), depth=0.1 + 0.8 * (i % 2), scores={"raw": float(i < k), MARK: 0.5},
            tags={"step": f"{MARK}{i % 2}", MARK: str(i % 2)})
        for task in TASKS for k, model in enumerate(MODELS) for length in LENGTHS for i in range(6)
        for repeat in range(2)
    ]  # fmt: skip


def files() -> dict[str, tuple[bytes, str]]:
    """Uploads by name, each with what the page is to say of its rows; the last one can't be read."""
    good = rows()
    bad = [row(score=87, instance_id=MARK), row(status=MARK, instance_id="unknown status")]
    head, table = ["model", "task", "target_tokens", "score"], [[MARK, FORMULA, 2048, 0.5], [FORMULA, MARK, 4096, 1]]
    first = f"{MARK[:30]}.jsonl".replace("/", "")
    plain = lines([row(model=MARK, instance_id=f"z{i}") for i in range(3)])
    return {
        first: (lines([*good, *bad]), f"{len(good) + 2:,} read, {len(good):,} accepted"),
        "=cmd|calc!A1.zip": (_zip({"a/\u202elnosj.jsonl": plain, f"<img src=x>/{LONG}.jsonl": _named(plain, "b"),
                                   "![x](y).txt": MARK.encode()}), "6 read, 6 accepted"),
        f"{LONG}.csv": (_csv([head, *table]), "2 read, 2 accepted"),
        "@sheet.xlsx": (_xlsx([head, *table, [MARK, MARK, 8192, 0.25]]), "3 read, 3 accepted"),
        "**b** ![y](x).csv": (b"a,b\n", ""),
    }  # fmt: skip


def _named(data: bytes, name: str) -> bytes:
    return data.replace(b'"instance_id": "z', f'"instance_id": "{name}'.encode())


def _zip(members: dict[str, bytes]) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return out.getvalue()


def _csv(table: list[list[Any]]) -> bytes:
    return "".join(",".join('"' + str(v).replace('"', '""') + '"' for v in line) + "\n" for line in table).encode()


def _xlsx(table: list[list[Any]]) -> bytes:
    import openpyxl

    book = openpyxl.Workbook()
    for y, line in enumerate(table, 1):
        for x, value in enumerate(line, 1):
            cell = book.active.cell(y, x, value)
            cell.data_type = "s" if isinstance(value, str) else cell.data_type
    out = io.BytesIO()
    book.save(out)
    return out.getvalue()


def write_run(root: Path) -> Path:
    """A finished run whose replies, reasoning and errors are hostile."""
    folder = root / "hostile"
    folder.mkdir(parents=True)
    run = RunFolder(folder)
    run.write_plan(Plan(models=("reader/oracle",), tasks=("idk",), lengths=(512,), count=4, seed=1))
    (folder / "run.json").write_text(
        json.dumps({"run_id": RUN_ID, "created": "2026-12-01T00:00:00+00:00", "versions": {"idk": "1"}})
    )
    state = {"state": "completed", "message": MARK, "planned": 4, "done": 4, "failed": 1, "in_flight": 0, "waits": []}
    (folder / "state.json").write_text(json.dumps(state))
    texts = dict.fromkeys(("family", "provider", "filler", "response", "reasoning", "finish_reason"), MARK)
    options = {"A": MARK, "B": FORMULA, "C": "x", "D": "I don't know"}
    same = {"model": "reader/oracle", "task": "idk", "target_tokens": 512, "context_tokens": 512, "params": {}}
    run.results.write_bytes(
        lines(
            [
                row(**texts, **same, run_id=RUN_ID, instance_id=MARK, seed=1, options=options, answer="D", score=0.0),
                row(**texts, **same, run_id=RUN_ID, instance_id="b", seed=2, options=options, answer=MARK,
                    extracted=None, score=0.0, status="unparsed", flags=[MARK]),
                row(**texts, **same, run_id=RUN_ID, instance_id="c", seed=3, score=None, status="provider_error",
                    error=f"{MARK} {FORMULA}"),
                row(**texts, **same, run_id=RUN_ID, instance_id="d", seed=4, score=None, status="blocked", error=MARK,
                    tags={MARK: MARK}),
            ]
        )
    )  # fmt: skip
    return folder
