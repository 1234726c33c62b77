"""The configuration of a training with MaskablePPO, see `trialea.training.run`."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field, field_validator

from trialea.configs.values import Count, GameOptions, Real, Settings, Whole
from trialea.envs.errors import OptionError
from trialea.envs.game import Game
from trialea.envs.registry import get_spec
from trialea.training.config.base import (
    Epochs,
    Frames,
    GamesAtOnce,
    Measure,
    NotNegative,
    Ramp,
    Rows,
    RunSettings,
    Share,
    Times,
    Widths,
    check_no_person,
)

Steps = Annotated[Whole, Field(ge=1, le=10**6)]
"""Decisions in each game between two updates."""


class Stage(Settings):
    """A part of the run with its own reward and horizon.

    Attributes:
        until: the share of the run's frames at which the stage ends.
        reward: the learner's reward, see `trialea.envs.game.Reward`; or `"regret"`: minus the cost of each decision by
            the judge's values, which contains no luck.
        horizon: `"game"`; or `"turn"` or `"decision"`: nothing after the learner's turn or decision counts.
        options: game options that differ in this stage. If they change, all games are started again. The sizes of
            observations and actions must stay the same.
    """

    until: Annotated[Real, Field(gt=0, le=1)]
    reward: Literal["win", "score", "regret"]
    horizon: Literal["game", "turn", "decision"]
    options: GameOptions = {}


class Ppo(Settings):
    """The settings of MaskablePPO, under sb3-contrib's names where they exist."""

    environments: GamesAtOnce = 1024
    n_steps: Steps = 32
    batch_size: Rows = 4096
    n_epochs: Epochs = 4
    learning_rate: Ramp = Ramp(start=1e-3, end=1e-5)
    entropy: Ramp = Ramp(start=0.01, end=0.0005)
    gamma: Annotated[Real, Field(gt=0, le=1)] = 1.0
    gae_lambda: Share = 0.95
    clip_range: Annotated[Real, Field(gt=0)] = 0.2
    net_arch: Widths = (128, 128)
    activation: Literal["tanh", "relu"] = "relu"


def _rising(counts: tuple[int, ...]) -> tuple[int, ...]:
    if len(counts) < 2 or list(counts) != sorted(set(counts)):
        raise ValueError(f"must be a rising list of two or more numbers of players, got {list(counts)}")
    return counts


class TrainConfig(RunSettings):
    """Everything that decides a training with MaskablePPO.

    Attributes:
        players: a number; or a rising list of numbers, for all of which one policy is trained: the environments are
            divided among them, and observations are padded, see `trialea.envs.padding.ObservationPadder`.
        frames: the learner's decisions in the whole run, over all environments.
        seat: the learner's seat: a number, `"random"` or `"rotate"`.
        opponents: the weight of each kind of opponent: an agent's name or path, or `"past"` for the learner's past
            selves.
        judge: the name or path of the agent whose action values give the reward `"regret"`.
        past_selves: the number of snapshots of the learner that are kept as opponents, the newest ones.
        priority: which snapshots are drawn more often, see `trialea.training.league.League`.
        snapshots: the number of equal parts into which snapshots divide the run.
        stages: the run's parts, in order; the last must end at 1.
        checkpoints: the number of equal parts into which checkpoints divide the run.
        ppo: the algorithm's settings.
        measure: the measurements during the run.
    """

    players: Count | Annotated[tuple[Count, ...], Field(max_length=16), AfterValidator(_rising)] | None = None  # type: ignore[assignment]
    frames: Frames
    seat: Whole | Literal["random", "rotate"] = "rotate"
    opponents: dict[str, NotNegative] = {"past": 1.0}
    judge: str = "solver"
    past_selves: Annotated[Whole, Field(ge=1, le=10**4)] = 8
    priority: Literal["uniform", "recent", "hard"] = "uniform"
    snapshots: Times = 20
    stages: Annotated[tuple[Stage, ...], Field(max_length=1000)] = (Stage(until=1.0, reward="win", horizon="game"),)
    checkpoints: Times = 10
    ppo: Ppo = Ppo()
    measure: Measure = Measure()

    @field_validator("opponents")
    @classmethod
    def _some_opponent(cls, opponents: dict[str, float]) -> dict[str, float]:
        check_no_person(opponents)
        if not any(opponents.values()):
            raise ValueError(f"must have a weight above 0, got {opponents}")
        return opponents

    @field_validator("stages")
    @classmethod
    def _to_the_end(cls, stages: tuple[Stage, ...]) -> tuple[Stage, ...]:
        ends = [stage.until for stage in stages]
        if not ends or ends != sorted(set(ends)) or ends[-1] != 1.0:
            raise ValueError(f"must end at rising shares of the run, the last at 1, got {ends}")
        if any(stage.reward == "regret" and stage.options for stage in stages):
            raise ValueError(
                "must not change options where the reward is regret: the judge knows the game without them"
            )
        return stages

    def model_post_init(self, context: Any) -> None:
        """Check what concerns several keys at once."""
        rollout = self.ppo.environments * self.ppo.n_steps
        if rollout % self.ppo.batch_size == 1 or min(rollout, self.ppo.batch_size) == 1:
            raise ValueError(
                f"ppo.batch_size must leave no minibatch of a single decision, got {self.ppo.batch_size} for rollouts"
                f" of {rollout} decisions (ppo.environments × ppo.n_steps). Choose another"
            )

    def make_games(self, stage: Stage | None = None) -> tuple[Game, ...]:
        """Return the game to be played for each number of players, with the options of a stage if one is given.

        Raises:
            OptionError: the game doesn't take this number of players or these options, or not in this stage; or one
                policy can't play for all these numbers of players.
        """
        name = get_spec(self.game).name
        counts = self.players if isinstance(self.players, tuple) else (self.players,)
        games = tuple(Game(name, count, **self.options) for count in counts)
        if len({game.num_actions for game in games}) > 1:
            raise OptionError(
                f"players must have the same number of actions in {name}, got {list(counts)}. Train one at a time"
            )
        if stage is None or not stage.options:
            return games
        varied = tuple(Game(name, count, **{**self.options, **stage.options}) for count in counts)
        if [_sizes(game) for game in varied] != [_sizes(game) for game in games]:
            raise OptionError(
                f"a stage must not change {', '.join(stage.options)}: the sizes of observations or actions would change"
            )
        return varied

    def check_games(self) -> None:
        """Raise what `make_games` raises in any stage."""
        for stage in self.stages:
            self.make_games(stage)

    def description(self) -> dict[str, Any]:
        """Return the description of the policy's game, with a list of the numbers of players if there are several."""
        described = self.make_game().description()
        return {**described, "players": list(self.players)} if isinstance(self.players, tuple) else described

    def stage_at(self, frames: int) -> Stage:
        """Return the stage that a run is in after this many frames."""
        return next((stage for stage in self.stages if frames < stage.until * self.frames), self.stages[-1])


def _sizes(game: Game) -> tuple[int, int]:
    """Return the sizes of a game's observations and actions."""
    return game.observation_size, game.num_actions
