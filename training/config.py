"""The configuration of a training run: typed, read from YAML, changed by `key=value`, unknown keys refused."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeAlias

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, NonNegativeFloat, PositiveInt, StrictInt

from trialea.configs import check, read, shipped, source
from trialea.envs.errors import OptionError
from trialea.envs.game import Game
from trialea.envs.registry import get_spec

if TYPE_CHECKING:
    from trialea.training.rllib.config import RllibConfig


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


class Ramp(_Strict):
    """A quantity that goes in a straight line from `start` to `end` over the run."""

    start: NonNegativeFloat
    end: NonNegativeFloat

    def at(self, done: float) -> float:
        """Its value when a share `done` of the run, from 0 to 1, is over."""
        return self.start + (self.end - self.start) * min(1.0, max(0.0, done))


class Stage(_Strict):
    """A part of the run with an aim of its own.

    Attributes:
        until: the share of the run's frames at which it ends.
        reward: what the learner is paid, see `trialea.envs.game.Reward`; or `"regret"`: for each decision what it costs
            by the judge's values, which is free of luck.
        horizon: `"game"`; or `"turn"` or `"decision"` to count nothing that comes after the learner's turn or decision.
        options: options of the game that are otherwise in this part; all games begin anew where they change. What the
            policy sees and can do must be of the same size under them.
    """

    until: float = Field(gt=0, le=1)
    reward: Literal["win", "score", "regret"]
    horizon: Literal["game", "turn", "decision"]
    options: dict[str, Any] = {}


class Ppo(_Strict):
    """MaskablePPO's settings, under the names of sb3-contrib where they are the same."""

    environments: PositiveInt = 1024
    n_steps: PositiveInt = 32
    batch_size: PositiveInt = 4096
    n_epochs: PositiveInt = 4
    learning_rate: Ramp = Ramp(start=1e-3, end=1e-5)
    entropy: Ramp = Ramp(start=0.01, end=0.0005)
    gamma: float = Field(default=1.0, gt=0, le=1)
    gae_lambda: float = Field(default=0.95, ge=0, le=1)
    clip_range: float = Field(default=0.2, gt=0)
    net_arch: tuple[PositiveInt, ...] = (128, 128)
    activation: Literal["tanh", "relu"] = "relu"


class Measure(_Strict):
    """How the policy is measured during training.

    Attributes:
        times: how often, evenly over the run.
        games: games each time against each opponent.
        opponents: against whom.
    """

    times: PositiveInt = 10
    games: PositiveInt = 1000
    opponents: tuple[str, ...] = ("solver",)


class AnyRunConfig(_Strict):
    """What decides any training run.

    Attributes:
        game, players, options: what is played; by default for the fewest players.
        seed: the run's seed: the same seed, machine and versions give the same run.
        threads: torch's threads.
    """

    game: str
    players: PositiveInt | None = None
    options: dict[str, Any] = {}
    seed: int = Field(default=0, ge=0, lt=2**31)
    threads: PositiveInt = 2

    def make_game(self) -> Game:
        """The game to be played, for the fewest players that the run is about.

        Raises:
            OptionError: the game does not take so many players or these options.
        """
        return Game(get_spec(self.game).name, self.players, **self.options)

    def make_games(self) -> tuple[Game, ...]:
        """The game to be played, for each number of players; see `make_game`."""
        return (self.make_game(),)


def _rising(counts: tuple[int, ...]) -> tuple[int, ...]:
    if len(counts) < 2 or list(counts) != sorted(set(counts)):
        raise ValueError(f"several numbers of players are given as a rising list of two or more, not {list(counts)}")
    return counts


