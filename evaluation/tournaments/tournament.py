"""Tournaments: every agent against every other, in blocks that any number of processes play and a folder keeps."""

from __future__ import annotations

import hashlib
import json
import os
import pickle
import warnings
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import BrokenExecutor
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

from trialea.agents.cache import digest_of
from trialea.agents.parallel import load_joblib
from trialea.configs.yaml12 import write_yaml
from trialea.envs.agent import Agent, AgentLike, make_agent
from trialea.envs.errors import OptionError, TrialeaError, UnknownNameError
from trialea.envs.files import check_new_folder, locked_folder, new_folder, resumable, write_text
from trialea.envs.registry import get_spec
from trialea.envs.versions import __version__
from trialea.evaluation.matches.match import Match, MatchFailure, raise_unfinished
from trialea.evaluation.matches.schedule import agent_seeds
from trialea.evaluation.measures.judges import Measurements, Sources, prepare_judges
from trialea.evaluation.measures.luck import LuckMeter
from trialea.evaluation.measures.regret import RegretMeter
from trialea.evaluation.results import Evaluation
from trialea.evaluation.sampled import summarise
from trialea.evaluation.tournaments.blocks import Arrays, BlockFolder, Job, luck_of, match_of, regret_of
from trialea.evaluation.tournaments.config import TournamentConfig, load_tournament_config
from trialea.evaluation.tournaments.standings import Tournament, standings
from trialea.evaluation.tournaments.workers import PURPOSE, check_backend, play_all

CONFIG, PLAN, BLOCKS, RESULTS, REPORT = "config.yaml", "plan.json", "blocks", "results.json", "report.html"
_FORMAT = 2
_MAX_LISTED = 20  # runs of missing blocks in a message
_USE = "is playing a tournament in it"
_OBJECT = "an object"  # what an agent is that no name or file makes again


class IncompleteTournamentError(TrialeaError):
    """Blocks of a tournament are missing, so that it has no results yet; the message says how to go on.

    Attributes:
        missing: their numbers.
    """

    def __init__(self, folder: Path, missing: list[int], total: int, reason: str = "") -> None:
        super().__init__(
            f"{reason}the tournament in {folder} is incomplete: {len(missing)} of {total} blocks are missing"
            f" ({_listed(missing)}). {_how_to_resume(folder)}"
        )
        self.missing = missing


def run_tournament(
    config: TournamentConfig,
    folder: str | Path,
    agents: Mapping[str, AgentLike] | None = None,
    progress: Callable[[float], None] | None = None,
) -> Tournament:
    """Run a tournament from its beginning, and write its results.

    Args:
        config: what to do.
        folder: the run folder, which must not exist yet or be empty.
        agents: agent objects to play under names that the configuration lists, instead of what it says there. They are
            copied to the processes that play, and must keep to the protocol: no memory of what they played.
        progress: called with the share of the blocks that are finished, from 0 to 1.

    Raises:
        UnfinishedMatchError: an agent chose an action that is not legal, or raised an error; its `evaluation` holds the
            figures of the games that were finished. Blocks that were finished stay in the folder.
        IncompleteTournamentError: a process that played died.
        FileError: the folder isn't empty or can't be written, or the disk is full; the message says how to continue.
        InUseError: another process plays in the folder.
        OptionError: something in the configuration that cannot be.
        UnknownNameError: an agent that does not exist for this game.
        MissingExtraError: the extra `tournament`, or for Ray `cluster`, is not installed.
    """
    run = Path(folder)
    check_new_folder(run, leftovers=(PLAN,))
    job, plan = _prepare(config, agents or {})
    config = _with_whole_paths(config, agents or {})
    with new_folder(run, _USE, leftovers=(PLAN,)):
        _write_json(run / PLAN, plan)
        # Last: with both files there, the tournament can be resumed.
        write_text(run / CONFIG, write_yaml(config.model_dump(mode="json")))
        return _play(run, config, job, plan, progress)


def resume_tournament(
    folder: str | Path,
    agents: Mapping[str, AgentLike] | None = None,
    progress: Callable[[float], None] | None = None,
    changes: Iterable[str] = (),
) -> Tournament:
    """Go on with a tournament that was stopped, playing the blocks that are missing; see `run_tournament`.

    Args:
        folder: its run folder.
        agents: as for `run_tournament`.
        progress: as for `run_tournament`.
        changes: `workers=…` and `backend=…`: all else is as it began.

    Raises:
        FileError, InUseError: as for `run_tournament`.
        OptionError: no run folder, or an agent that is not what it was.
    """
    run = Path(folder)
    _read_plan(run)
    for change in (changes := list(changes)):
        if change.partition("=")[0] not in ("workers", "backend"):
            raise OptionError(f"a tournament that has begun cannot be changed: {change}; only workers and backend can")
    config = load_tournament_config(run / CONFIG, changes)
    job, plan = _prepare(config, agents or {})
    _check_same(run, plan)
    with locked_folder(run, _USE):
        return _play(run, config, job, plan, progress)


