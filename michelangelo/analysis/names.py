"""What tasks, families and coefficients are called, and the one order of tasks that all figures and pages use."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from michelangelo.lsq.registry import tasks
from michelangelo.lsq.task import Task
from michelangelo.models.registry import is_reader

Per = Literal["task", "family", "model"]
"""What figures have a panel for, each."""

SYMBOL = {"spearman": "ρ", "kendall": "τ", "pearson": "r"}
"""How a coefficient is written."""

NAME = {"spearman": "Spearman's ρ", "kendall": "Kendall's τ", "pearson": "Pearson's r"}
"""What a coefficient is called."""


def tasks_by_title() -> dict[str, Task[Any]]:
    """Every registered task by its title, the paper's own first."""
    found = sorted(tasks().values(), key=lambda task: (not task.paper, task.paper, task.title))
    return {task.title: task for task in found}


def task_title(label: str) -> str:
    """A task's title for people, its variant kept: ``latent_list`` is ``Latent List``."""
    name, dot, rest = label.partition(" · ")
    end = " (published)" if not dot and name.endswith(" (published)") else ""
    known = tasks().get(name.removesuffix(end))
    return f"{known.title if known else name.removesuffix(end)}{end}{dot}{rest}"


def is_paper_task(title: str) -> bool:
    """Whether a title, with or without a variant, is one of the Michelangelo paper's own tasks."""
    return title.partition(" · ")[0] in {task.title for task in tasks().values() if task.paper}


def task_order(labels: Sequence[str]) -> list[str]:
    """Titles or names in the one order all figures use: the paper's tasks, comparison tasks, then published ones.

    Never by how they correlate: an order made from the values shows blocks that are its own work.
    """
    place = {title: k for k, title in enumerate(tasks_by_title())}

    def key(label: str) -> tuple[int, str]:
        title = task_title(label)
        return place.get(title.partition(" · ")[0].removesuffix(" (published)"), len(place)), title.lower()

    return sorted(dict.fromkeys(labels), key=key)


def colour_group(model: str, family: str | None) -> str:
    """What a model's curve is coloured by: its family, of a built-in reader the reader itself, else the model."""
    if is_reader(model):
        return model.split("?")[0]
    return family or model
