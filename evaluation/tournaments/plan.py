"""The plan of a tournament: everything that its results depend on, checked when it is made, and kept in its folder.

A tournament is resumed only under an equal plan, and blocks carry the plan's digest. So a new field here, or a new
meaning of an old one, needs a new `FORMAT`.
"""

from __future__ import annotations

import hashlib
import os
import pickle
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from trialea.agents.cache import digest_of
from trialea.agents.model_file import find_model
from trialea.agents.parallel import load_joblib
from trialea.envs.agent import Agent, AgentLike, make_agent
from trialea.envs.errors import OptionError, UnknownNameError
from trialea.envs.files import write_text
from trialea.envs.registry import get_spec
from trialea.envs.versions import __version__
from trialea.evaluation.matches.schedule import agent_seeds
from trialea.evaluation.measures.judges import Sources, prepare_judges
from trialea.evaluation.results import LuckValues, RegretUnit
from trialea.evaluation.tournaments.blocks import Job
from trialea.evaluation.tournaments.config import MAX_GAMES, TournamentConfig
from trialea.evaluation.tournaments.workers import PURPOSE, check_backend

CONFIG, PLAN = "config.yaml", "plan.json"
FORMAT = 3
_OBJECT = "an object"  # the first words of an agent object's origin; it can't be made again from a name or a file


