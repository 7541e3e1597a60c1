"""Result rows: what they are, and how files of any known format become one tidy frame.

What is public stands in ``__init__.pyi``, and is loaded when it is first used: most of it needs pandas.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
