"""Models that run on this machine with llama.cpp: two small ones that come as packages, and any GGUF file.

``local/gemma-3-270m`` is a base model: it gets the flat prompt and writes on. ``local/smollm2-135m`` follows
instructions: it gets the messages in its chat template. ``local//abs/path/model.gguf`` and
``local/relative.gguf`` are asked by their chat template where they have one.

A base model's reply ends at the first line break behind some text, as the answers of every task's worked examples do:
what it adds after its answer would only use up the output limit. ``?stop=paragraph`` is for tasks of your own with
longer answers. Where the prompt is a conversation, whose turns have several lines, it ends at the next turn's label.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from importlib.util import find_spec
from pathlib import Path

from michelangelo.errors import UserError
from michelangelo.models.gguf import read_header
from michelangelo.models.local_model import LocalModel, Settings
from michelangelo.models.registry import join_name, parse_settings, provider
from michelangelo.models.weights import PACKAGED, weights_file


@provider("local")
def open_local(model: str, settings: Mapping[str, str]) -> LocalModel:
    """A packaged model or a GGUF file; nothing is loaded and no package needed yet."""
    found = parse_settings(Settings, settings, f"local/{model}")
    name = join_name("local", model, {k: v for k, v in asdict(found).items() if k in settings})
    if model in PACKAGED:
        known = PACKAGED[model]
        return LocalModel(name, known.family, known.window, known.chat, found, lambda: weights_file(model))
    path = Path(model)
    if path.suffix != ".gguf" or not path.is_file():
        there = "no such file" if path.suffix == ".gguf" else f"there are {', '.join(PACKAGED)}, or a .gguf file's path"
        raise UserError(f"no model local/{model}; {there}")
    header = read_header(path)
    return LocalModel(name, header.family, header.context_length, header.chat, found, path.absolute)


def installed(model: str) -> bool:
    """Whether a packaged model could be asked right now; imports nothing."""
    return all(find_spec(package) for package in ("llama_cpp", PACKAGED[model].package))
