"""Instance rows as Parquet: parameters, messages, segments and certificate nested, its facts as JSON text."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from michelangelo.errors import DataError, UserError
from michelangelo.lsq.instance import KINDS, Instance, Segments
from michelangelo.lsq.registry import tasks

if TYPE_CHECKING:
    import pyarrow as pa

GROUP_CHARACTERS = 2**25
"""Text of one row group, characters: what is in memory at a time."""

_TYPES = {bool: "bool_", int: "int64", float: "float64", str: "string"}


def write_parquet(path: Path, instances: Iterable[Instance]) -> int:
    """Write instances to a Parquet file, one row group in memory at a time.

    Returns:
        The number of instances written.

    Raises:
        UserError: where instances of several tasks don't fit one table.
    """
    import pyarrow.parquet as pq

    source = iter(instances)
    first = next(source, None)
    schema = _schema(first)
    count = 0
    with pq.ParquetWriter(path, schema, compression="zstd", version="2.6") as writer:
        for group in _groups(source, first):
            writer.write_batch(_batch(group, schema))
            count += len(group)
    return count


def _groups(source: Iterator[Instance], first: Instance | None) -> Iterator[list[Instance]]:
    group, size = ([] if first is None else [first]), 0
    for instance in source:
        size += sum(len(m["content"]) for m in (group[-1].messages if group else ()))
        if size > GROUP_CHARACTERS:
            yield group
            group, size = [], 0
        group.append(instance)
    if group:
        yield group


def _schema(first: Instance | None) -> pa.Schema:
    import pyarrow as pa

    text, number, flag = pa.string(), pa.int64(), pa.bool_()
    segment = {"kind": text, "message": pa.int32(), "start": number, "end": number, "unit": text}
    certificate = {
        "holds": flag,
        "full": text,
        "chiselled": text,
        "state_relevant": pa.list_(flag),
        "answer_relevant": pa.list_(flag),
        "filler_inert": flag,
        "promise": flag,
        "facts": text,
    }
    fields = {
        "id": text,
        "task": text,
        "task_version": text,
        "params": _params_type(first),
        "seed": number,
        "tokenizer": text,
        "target_tokens": number,
        "context_tokens": number,
        "messages": pa.list_(pa.struct(list({"role": text, "content": text}.items()))),
        "answer": text,
        "view": text,
        "complexity": number,
        "segments": pa.list_(pa.struct(list(segment.items()))),
        "certificate": pa.struct(list(certificate.items())),
    }
    return pa.schema(list(fields.items()))


def _params_type(first: Instance | None) -> pa.DataType:
    """A struct of the task's declared parameters; JSON text where the values are not of the declared types."""
    import pyarrow as pa

    task = tasks().get(first.task) if first else None
    if first is None or task is None or not first.params:
        return pa.string()
    declared = {p.name: p.type for p in task.parameters}
    if list(declared) != list(first.params) or not all(
        value is None or type(value) is declared[name] for name, value in first.params.items()
    ):
        return pa.string()
    return pa.struct([(name, getattr(pa, _TYPES[kind])()) for name, kind in declared.items()])


def _batch(group: list[Instance], schema: pa.Schema) -> pa.RecordBatch:
    import pyarrow as pa

    as_struct = pa.types.is_struct(schema.field("params").type)
    rows = []
    for instance in group:
        certificate = instance.certificate.as_dict()
        certificate["facts"] = json.dumps(certificate["facts"])
        if as_struct and list(instance.params) != [f.name for f in schema.field("params").type]:
            raise UserError(
                f"a Parquet file holds one task's instances, not also {instance.task}; write .jsonl instead"
            )
        rows.append(
            {
                "params": dict(instance.params) if as_struct else json.dumps(dict(instance.params)),
                "messages": [dict(m) for m in instance.messages],
                "certificate": certificate,
            }
        )
    columns = []
    try:
        for field in schema:
            if field.name == "segments":
                columns.append(_segments_column([i.segments for i in group], field.type))
            elif field.name in rows[0]:
                columns.append(pa.array([row[field.name] for row in rows], field.type))
            else:
                columns.append(pa.array([getattr(i, field.name) for i in group], field.type))
    except (OverflowError, pa.ArrowInvalid, pa.ArrowTypeError, UnicodeEncodeError) as error:
        raise UserError(f"these instances don't fit a Parquet file ({error}); write .jsonl instead") from None
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def _segments_column(all_segments: list[Segments], kind: pa.ListType) -> pa.Array:
    """List-of-struct column straight from the segments' arrays; a row of 100,000 makes no Python objects."""
    import pyarrow as pa

    names = sorted({name for s in all_segments for name in s.unit_names})
    code = {name: i for i, name in enumerate(names)}
    units = [np.array([code[n] for n in s.unit_names], dtype=np.int32)[s.units] for s in all_segments]
    offsets = np.cumsum([0, *(len(s) for s in all_segments)]).astype(np.int32)
    columns = [
        pa.DictionaryArray.from_arrays(_joined([s.kinds for s in all_segments], np.int32), list(KINDS)).cast(
            pa.string()
        ),
        pa.array(_joined([s.messages for s in all_segments], np.int32)),
        pa.array(_joined([s.starts for s in all_segments], np.int64)),
        pa.array(_joined([s.ends for s in all_segments], np.int64)),
        pa.DictionaryArray.from_arrays(_joined(units, np.int32), pa.array(names, pa.string())).cast(pa.string()),
    ]
    values = pa.StructArray.from_arrays(columns, fields=list(kind.value_type))
    return pa.ListArray.from_arrays(pa.array(offsets), values, type=kind)


def _joined(arrays: list[Any], dtype: Any) -> Any:
    return np.concatenate([np.asarray(a, dtype=dtype) for a in arrays])


def read_parquet(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """The rows of a Parquet file by number, from 1, as ``Instance.as_dict`` gives them.

    Raises:
        DataError: where the file is no Parquet file, is cut, or holds JSON text that can't be read.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    number = 0
    try:
        with pq.ParquetFile(path) as file:
            for batch in file.iter_batches(batch_size=1):
                for row in batch.to_pylist():
                    number += 1
                    yield number, _plain(row)
    except (pa.ArrowException, OSError) as error:
        raise DataError(f"{path}: not a Parquet file that can be read ({str(error).splitlines()[0]})") from None
    except (ValueError, RecursionError) as error:
        raise DataError(f"{path}, row {number}: parameters or facts are not JSON ({error})") from None


def _plain(row: dict[str, Any]) -> dict[str, Any]:
    if isinstance(row.get("params"), str):
        row["params"] = json.loads(row["params"])
    certificate = row.get("certificate")
    if isinstance(certificate, dict) and isinstance(certificate.get("facts"), str):
        certificate["facts"] = json.loads(certificate["facts"])
    return row
