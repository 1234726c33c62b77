"""The configuration of a search for a training's settings, see `trialea.training.tuning`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import Field, field_validator

from trialea.configs import load, shipped
from trialea.configs.values import Count, Flag, Real, Seed, Settings
from trialea.configs.yaml12 import on_one_line
from trialea.envs.errors import OptionError
from trialea.training.config.load import RunConfig, load_config

if TYPE_CHECKING:
    from optuna import Trial  # an optional dependency

FOLDER = "tuning"


class Range(Settings):
    """The numbers from `low` to `high`, both included: whole numbers if both are written as such, else real ones.

    Attributes:
        log: whether to draw evenly in the logarithm.
        step: the distance between numbers, counted from `low`; by default 1 for whole numbers and none for real ones.
    """

    low: Annotated[int, Field(strict=True)] | Real
    high: Annotated[int, Field(strict=True)] | Real
    log: Flag = False
    step: Annotated[Annotated[int, Field(strict=True)] | Real, Field(gt=0)] | None = None

    def model_post_init(self, context: Any) -> None:
        """Check what concerns several keys at once."""
        if self.low > self.high:
            raise ValueError(f"low must be at most high, got {self.low} and {self.high}")
        if self.log and (self.low <= 0 or self.step is not None):
            raise ValueError("a range with log must start above 0 and have no step")
        if self.whole and isinstance(self.step, float):
            raise ValueError(f"step must be a whole number where low and high are, got {self.step}")

    @property
    def whole(self) -> bool:
        """True if the numbers are whole."""
        return isinstance(self.low, int) and isinstance(self.high, int)

    def samples(self) -> tuple[float, ...]:
        """Return the ends, and between real numbers one that isn't likely to be whole."""
        between = self.low + (self.step or (self.high - self.low) / 3**0.5)
        return (self.low, self.high) if self.whole else (self.low, min(between, self.high), self.high)

    def suggest(self, trial: Trial, key: str) -> str:
        """Return the value that Optuna's trial suggests for a key, in YAML."""
        if self.whole:
            step = int(self.step or 1)
            return on_one_line(trial.suggest_int(key, int(self.low), int(self.high), step=step, log=self.log))
        return on_one_line(trial.suggest_float(key, self.low, self.high, step=self.step, log=self.log))


class TuneConfig(Settings):
    """Everything that decides a search.

    Attributes:
        study: the study's name, without slashes.
        base: the training's configuration: a file, or a bundled one.
        changes: changes to the base for every trial: `key=value` items, as `--set` takes them.
        space: the search space: for each key, with dots for nested keys, a `Range` or the list of its values.
        trials: the number of trainings, pruned ones included.
        startup: the number of first trials that are drawn at random; no trial is pruned before this many are complete.
        seed: the seed of the search; the trainings have their own key `seed`.
        metric: the figure to minimise (`regret`) or maximise (`optimal_share`, `win_rate/<opponent>`) at the end of the
            training, by the names of `metrics.jsonl`; by default regret if the game is solved, else the win rate
            against the first opponent.
        pruner: `"median"`: a trial stops if its best measurement so far is worse than the median of the others' at the
            same place; or `"none"`.
        storage: the URL of a database, as SQLAlchemy writes it; by default a file in the study's folder.
    """

    study: Annotated[str, Field(min_length=1, max_length=200, pattern=r"^[^/\\]*$")]
    base: str
    changes: tuple[str, ...] = ()
    space: Annotated[dict[str, Range | tuple[Any, ...]], Field(min_length=1)]
    trials: Annotated[Count, Field(le=10**6)] = 20
    startup: Annotated[Count, Field(le=10**6)] = 5
    seed: Seed = 0
    metric: str = ""
    pruner: Literal["median", "none"] = "median"
    storage: str = ""

    @field_validator("space")
    @classmethod
    def _no_empty_choice(cls, space: dict[str, Any]) -> dict[str, Any]:
        if empty := [key for key, values in space.items() if values == ()]:
            raise ValueError(f"must list at least one value for {', '.join(empty)}")
        return space

    def training(self, values: Sequence[str] = ()) -> RunConfig:
        """Return the configuration of a training, changed by `key=value` items for the keys that are searched."""
        return load_config(self.base, [*self.changes, *values])

    def check_space(self) -> None:
        """Raise `OptionError` if the training doesn't fit, or doesn't with one value of the space alone."""
        self.training()  # an error here isn't the space's
        for key, values in self.space.items():
            for value in values.samples() if isinstance(values, Range) else values:
                try:
                    self.training([f"{key}={on_one_line(value)}"])
                except OptionError as error:
                    raise OptionError(f"space: {key} cannot be {on_one_line(value)}: {error}") from error


def load_tuning_config(path: str | Path, changes: Sequence[str] = ()) -> TuneConfig:
    """Read the configuration of a search from a YAML file, change it and check it; see `trialea.configs.load`.

    Raises:
        OptionError: the file is missing or not a mapping, or a key or value doesn't fit, here or in the training.
    """
    config = load(TuneConfig, path, changes, FOLDER)
    config.check_space()
    return config


def shipped_tuning_configs() -> list[str]:
    """Return the bundled searches, as paths that `load_tuning_config` takes."""
    return shipped(FOLDER)
