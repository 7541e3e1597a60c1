"""Frames in, frames out: curves with intervals, derived numbers, rank correlations, the X-ray of a task."""

from michelangelo.analysis.abstention import abstention, constant_baselines
from michelangelo.analysis.correlation import critical_rho, paired_scores, spearman, task_scores
from michelangelo.analysis.degradation import curves
from michelangelo.analysis.derived import Area, EffectiveLength, auc, effective_length
from michelangelo.analysis.intervals import bootstrap, wilson
from michelangelo.analysis.measured import Measured, measured
from michelangelo.analysis.provenance import notices, postprocessed_share, provenance
from michelangelo.analysis.summary import each_series, records, series_columns, summary
from michelangelo.analysis.xray import Xray, xray
from michelangelo.analysis.xray_anatomy import anatomy

__all__ = [
    "Area",
    "EffectiveLength",
    "Measured",
    "Xray",
    "abstention",
    "anatomy",
    "auc",
    "bootstrap",
    "constant_baselines",
    "critical_rho",
    "curves",
    "each_series",
    "effective_length",
    "measured",
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
    "xray",
]
