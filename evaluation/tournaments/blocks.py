"""Blocks of games, a tournament's unit of work: how a worker plays a block, and how a file stores it."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trialea.envs.agent import Agent, make_agent
from trialea.envs.files import atomic_path, remove_leftovers
from trialea.envs.game import Game
from trialea.evaluation.matches.match import Match, MatchFailure, join
from trialea.evaluation.matches.play import play_block
from trialea.evaluation.matches.schedule import Schedule
from trialea.evaluation.measures.luck import LuckMeter, ValueFunction, value_function_of
from trialea.evaluation.measures.regret import RegretMeter, SolutionValues, solution_of

Arrays = Mapping[str, NDArray[Any]]
_OF_MATCH = ("numbers", "shares", "lengths", "plays", "points", "turns")
_OF_REGRET, _OF_LUCK = "regret/", "luck/"


@dataclass(frozen=True, slots=True)
class Job:
    """Everything that a worker needs to play any block of a tournament.

    Attributes:
        game: the game.
        agents: (k) names, paths of model files, or agents.
        seeds: (k) the seeds of the named agents' random choices.
        names: (k) the agents' labels.
        schedule: all games.
        size: games in a block; the last block may have fewer.
        worst: the number of each agent's worst decisions to keep; None if regret is not measured.
        luck: whether luck is measured.
    """

    game: Game
    agents: tuple[str | Agent, ...]
    seeds: tuple[int, ...]
    names: tuple[str, ...]
    schedule: Schedule
    size: int
    worst: int | None
    luck: bool

    @property
    def num_blocks(self) -> int:
        """The number of blocks."""
        return -(-self.schedule.games // self.size)


@dataclass(frozen=True, slots=True)
class Outcome:
    """The outcome of a block.

    Attributes:
        block: its number.
        arrays: its finished games with their regret and luck, as `match_of`, `regret_of` and `luck_of` read them.
        failure: the first failure of an agent in the block, if any. Then some of its games are unfinished.
    """

    block: int
    arrays: Arrays
    failure: MatchFailure | None


def run_block(job: Job, block: int) -> Outcome:
    """Play a block. The outcome depends only on the job and the block's number."""
    agents = [_agent(agent, job.game, seed) for agent, seed in zip(job.agents, job.seeds, strict=True)]
    numbers = np.arange(block * job.size, min((block + 1) * job.size, job.schedule.games))
    with _one_thread():
        match, decisions, failure = play_block(
            job.game, agents, job.names, job.schedule, numbers, keep=job.luck or job.worst is not None
        )
    arrays = {name: getattr(match, name) for name in _OF_MATCH}
    if job.worst is not None:
        meter = RegretMeter(job.game, _solution(job.game), len(agents), job.schedule.num_units, job.worst)
        meter.add(decisions)
        arrays |= {f"{_OF_REGRET}{name}": array for name, array in meter.to_arrays().items()}
    if job.luck:
        luck_meter = LuckMeter(job.game, _values(job.game, job.worst is not None), job.schedule)
        luck_meter.add(decisions)
        arrays |= {f"{_OF_LUCK}{name}": array for name, array in luck_meter.to_arrays(match.numbers).items()}
    return Outcome(block, arrays, failure)


def match_of(schedule: Schedule, parts: Sequence[Arrays]) -> Match:
    """Return the games of some blocks, at least one, as one match."""
    return join([Match(schedule, *(arrays[name] for name in _OF_MATCH)) for arrays in parts])


def regret_of(meter: RegretMeter, parts: Sequence[Arrays]) -> RegretMeter:
    """Add the regret of some blocks to `meter`, in order, and return it."""
    for arrays in parts:
        meter.add_arrays(_under(_OF_REGRET, arrays))
    return meter


def luck_of(meter: LuckMeter, parts: Sequence[Arrays]) -> LuckMeter:
    """Add the luck of some blocks to `meter`, and return it."""
    for arrays in parts:
        meter.add_arrays(arrays["numbers"], _under(_OF_LUCK, arrays))
    return meter


def _under(prefix: str, arrays: Arrays) -> dict[str, NDArray[Any]]:
    return {name[len(prefix) :]: array for name, array in arrays.items() if name.startswith(prefix)}


def _agent(agent: str | Agent, game: Game, seed: int) -> Agent:
    return _named_agent(os.fspath(agent), game, seed) if isinstance(agent, (str, os.PathLike)) else agent


@lru_cache(maxsize=64)
def _named_agent(name: str, game: Game, seed: int) -> Agent:
    """Return a named agent. Each process makes it once."""
    return make_agent(name, game, seed)


@lru_cache(maxsize=4)
def _solution(game: Game) -> SolutionValues:
    """Return the solution. Each process reads it once."""
    return solution_of(game)


@lru_cache(maxsize=4)
def _values(game: Game, solved: bool) -> ValueFunction:
    """Return the value function, from the solution if the game is `solved`. Each process makes it once."""
    return value_function_of(game, _solution(game) if solved else None)[0]


@contextmanager
def _one_thread() -> Iterator[None]:
    """Run torch, if it is loaded, in one thread, so that sums don't depend on the number of processors."""
    torch = sys.modules.get("torch")
    if torch is None:
        yield
        return
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)


class BlockFolder:
    """The folder of finished blocks, one file each, written atomically.

    Args:
        folder: made when the first block is written.
        plan: the digest of the tournament's plan; blocks with another digest are ignored.
    """

    def __init__(self, folder: Path, plan: str) -> None:
        self._folder = folder
        self._plan = plan

    def write(self, block: int, arrays: Arrays) -> None:
        """Write a finished block."""
        stored: dict[str, Any] = {"header": np.array(json.dumps({"plan": self._plan, "block": block})), **arrays}
        with atomic_path(self._file(block)) as temporary:
            np.savez_compressed(temporary, **stored)

    def numbers(self, total: int) -> list[int]:
        """Return the numbers below `total` of the blocks that have a file, sound or not, in order."""
        names = {path.stem for path in self._folder.glob("*.npz")}
        return sorted(int(name) for name in names if name.isdecimal() and int(name) < total)

    def read(self, block: int) -> Arrays | None:
        """Return a block; None if it is missing, damaged or of another tournament."""
        try:
            with self._file(block).open("rb") as file, np.load(file, allow_pickle=False) as stored:
                arrays = dict(stored)
            header = json.loads(str(arrays.pop("header")))
        except Exception:  # a damaged file may raise anything
            return None
        return arrays if header == {"plan": self._plan, "block": block} and set(_OF_MATCH) <= set(arrays) else None

    def remove_leftovers(self) -> None:
        """Delete the temporary files of a process that died while writing."""
        remove_leftovers(self._folder)

    def _file(self, block: int) -> Path:
        return self._folder / f"{block:06d}.npz"
