"""Read the configuration of a training, whatever its algorithm."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TypeAlias

from trialea.configs import change, check, read, shipped, source
from trialea.envs.errors import OptionError
from trialea.training.config.afterstate import AfterstateConfig
from trialea.training.config.ppo import TrainConfig
from trialea.training.config.rllib import RllibConfig

RunConfig: TypeAlias = TrainConfig | AfterstateConfig | RllibConfig
"""The configuration of a run with any algorithm."""

ALGORITHMS: dict[str, type[AfterstateConfig | RllibConfig]] = {"afterstate": AfterstateConfig, "rllib": RllibConfig}
"""The configurations by the key `algorithm`. Without this key the configuration is MaskablePPO's."""


def load_config(path: str | Path, changes: Sequence[str] = ()) -> RunConfig:
    """Read the configuration of a training from a YAML file, change it and check it.

    Args:
        path: a file; or the path of a bundled one, such as `configs/no_dice.yaml`.
        changes: `key=value` items, with dots for nested keys (`ppo.n_steps=64`) and the value in YAML. The other keys
            of a nested mapping keep their values.

    Returns:
        The configuration of MaskablePPO, or of the algorithm that the key `algorithm` names.

    Raises:
        OptionError: the file is missing or not a mapping, or a key or value doesn't fit; the message names it.
    """
    content, where = read(path), source(path, changes)
    change(content, TrainConfig, (item for item in changes if item.startswith("algorithm=")))
    kind: type[RunConfig] = TrainConfig
    if "algorithm" in content:
        algorithm = content["algorithm"]
        if not isinstance(algorithm, str) or algorithm not in ALGORITHMS:
            known = ", ".join(ALGORITHMS)
            raise OptionError(
                f"{where}: algorithm must be one of {known}, or left out for MaskablePPO, got {algorithm!r}"
            )
        kind = ALGORITHMS[algorithm]
    change(content, kind, changes)
    config = check(kind, content, where)
    config.check_games()
    return config


def shipped_configs() -> list[str]:
    """Return the bundled trainings, as paths that `load_config` takes."""
    return shipped()
