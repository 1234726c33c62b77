"""Dice games as reinforcement-learning environments, with exact solutions to measure agents against.

Importing this package registers every environment with Gymnasium and PettingZoo, and does nothing else. `__init__.pyi`
lists the public names. Each is imported when it is first used, so numba and torch are loaded only when needed.
"""

import os

import lazy_loader

# In a checkout the subpackages are beside this folder. If Python starts there, it takes this folder for the package.
if not os.path.isdir(os.path.join(os.path.dirname(__file__), "envs")):
    __path__.append(os.path.dirname(os.path.dirname(__file__)))

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
__version__ = "0.1.0"

import trialea.games  # noqa: E402, F401  (registers the games, and needs the path above)