def read_tournament(folder: str | Path) -> Tournament:
    """The results of a tournament that is complete, worked out from its blocks.

    Raises:
        IncompleteTournamentError: blocks are missing.
        OptionError: no run folder.
    """
    run = Path(folder)
    plan, config = _read_plan(run), load_tournament_config(run / CONFIG)
    kept = BlockFolder(run / BLOCKS, _digest(plan))
    total = -(-plan["games"] // config.block)
    blocks = {block: arrays for block in kept.numbers(total) if (arrays := kept.read(block)) is not None}
    if len(blocks) < total:
        raise IncompleteTournamentError(run, [block for block in range(total) if block not in blocks], total)
    return _results(config, plan, [blocks[block] for block in range(total)])


def _read_plan(run: Path) -> dict[str, Any]:
    """What the tournament in a folder is, as `_prepare` said when it began."""
    if not (run / CONFIG).is_file() or not (run / PLAN).is_file():
        raise OptionError(
            f"{run} must be a tournament's folder, with {CONFIG} and {PLAN}. To begin one there: trialea tournament"
            f" CONFIG --out {run}"
        )
    try:
        plan = json.loads((run / PLAN).read_bytes())
    except ValueError:
        plan = None
    if not isinstance(plan, dict):
        raise OptionError(
            f"{run / PLAN} is damaged. The blocks that are finished are not lost: begin the same tournament in another"
            f" folder, trialea tournament {run / CONFIG} --out OTHER, stop it and put its {PLAN} here"
        )
    return plan


def _with_whole_paths(config: TournamentConfig, objects: Mapping[str, AgentLike]) -> TournamentConfig:
    """The configuration with paths that hold wherever it is read again."""
    known = get_spec(config.game).agents
    whole = {
        label: str(Path(agent).resolve())
        if label not in objects and agent not in known and Path(agent).exists()
        else agent
        for label, agent in config.agents.items()
    }
    return config.model_copy(update={"agents": whole})


def _prepare(config: TournamentConfig, objects: Mapping[str, AgentLike]) -> tuple[Job, dict[str, Any]]:
    """What the workers must know, and what the tournament is, as plain data."""
    if not isinstance(config, TournamentConfig):
        raise OptionError(f"config must be a TournamentConfig, got {config!r}. Use load_tournament_config")
    if not isinstance(objects, Mapping):
        raise OptionError(f"agents must be a mapping from names of the configuration to agents, not {objects!r}")
    check_backend(config.backend)
    unknown = sorted(set(objects) - set(config.agents))
    if unknown:
        raise OptionError(
            f"the tournament has no agent called {', '.join(unknown)}; it has: {', '.join(config.agents)}"
        )
    game = config.make_game()
    schedule = config.make_schedule(game)
    agents: list[str | Agent] = []
    origins: dict[str, str] = {}
    for label, name in config.agents.items():
        agent, origins[label] = _origin(config.game, objects.get(label, name))
        # What is wrong with it shows here, before anything is played.
        try:
            make_agent(agent, game)
        except UnknownNameError as error:
            raise UnknownNameError(f"{error}; or, in Python, an object given as agents={{{label!r}: …}}") from None
        if origins[label].startswith(_OBJECT) and config.workers != 1:
            _check_copies(label, agent)
        agents.append(agent)
    judges = prepare_judges(game, config.regret, config.luck)
    worst = None if judges.solution is None else config.worst
    plan = {
        "format": _FORMAT,
        "trialea": __version__,
        "game": game.description(),
        "agents": origins,
        "tables": digest_of(schedule.seatings),
        "games": schedule.games,
        "seed": config.seed,
        "duplicate": config.duplicate,
        "block": config.block,
        "worst": worst,
        **asdict(judges.sources),
    }
    names, seeds = tuple(config.agents), tuple(agent_seeds(config.seed, len(config.agents)))
    job = Job(game, tuple(agents), seeds, names, schedule, config.block, worst, luck=judges.values is not None)
    return job, plan


def _origin(game: str, agent: AgentLike) -> tuple[str | Agent, str]:
    """Return an agent as the workers are to make it, and a text that identifies it."""
    agent = os.fspath(agent) if isinstance(agent, os.PathLike) else agent
    if not isinstance(agent, str):
        return agent, f"{_OBJECT} called {getattr(agent, 'name', None)}"
    if agent in get_spec(game).agents or not Path(agent).exists():
        return agent, agent
    from trialea.agents.model_file import find_model

    file = find_model(Path(agent)).resolve()  # not the run folder, in which a newer checkpoint may appear
    return str(file), f"a model with SHA-256 {hashlib.sha256(file.read_bytes()).hexdigest()}"


def _check_copies(label: str, agent: str | Agent) -> None:
    """Refuse an agent that cannot be copied to the processes that play."""
    joblib = load_joblib("tournament", PURPOSE)
    try:
        pickle.dumps(joblib.wrap_non_picklable_objects(agent))
    except Exception as error:  # whatever its parts raise
        raise OptionError(
            f"agent {label!r} cannot be copied to the processes that play: {type(error).__name__}: {error}; leave out"
            " what cannot be copied when it is pickled (__getstate__), or play in one process: workers=1"
        ) from error


def _check_same(run: Path, now: dict[str, Any]) -> None:
    """Refuse to go on with another tournament than the one that began."""
    before, now = _read_plan(run), json.loads(json.dumps(now))
    if before != now:
        changed = [key for key in {**before, **now} if key != "agents" and before.get(key) != now.get(key)]
        agents = now["agents"]
        changed += [f"agent {label}" for label in agents if before.get("agents", {}).get(label) != agents[label]]
        raise OptionError(
            f"the tournament in {run} cannot go on, for what it plays is not what it was: {', '.join(changed)}"
        )


def _play(
    run: Path, config: TournamentConfig, job: Job, plan: dict[str, Any], progress: Callable[[float], None] | None
) -> Tournament:
    """Play the blocks that are missing, and write the results."""
    with resumable(run, f"The finished blocks are kept. {_how_to_resume(run)}"):
        return _play_blocks(run, config, job, plan, progress)


def _play_blocks(
    run: Path, config: TournamentConfig, job: Job, plan: dict[str, Any], progress: Callable[[float], None] | None
) -> Tournament:
    """Play the blocks that are missing, see `_play`."""
    kept = BlockFolder(run / BLOCKS, _digest(plan))
    kept.remove_leftovers()
    blocks = {block: arrays for block in kept.numbers(job.num_blocks) if (arrays := kept.read(block)) is not None}
    waiting = deque(block for block in range(job.num_blocks) if block not in blocks)
    failed: list[tuple[int, MatchFailure]] = []
    unfinished: dict[int, Arrays] = {}
    outcomes = play_all(config.backend, config.workers, job, waiting)
    try:
        for outcome in outcomes:
            if outcome.failure is not None:
                failed.append((outcome.block, outcome.failure))
                unfinished[outcome.block] = outcome.arrays
                waiting.clear()  # blocks in progress are played to their end
                continue
            kept.write(outcome.block, outcome.arrays)
            blocks[outcome.block] = outcome.arrays
            if progress is not None:
                progress(len(blocks) / job.num_blocks)
    except BrokenExecutor as error:
        missing = [block for block in range(job.num_blocks) if block not in blocks]
        raise IncompleteTournamentError(
            run, missing, job.num_blocks, f"a process that played died ({' '.join(str(error).split())}); "
        ) from error
    finally:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # joblib's, that it was not to finish
            outcomes.close()
    if failed:
        parts = blocks | unfinished
        match, evaluation = _figures(config, plan, [parts[block] for block in sorted(parts)])
        _, failure = min(failed, key=lambda one: one[0])
        raise_unfinished(failure, match, evaluation, _how_to_resume(run))
    tournament = _results(config, plan, [blocks[block] for block in range(job.num_blocks)])
    _write_json(run / RESULTS, tournament.to_json())
    return tournament


def _results(config: TournamentConfig, plan: dict[str, Any], blocks: list[Arrays]) -> Tournament:
    """Return the results of a complete tournament from all its blocks."""
    match, evaluation = _figures(config, plan, blocks)
    assert evaluation is not None
    return standings(evaluation, match, config.resamples, config.anchor)


def _figures(config: TournamentConfig, plan: dict[str, Any], blocks: list[Arrays]) -> tuple[Match, Evaluation | None]:
    """Return the games of some blocks, at least one, and their evaluation; None if no game is finished."""
    game, names, regret, luck = config.make_game(), tuple(config.agents), None, None
    match = match_of(config.make_schedule(game), blocks)
    if not len(match.numbers):
        return match, None
    if plan["worst"] is not None:
        meter = RegretMeter(game, None, len(names), match.schedule.num_units, plan["worst"])
        regret = tuple(regret_of(meter, blocks).results(config.confidence))
    if plan["luck_values"]:
        luck = luck_of(LuckMeter(game, None, match.schedule), blocks).result(match)
    sources = Sources(**{field.name: plan[field.name] for field in fields(Sources)})
    return match, summarise(game, match, names, config.confidence, Measurements(regret, luck, sources))


def _how_to_resume(folder: Path) -> str:
    objects = [label for label, origin in _read_plan(folder)["agents"].items() if origin.startswith(_OBJECT)]
    if not objects:
        return f"To continue: trialea tournament --resume {folder}"
    given = ", ".join(f"{label!r}: …" for label in objects)
    return f"To continue: resume_tournament({str(folder)!r}, agents={{{given}}})"


def _listed(numbers: list[int]) -> str:
    """Whole numbers in rising order, in words: "0, 4–7"."""
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number == runs[-1][1] + 1:
            runs[-1][1] = number
        else:
            runs.append([number, number])
    shown = [str(low) if low == high else f"{low}–{high}" for low, high in runs[:_MAX_LISTED]]
    return ", ".join([*shown, "…"] if len(runs) > _MAX_LISTED else shown)


def _digest(plan: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(plan, sort_keys=True).encode()).hexdigest()


def _write_json(path: Path, data: dict[str, Any]) -> None:
    write_text(path, json.dumps(data, indent=2, ensure_ascii=False) + "\n")