class Plan(BaseModel):
    """The contents of a tournament.

    Attributes:
        format: the version of the run folder's format.
        trialea: the version of this library.
        game: the game's description.
        agents: each agent's origin by its label: a name, a model's digest, or the name of an object.
        tables: a digest of all seatings.
        games, seed, duplicate: as in `Schedule`.
        block: games in a block.
        worst: the number of each agent's worst decisions to keep; None if regret is not measured.
        confidence, anchor, resamples: as in `TournamentConfig`.
        regret_unit, regret_note, luck_values, luck_note: as in `Evaluation`.
    """

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    format: int
    trialea: str
    game: dict[str, Any]
    agents: dict[str, str]
    tables: str
    games: Annotated[int, Field(ge=1, le=MAX_GAMES)]
    seed: int
    duplicate: bool
    block: Annotated[int, Field(ge=1)]
    worst: int | None
    confidence: float
    anchor: str
    resamples: int
    regret_unit: RegretUnit
    regret_note: str
    luck_values: LuckValues
    luck_note: str

    @property
    def num_blocks(self) -> int:
        """The number of blocks."""
        return -(-self.games // self.block)

    @property
    def sources(self) -> Sources:
        """The sources of the values for regret and luck."""
        return Sources(self.regret_unit, self.regret_note, self.luck_values, self.luck_note)

    @property
    def digest(self) -> str:
        """A digest of the plan, which every block carries."""
        return hashlib.sha256(self.model_dump_json().encode()).hexdigest()

    def objects(self) -> list[str]:
        """Return the labels of the agents that were given as objects."""
        return [label for label, origin in self.agents.items() if origin.startswith(_OBJECT)]

    def changes(self, other: Plan) -> list[str]:
        """Return the fields and agents in which another plan differs."""
        names = [name for name in Plan.model_fields if getattr(self, name) != getattr(other, name)]
        if list(self.agents) != list(other.agents):
            return list(dict.fromkeys([*names, "agents"]))
        changed = [f"agent {label}" for label in self.agents if self.agents[label] != other.agents[label]]
        return [name for name in names if name != "agents"] + changed


def prepare(config: TournamentConfig, objects: Mapping[str, AgentLike]) -> tuple[Job, Plan]:
    """Check a tournament's agents and options before anything is played.

    Returns:
        The job for the workers, and the plan.

    Raises:
        OptionError, UnknownNameError, MissingExtraError: as `run_tournament`.
    """
    if not isinstance(config, TournamentConfig):
        raise OptionError(f"config must be a TournamentConfig, got {config!r}. Use load_tournament_config")
    if not isinstance(objects, Mapping):
        raise OptionError(f"agents must be a mapping from names in the configuration to agents, got {objects!r}")
    check_backend(config.backend)
    unknown = sorted(set(objects) - set(config.agents))
    if unknown:
        raise OptionError(f"agents must be among {', '.join(config.agents)}, got {', '.join(unknown)}")
    game = config.make_game()
    schedule = config.make_schedule(game)
    agents: list[str | Agent] = []
    origins: dict[str, str] = {}
    for label, name in config.agents.items():
        agent, origins[label] = _origin(config.game, objects.get(label, name))
        try:
            make_agent(agent, game)
        except UnknownNameError as error:
            raise UnknownNameError(f"{error}; or, in Python, an object given as agents={{{label!r}: …}}") from None
        if origins[label].startswith(_OBJECT) and config.workers != 1:
            _check_can_be_copied(label, agent)
        agents.append(agent)
    judges = prepare_judges(game, config.regret, config.luck)
    worst = None if judges.solution is None else config.worst
    plan = Plan(
        format=FORMAT,
        trialea=__version__,
        game=game.description(),
        agents=origins,
        tables=digest_of(schedule.seatings),
        games=schedule.games,
        seed=config.seed,
        duplicate=config.duplicate,
        block=config.block,
        worst=worst,
        confidence=config.confidence,
        anchor=config.anchor,
        resamples=config.resamples,
        **asdict(judges.sources),
    )
    names, seeds = tuple(config.agents), tuple(agent_seeds(config.seed, len(config.agents)))
    job = Job(game, tuple(agents), seeds, names, schedule, config.block, worst, luck=judges.values is not None)
    return job, Plan.model_validate_json(plan.model_dump_json())  # as it is read again


def write_plan(folder: Path, plan: Plan) -> None:
    """Write the plan into a run folder."""
    write_text(folder / PLAN, plan.model_dump_json(indent=2) + "\n")


def read_plan(folder: Path) -> Plan:
    """Return the plan in a run folder.

    Raises:
        OptionError: it is not a tournament's folder, or its plan is damaged.
    """
    if not (folder / CONFIG).is_file() or not (folder / PLAN).is_file():
        raise OptionError(
            f"{folder} must be a tournament's folder, with {CONFIG} and {PLAN}. To begin one there: trialea tournament"
            f" CONFIG --out {folder}"
        )
    try:
        return Plan.model_validate_json((folder / PLAN).read_bytes())
    except ValidationError:
        raise OptionError(
            f"{folder / PLAN} must be a tournament's plan, got a damaged file or one of another version. The finished"
            f" blocks are kept. Begin the same tournament in another folder (trialea tournament {folder / CONFIG} --out"
            f" OTHER), stop it, and copy its {PLAN} here"
        ) from None


def _origin(game: str, agent: AgentLike) -> tuple[str | Agent, str]:
    """Return the agent, name or path for the workers, and a text that identifies it."""
    agent = os.fspath(agent) if isinstance(agent, os.PathLike) else agent
    if not isinstance(agent, str):
        return agent, f"{_OBJECT} called {getattr(agent, 'name', None)}"
    if agent in get_spec(game).agents or not Path(agent).exists():
        return agent, agent
    file = find_model(Path(agent)).resolve()  # not the run folder, in which a newer checkpoint may appear
    return str(file), f"a model with SHA-256 {hashlib.sha256(file.read_bytes()).hexdigest()}"


def _check_can_be_copied(label: str, agent: str | Agent) -> None:
    """Raise `OptionError` if an agent cannot be copied to the worker processes."""
    joblib = load_joblib("tournament", PURPOSE)
    try:
        pickle.dumps(joblib.wrap_non_picklable_objects(agent))
    except Exception as error:  # its parts may raise anything
        raise OptionError(
            f"agent {label!r} must be picklable for the worker processes, got {type(error).__name__}: {error}."
            " Leave the unpicklable parts out in __getstate__, or play in one process: workers=1"
        ) from error
