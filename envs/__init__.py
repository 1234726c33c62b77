"""The games: their rules, and the environments over them.

`__init__.pyi` lists the public names. Each is imported when it is first used; a game's kernels are compiled when an
environment of it is first made.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
