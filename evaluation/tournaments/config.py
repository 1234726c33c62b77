"""The configuration of a tournament: typed, read from YAML, changed by `key=value`.

A new key also needs a row in docs/tournaments.md, and a field in `Plan` if results depend on it.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, field_validator

from trialea.configs import load, shipped, source
from trialea.configs.values import Count, Flag, GameOptions, Real, Settings, Whole
from trialea.envs.errors import OptionError
from trialea.envs.game import Game
from trialea.envs.registry import get_spec
from trialea.evaluation.matches.match import distinct_names
from trialea.evaluation.matches.schedule import Schedule, balanced_tables, make_schedule, make_seatings, rotations

MAX_GAMES = 10**9  # as in a single evaluation
MAX_BLOCKS = 10**6  # each is a file of one folder
FOLDER = "tournaments"


class TournamentConfig(Settings):
    """The configuration of a tournament.

    Attributes:
        game, players, options: the game; by default for the fewest players.
        agents: at least two names or paths of runs or models, as a list, or as a mapping from labels.
        tables: with more agents than seats: `"all"` choices of agents, or the least number of tables, at which all
            agents sit equally often and every two meet.
        games: the least number at each table; rounded up so that its agents hold all its seats equally often.
        seed: the seed of the dice and of the agents' own seeds.
        duplicate: whether all tables play all their seatings with the same dice.
        regret: whether to measure regret, if the game is solved.
        luck: whether to measure luck, if the game is solved or estimated.
        worst: the number of each agent's worst decisions to keep.
        confidence: the confidence of all intervals.
        anchor: the agent whose rating is 0; by default the mean rating is 0.
        resamples: the number of resamples of the units, for the intervals of ratings.
        block: games that are played and saved together.
        workers: worker processes; by default one for each processor.
        backend: `"loky"`: workers on this machine; `"ray"`: on a Ray cluster.
    """

    game: str
    players: Count | None = None
    options: GameOptions = {}
    agents: dict[str, str]
    tables: Annotated[Whole, Field(ge=1, le=10**6)] | Literal["all"] = "all"
    games: Annotated[Whole, Field(ge=1, le=10**9)] = 1000
    seed: Annotated[Whole, Field(ge=0, lt=2**64)] = 0
    duplicate: Flag = True
    regret: Flag = True
    luck: Flag = True
    worst: Annotated[Whole, Field(ge=0, le=10**4)] = 5
    confidence: Annotated[Real, Field(gt=0, lt=1)] = 0.95
    anchor: str = ""
    resamples: Annotated[Whole, Field(ge=100, le=10**6)] = 1000
    block: Annotated[Whole, Field(ge=1, le=10**6)] = 1000
    workers: Annotated[Whole, Field(ge=1, le=10**4)] | None = None
    backend: Literal["loky", "ray"] = "loky"

    @field_validator("agents", mode="before")
    @classmethod
    def _named(cls, agents: Any) -> Any:
        """Turn a list of agents into a mapping: the label is the last part of the name or path, made unique."""
        if isinstance(agents, dict):
            return agents
        if not isinstance(agents, (list, tuple)):
            raise ValueError(f"must be a list of names and paths, or a mapping to them, got {agents!r}")
        for agent in agents:
            if not isinstance(agent, str):
                raise ValueError(f"must be names and paths in a list, got {agent!r}")
        names = [Path(agent).name.removesuffix(".zip") or agent for agent in agents]
        return dict(zip(distinct_names(names), agents, strict=True))

    @field_validator("agents")
    @classmethod
    def _enough(cls, agents: dict[str, str]) -> dict[str, str]:
        if len(agents) < 2:
            raise ValueError(f"must be at least 2, got {len(agents)}")
        if "human" in agents.values():
            raise ValueError("must not name a person: play yourself with `trialea play`")
        return agents

    def model_post_init(self, context: Any) -> None:
        """Check the keys that depend on each other."""
        if self.anchor and self.anchor not in self.agents:
            raise ValueError(f"anchor must be one of the agents, {', '.join(self.agents)}, got {self.anchor!r}")

    def make_game(self) -> Game:
        """Return the game."""
        return Game(get_spec(self.game).name, self.players, **self.options)

    def make_schedule(self, game: Game) -> Schedule:
        """Return all games of the tournament.

        Raises:
            OptionError: there are more games or blocks than a tournament can have.
        """
        k, n = len(self.agents), game.num_players
        if k > n and self.tables != "all":
            seatings = rotations(balanced_tables(k, n, self.tables))
        else:
            seatings = make_seatings(k, n)
        at_one_table = n if k > n else len(seatings)
        rounds = -(-self.games // at_one_table)
        games = rounds * len(seatings)
        if games > MAX_GAMES:
            raise OptionError(
                f"a tournament must have at most {MAX_GAMES:,} games at all its tables, got {games:,}. Lower games or"
                " tables"
            )
        if games > self.block * MAX_BLOCKS:
            least = -(-games // MAX_BLOCKS)
            raise OptionError(f"a tournament must have at most {MAX_BLOCKS:,} blocks. Set block to {least:,} or more")
        return make_schedule(seatings, games, self.seed, self.duplicate)


def load_tournament_config(path: str | Path, changes: Sequence[str] = ()) -> TournamentConfig:
    """Read a tournament's configuration from YAML and change it; see `trialea.configs.load`.

    Raises:
        OptionError: the file is missing or not a mapping, or a key or value does not fit; the message says which.
    """
    config = load(TournamentConfig, path, changes, FOLDER)
    config.make_game()
    if config.tables != "all" and len(config.agents) <= config.make_game().num_players:
        raise OptionError(
            f"{source(path, changes)}: tables must be left out: with {len(config.agents)} agents there is one table"
        )
    return config


def shipped_configs() -> list[str]:
    """Return the bundled tournaments, as paths that `load_tournament_config` takes."""
    return shipped(FOLDER)
