"""Train agents from configurations, and search for good settings.

`__init__.pyi` lists the public names. Each is imported when it is first used, so that importing this package loads no
torch. `config` has the configurations, `run` starts and resumes runs; every algorithm has its own module: `ppo`,
`afterstate`, `rllib`.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
