"""Frames in, frames out: curves with intervals, derived numbers, rank correlations."""

from michelangelo.analysis.correlation import critical_rho, paired_scores, spearman, task_scores
from michelangelo.analysis.degradation import curves
from michelangelo.analysis.derived import Area, EffectiveLength, auc, effective_length
from michelangelo.analysis.intervals import bootstrap, wilson
from michelangelo.analysis.provenance import notices, postprocessed_share, provenance
from michelangelo.analysis.summary import each_series, records, series_columns, summary

__all__ = [
    "Area",
    "EffectiveLength",
    "auc",
    "bootstrap",
    "critical_rho",
    "curves",
    "each_series",
    "effective_length",
    "notices",
    "paired_scores",
    "postprocessed_share",
    "provenance",
    "records",
    "series_columns",
    "spearman",
    "summary",
    "task_scores",
    "wilson",
]
