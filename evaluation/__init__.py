"""Evaluate agents: matches, regret, luck, exact values, tournaments and reports.

`__init__.pyi` lists the public names. Each is imported when it is first used. In this list, each module imports only
from earlier ones: `intervals`, `results`, `states`; `matches` (schedules, and playing); `measures` (regret, luck,
sample size, exact values); `sampled` (evaluate by playing); `tournaments`; `reports`.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
