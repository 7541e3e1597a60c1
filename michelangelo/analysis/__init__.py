"""Frames in, frames out: curves with intervals, derived numbers, rank correlations, the X-ray of a task.

Every formula, its source and how often its intervals cover the truth: ``docs/statistics.md``.
"""

from __future__ import annotations

import importlib
import sys
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from michelangelo.analysis.abstention import abstention, constant_baselines
    from michelangelo.analysis.cells import records
    from michelangelo.analysis.chance import chance_rates
    from michelangelo.analysis.correlation import (
        beside_the_paper,
        critical_rho,
        paired_scores,
        spearman,
        spearman_by_length,
        task_scores,
    )
    from michelangelo.analysis.crossings import crossovers
    from michelangelo.analysis.degradation import curves
    from michelangelo.analysis.depths import heat_map, with_depth_bin
    from michelangelo.analysis.derived import Area, areas, auc
    from michelangelo.analysis.drops import drops
    from michelangelo.analysis.effective import EffectiveLength, effective_length, effective_lengths
    from michelangelo.analysis.gates import gate
    from michelangelo.analysis.intervals import bootstrap, mean_interval, student, wilson
    from michelangelo.analysis.joint import Joint, joint
    from michelangelo.analysis.measured import Measured, measured
    from michelangelo.analysis.paired import paired_differences
    from michelangelo.analysis.plateaus import plateaus
    from michelangelo.analysis.pooling import binned, pooled, running, subset_weights
    from michelangelo.analysis.provenance import notices, postprocessed_share, provenance
    from michelangelo.analysis.repeats import pass_at_k, repeats
    from michelangelo.analysis.slopes import equal_slopes, slope_differences, slopes
    from michelangelo.analysis.summary import each_series, series_columns, summary
    from michelangelo.analysis.tags import compare_runs, tag_names, with_tag
    from michelangelo.analysis.xray import Xray, xray
    from michelangelo.analysis.xray_anatomy import anatomy

_HOME = {
    "abstention": ("abstention", "constant_baselines"),
    "cells": ("records",),
    "chance": ("chance_rates",),
    "correlation": (
        "beside_the_paper",
        "critical_rho",
        "paired_scores",
        "spearman",
        "spearman_by_length",
        "task_scores",
    ),
    "crossings": ("crossovers",),
    "degradation": ("curves",),
    "depths": ("heat_map", "with_depth_bin"),
    "derived": ("Area", "areas", "auc"),
    "drops": ("drops",),
    "effective": ("EffectiveLength", "effective_length", "effective_lengths"),
    "gates": ("gate",),
    "intervals": ("bootstrap", "mean_interval", "student", "wilson"),
    "joint": ("Joint", "joint"),
    "measured": ("Measured", "measured"),
    "paired": ("paired_differences",),
    "plateaus": ("plateaus",),
    "pooling": ("binned", "pooled", "running", "subset_weights"),
    "provenance": ("notices", "postprocessed_share", "provenance"),
    "repeats": ("pass_at_k", "repeats"),
    "slopes": ("equal_slopes", "slope_differences", "slopes"),
    "summary": ("each_series", "series_columns", "summary"),
    "tags": ("compare_runs", "tag_names", "with_tag"),
    "xray": ("Xray", "xray"),
    "xray_anatomy": ("anatomy",),
}
_LAZY = {name: module for module, names in _HOME.items() for name in names}

__all__ = [
    "Area",
    "EffectiveLength",
    "Joint",
    "Measured",
    "Xray",
    "abstention",
    "anatomy",
    "areas",
    "auc",
    "beside_the_paper",
    "binned",
    "bootstrap",
    "chance_rates",
    "compare_runs",
    "constant_baselines",
    "critical_rho",
    "crossovers",
    "curves",
    "drops",
    "each_series",
    "effective_length",
    "effective_lengths",
    "equal_slopes",
    "gate",
    "heat_map",
    "joint",
    "mean_interval",
    "measured",
    "notices",
    "paired_differences",
    "paired_scores",
    "pass_at_k",
    "plateaus",
    "pooled",
    "postprocessed_share",
    "provenance",
    "records",
    "repeats",
    "running",
    "series_columns",
    "slope_differences",
    "slopes",
    "spearman",
    "spearman_by_length",
    "student",
    "subset_weights",
    "summary",
    "tag_names",
    "task_scores",
    "wilson",
    "with_depth_bin",
    "with_tag",
    "xray",
]


class _Room(ModuleType):
    """Some modules are called like the function they hold; importing one must not hide the function."""

    def __setattr__(self, name: str, value: object) -> None:
        if not (name in _LAZY and isinstance(value, ModuleType)):
            super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Room


def __getattr__(name: str) -> Any:
    """Load what needs pandas only when it is used."""
    if name in _LAZY:
        return getattr(importlib.import_module(f"michelangelo.analysis.{_LAZY[name]}"), name)
    raise AttributeError(f"module 'michelangelo.analysis' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
