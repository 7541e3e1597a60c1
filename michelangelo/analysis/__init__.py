"""Frames in, frames out: curves with intervals, derived numbers, rank correlations, the X-ray of a task.

Every formula, its source and how often its intervals cover the truth: ``docs/statistics.md``.
What is public stands in ``__init__.pyi``, and is loaded when it is first used: much of it needs pandas and SciPy.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
