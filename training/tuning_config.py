"""The configuration of a search for a training's settings: typed, read from YAML, unknown keys refused."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import yaml
from pydantic import BaseModel, ConfigDict, Field, PositiveInt, StrictInt, field_validator

from trialea.configs import load, shipped
from trialea.envs.errors import OptionError
from trialea.training.config import RunConfig, load_config as load_training

if TYPE_CHECKING:
    from optuna import Trial

FOLDER = "tuning"


def in_yaml(value: Any) -> str:
    """A value in YAML, on one line."""
    text: str = yaml.safe_dump(value, default_flow_style=True, width=math.inf)
    return text.removesuffix("...\n").strip()


class Range(BaseModel):
    """Numbers from `low` to `high`, both included: whole ones if both are, else real ones.

    Attributes:
        log: whether to draw evenly in the logarithm.
        step: their distance from each other, counted from `low`; by default 1, or none for real numbers.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    low: StrictInt | float
    high: StrictInt | float
    log: bool = False
    step: StrictInt | float | None = Field(default=None, gt=0)

    def model_post_init(self, context: Any) -> None:
        """Check what concerns several keys at once."""
        if self.low > self.high or (self.log and (self.low <= 0 or self.step is not None)):
            raise ValueError("a range goes from low to high; with log it begins above 0 and has no step")
        if self.whole and isinstance(self.step, float):
            raise ValueError("whole numbers have a whole step")

    @property
    def whole(self) -> bool:
        """Whether the numbers are whole."""
        return isinstance(self.low, int) and isinstance(self.high, int)

    def suggest(self, trial: Trial, key: str) -> str:
        """What the trial takes for a key, in YAML."""
        if self.whole:
            step = int(self.step or 1)
            return in_yaml(trial.suggest_int(key, int(self.low), int(self.high), step=step, log=self.log))
        return in_yaml(trial.suggest_float(key, self.low, self.high, step=self.step, log=self.log))


class TuneConfig(BaseModel):
    """Everything that decides a search.

    Attributes:
        study: what it is called, without slashes.
        base: the training's configuration: a file, or one that ships with the package.
        changes: of that, for every trial: `key=value` items, as `--set` takes them.
        space: what is searched: for a key, dots into nested ones, a `Range` or the list of its values.
        trials: how many trainings, pruned ones included.
        startup: how many of them are drawn at random, and none pruned before so many were finished.
        seed: of the search; that of the trainings stands in their configuration.
        metric: what is sought the least of (`regret`) or the most (`optimal_share`, `win_rate/<opponent>`), by the
            names of `metrics.jsonl`, at the end of the training; by default regret if the game is solved, else the win
            rate against the first opponent.
        pruner: `"median"`: a trial stops if its best measurement so far is worse than the median of the others' at the
            same place; or `"none"`.
        storage: URL of the database, as SQLAlchemy writes it; by default a file in the study's folder.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    study: str = Field(min_length=1, pattern=r"^[^/\\]*$")
    base: str
    changes: tuple[str, ...] = ()
    space: dict[str, Range | tuple[Any, ...]] = Field(min_length=1)
    trials: PositiveInt = 20
    startup: PositiveInt = 5
    seed: int = Field(default=0, ge=0, lt=2**31)
    metric: str = ""
    pruner: Literal["median", "none"] = "median"
    storage: str = ""

    @field_validator("space")
    @classmethod
    def _no_empty_choice(cls, space: dict[str, Any]) -> dict[str, Any]:
        if empty := [key for key, values in space.items() if values == ()]:
            raise ValueError(f"there is nothing to choose from for {', '.join(empty)}")
        return space

    def training(self, values: Sequence[str] = ()) -> RunConfig:
        """The configuration of a training with these values, `key=value` each, of the keys that are searched."""
        return load_training(self.base, [*self.changes, *values])

    def check_space(self) -> None:
        """Raise `OptionError` where the training, or a value of the space alone in it, does not fit."""
        self.training()  # what is wrong with that is not the space's fault
        for key, values in self.space.items():
            for value in (values.low, values.high) if isinstance(values, Range) else values:
                try:
                    self.training([f"{key}={in_yaml(value)}"])
                except OptionError as error:
                    raise OptionError(f"space: {key} cannot be {in_yaml(value)}: {error}") from error


def load_config(path: str | Path, changes: Sequence[str] = ()) -> TuneConfig:
    """Read a search's configuration from YAML and change it; see `trialea.configs.load`.

    Raises:
        OptionError: the file is missing or not a mapping, or a key or value does not fit, here or in the training.
    """
    config = load(TuneConfig, path, changes, FOLDER)
    config.check_space()
    return config


def shipped_configs() -> list[str]:
    """The searches that the package brings, as paths that `load_config` takes."""
    return shipped(FOLDER)
