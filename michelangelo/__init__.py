"""Michelangelo: find out what long-context language models can really do.

What is public stands in ``__init__.pyi``, and is loaded when it is first used, so that importing the package is fast.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
