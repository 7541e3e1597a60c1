"""Frames in, Plotly figures out; one palette, one theme."""

from michelangelo.plots.correlation import correlation_matrix, correlation_pair
from michelangelo.plots.degradation import curves
from michelangelo.plots.heat_map import heat_map
from michelangelo.plots.layout import CONFIG
from michelangelo.plots.paired import paired
from michelangelo.plots.palette import family_look, task_look
from michelangelo.plots.perplexity import perplexity
from michelangelo.plots.prompt_map import prompt_map

__all__ = [
    "CONFIG",
    "correlation_matrix",
    "correlation_pair",
    "curves",
    "family_look",
    "heat_map",
    "paired",
    "perplexity",
    "prompt_map",
    "task_look",
]