class TrainConfig(AnyRunConfig):
    """Everything that decides a training run, beside what decides any.

    Attributes:
        players: a number; or a rising list of them, for all of which one policy is trained: the environments are
            divided among them, and the policy's observations padded to the most, see
            `trialea.envs.padding.ObservationPadder`.
        frames: decisions of the learner, over all environments.
        seat: the learner's seat: a number, `"random"` or `"rotate"`.
        opponents: the share of each kind of opponent: a registered name, or `"past"` for the learner's past selves.
        judge: by whose values of actions the reward `regret` is reckoned: the name or path of an agent that has some.
        past_selves: how many snapshots of the learner are kept as opponents, the newest ones.
        priority: which of them are drawn more often, see `trialea.training.league.League`.
        snapshots: how many are taken over the run.
        stages: the run's parts, in order; the last must end at 1.
        checkpoints: how many are saved over the run.
        ppo: the algorithm's settings.
        measure: measurements during the run.
    """

    players: PositiveInt | Annotated[tuple[PositiveInt, ...], AfterValidator(_rising)] | None = None  # type: ignore[assignment]
    frames: PositiveInt
    seat: StrictInt | Literal["random", "rotate"] = "rotate"
    opponents: dict[str, NonNegativeFloat] = {"past": 1.0}
    judge: str = "solver"
    past_selves: PositiveInt = 8
    priority: Literal["uniform", "recent", "hard"] = "uniform"
    snapshots: PositiveInt = 20
    stages: tuple[Stage, ...] = (Stage(until=1.0, reward="win", horizon="game"),)
    checkpoints: PositiveInt = 10
    ppo: Ppo = Ppo()
    measure: Measure = Measure()

    def model_post_init(self, context: Any) -> None:
        """Check what concerns several keys at once."""
        ends = [stage.until for stage in self.stages]
        if not ends or ends != sorted(set(ends)) or ends[-1] != 1.0:
            raise ValueError(f"stages must end at rising shares of the run, the last at 1, not at {ends}")
        if any(stage.reward == "regret" and stage.options for stage in self.stages):
            raise ValueError("a stage that pays regret is judged in the game as it is: it cannot change options")
        if "human" in (*self.opponents, *self.measure.opponents):
            raise ValueError("a person cannot be an opponent in training: play with `trialea play`")
        if not any(self.opponents.values()):
            raise ValueError(f"opponents need weights that are not all 0, not {self.opponents}")
        rollout = self.ppo.environments * self.ppo.n_steps
        if rollout % self.ppo.batch_size == 1 or min(rollout, self.ppo.batch_size) == 1:
            raise ValueError(
                f"a rollout of {rollout} decisions in minibatches of {self.ppo.batch_size} leaves one with a single"
                " decision, over which advantages cannot be normalised: change ppo.batch_size"
            )

    def make_game(self) -> Game:
        return self.make_games()[0]

    def make_games(self, stage: Stage | None = None) -> tuple[Game, ...]:
        """The game to be played, for each number of players, or what a stage makes of it.

        Raises:
            OptionError: the game does not take so many players or these options, or not in this stage; or one policy
                cannot play for so many players.
        """
        name = get_spec(self.game).name
        counts = self.players if isinstance(self.players, tuple) else (self.players,)
        games = tuple(Game(name, count, **self.options) for count in counts)
        if len({game.num_actions for game in games}) > 1:
            raise OptionError(f"{name} does not offer as many actions to {list(counts)} players: train one at a time")
        if stage is None or not stage.options:
            return games
        varied = tuple(Game(name, count, **{**self.options, **stage.options}) for count in counts)
        if [_size(game) for game in varied] != [_size(game) for game in games]:
            raise OptionError(
                f"a stage cannot change {', '.join(stage.options)}: what the policy sees or does would grow"
            )
        return varied

    def description(self) -> dict[str, Any]:
        """What the policy is for: a game's description, with all numbers of players where there are several."""
        described = self.make_game().description()
        return {**described, "players": list(self.players)} if isinstance(self.players, tuple) else described

    def stage_at(self, frames: int) -> Stage:
        """The stage that a run is in after so many frames."""
        return next((stage for stage in self.stages if frames < stage.until * self.frames), self.stages[-1])


def _size(game: Game) -> tuple[int, int]:
    """How much of a game a policy sees, and can do."""
    return game.observation_size, game.num_actions


class AfterstateConfig(AnyRunConfig):
    """What decides the training of an afterstate agent, beside what decides any: see `trialea.training.afterstate`.

    Attributes:
        algorithm: says that this is one.
        games: of self-play in all.
        batch: how many of them are played at once, and then learnt from.
        td_lambda: how far a position looks ahead: 0 to the next one, 1 to the end of the game.
        epochs: how often each batch's positions are gone through.
        batch_size: positions in a step of Adam.
        learning_rate: of Adam.
        hidden: units of the network's hidden layers.
        checkpoints: how many are saved over the run.
        measure: measurements during the run.
    """

    algorithm: Literal["afterstate"]
    games: PositiveInt
    batch: PositiveInt = 256
    td_lambda: float = Field(default=0.8, ge=0, le=1)
    epochs: PositiveInt = 2
    batch_size: PositiveInt = 1024
    learning_rate: Ramp = Ramp(start=1e-3, end=1e-5)
    hidden: tuple[PositiveInt, ...] = Field(default=(64, 32), min_length=1)
    checkpoints: PositiveInt = 10
    measure: Measure = Measure()


RunConfig: TypeAlias = "TrainConfig | AfterstateConfig | RllibConfig"
"""What decides a run, whatever its algorithm."""

ALGORITHMS = {
    "afterstate": "trialea.training.config:AfterstateConfig",
    "rllib": "trialea.training.rllib.config:RllibConfig",
}


def load_config(path: str | Path, changes: Sequence[str] = ()) -> RunConfig:
    """Read a configuration from YAML and change it.

    Args:
        path: a file; or the path of one that ships with the package, such as `configs/no_dice.yaml`.
        changes: `key=value` items, with dots into nested keys (`ppo.n_steps=64`) and the value in YAML.

    Returns:
        The configuration of MaskablePPO, or of the algorithm that the key `algorithm` names.

    Raises:
        OptionError: the file is missing or not a mapping, or a key or value does not fit; the message says which.
    """
    content, where = read(path, changes), source(path, changes)
    if "algorithm" in content:
        algorithm = content["algorithm"]
        if not isinstance(algorithm, str) or algorithm not in ALGORITHMS:
            raise OptionError(f"{where}: algorithm must be one of {', '.join(ALGORITHMS)}, not {algorithm!r}")
        learnt: AfterstateConfig | RllibConfig = check(resolve_name(ALGORITHMS[algorithm]), content, where)
        learnt.make_games()
        return learnt
    config = check(TrainConfig, content, where)
    for stage in config.stages:
        config.make_games(stage)
    return config


def shipped_configs() -> list[str]:
    """The configurations that the package brings, as paths that `load_config` takes."""
    return shipped()
