"""The configurations of trainings and of searches: pydantic models alone, without torch, Ray or Optuna.

`base` has what all trainings share; `ppo`, `afterstate` and `rllib` have one algorithm each; `tuning` has the search
for settings; `load` reads any training from YAML.
"""

from trialea.training.config.afterstate import AfterstateConfig
from trialea.training.config.base import Measure, Ramp, RunSettings
from trialea.training.config.load import RunConfig, load_config, shipped_configs
from trialea.training.config.ppo import Ppo, Stage, TrainConfig
from trialea.training.config.rllib import RllibConfig, RllibPpo
from trialea.training.config.tuning import Range, TuneConfig, load_tuning_config, shipped_tuning_configs

__all__ = [
    "AfterstateConfig",
    "Measure",
    "Ppo",
    "Ramp",
    "Range",
    "RllibConfig",
    "RllibPpo",
    "RunConfig",
    "RunSettings",
    "Stage",
    "TrainConfig",
    "TuneConfig",
    "load_config",
    "load_tuning_config",
    "shipped_configs",
    "shipped_tuning_configs",
]
