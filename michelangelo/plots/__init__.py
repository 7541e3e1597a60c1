"""Frames in, Plotly figures out; one palette, one theme."""

from michelangelo.plots.degradation import curves
from michelangelo.plots.layout import CONFIG
from michelangelo.plots.palette import family_look, task_look
from michelangelo.plots.prompt_map import prompt_map
from michelangelo.plots.report import write_report

__all__ = ["CONFIG", "curves", "family_look", "prompt_map", "task_look", "write_report"]
