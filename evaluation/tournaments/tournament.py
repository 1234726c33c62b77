"""Run tournaments, every agent against every other, in blocks that many processes can play and a folder stores.

`run_tournament` begins one, `resume_tournament` continues it, `read_tournament` reads its results.
"""

from __future__ import annotations

import json
import warnings
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import BrokenExecutor
from pathlib import Path

from trialea.configs.yaml12 import write_yaml
from trialea.envs.agent import AgentLike
from trialea.envs.errors import OptionError, TrialeaError
from trialea.envs.files import check_new_folder, locked_folder, new_folder, resumable, write_text
from trialea.envs.registry import get_spec
from trialea.evaluation.matches.match import Match, MatchFailure, raise_unfinished
from trialea.evaluation.measures.judges import Measurements
from trialea.evaluation.measures.luck import LuckMeter
from trialea.evaluation.measures.regret import RegretMeter
from trialea.evaluation.results import Evaluation
from trialea.evaluation.sampled import summarise
from trialea.evaluation.tournaments.blocks import Arrays, BlockFolder, Job, luck_of, match_of, regret_of
from trialea.evaluation.tournaments.config import TournamentConfig, load_tournament_config
from trialea.evaluation.tournaments.plan import CONFIG, PLAN, Plan, prepare, read_plan, write_plan
from trialea.evaluation.tournaments.standings import Tournament, standings
from trialea.evaluation.tournaments.workers import play_all

BLOCKS, RESULTS, REPORT = "blocks", "results.json", "report.html"
_MAX_LISTED = 20  # runs of missing blocks in a message
_USE = "is playing a tournament in it"
_CHANGEABLE = ("workers", "backend")  # keys that may change when a tournament is resumed


class IncompleteTournamentError(TrialeaError):
    """Blocks of a tournament are missing, so it has no results yet; the message says how to continue.

    Attributes:
        missing: the numbers of the missing blocks.
    """

    def __init__(self, folder: Path, plan: Plan, missing: list[int], reason: str = "") -> None:
        super().__init__(
            f"{reason}the tournament in {folder} is incomplete: {len(missing)} of {plan.num_blocks} blocks are missing"
            f" ({_as_ranges(missing)}). {_how_to_resume(folder, plan)}"
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
        config: the configuration.
        folder: the run folder, which must not exist yet or be empty.
        agents: agent objects to play under labels that the configuration lists, in place of the names there. They are
            copied to the worker processes, and must not remember what they played.
        progress: called with the share of the blocks that are finished, from 0 to 1.

    Raises:
        UnfinishedMatchError: an agent chose an illegal action or raised an exception. Its `evaluation` holds the
            figures of the finished games, and finished blocks stay in the folder.
        IncompleteTournamentError: a worker process died.
        FileError: the folder isn't empty or can't be written, or the disk is full; the message says how to continue.
        InUseError: another process plays in the folder.
        OptionError: an agent or an option that cannot be played.
        UnknownNameError: an agent that does not exist for this game.
        MissingExtraError: the extra `tournament`, or for Ray `cluster`, is not installed.
    """
    run = Path(folder)
    check_new_folder(run, leftovers=(PLAN,))
    job, plan = prepare(config, agents or {})
    config = _with_whole_paths(config, agents or {})
    with new_folder(run, _USE, leftovers=(PLAN,)):
        write_plan(run, plan)
        # Last: with both files there, the tournament can be resumed.
        write_text(run / CONFIG, write_yaml(config.model_dump(mode="json")))
        return _play(run, config, job, plan, progress)


def resume_tournament(
    folder: str | Path,
    agents: Mapping[str, AgentLike] | None = None,
    progress: Callable[[float], None] | None = None,
    changes: Iterable[str] = (),
) -> Tournament:
    """Continue a tournament that was stopped: play the missing blocks, and write the results.

    Args:
        folder: its run folder.
        agents, progress: as for `run_tournament`.
        changes: `workers=…` and `backend=…`; nothing else can change.

    Raises:
        OptionError: not a run folder, or a damaged one, or an agent that has changed.
        Others as for `run_tournament`.
    """
    run = Path(folder)
    before = read_plan(run)
    changes = list(changes)
    for change in changes:
        if change.partition("=")[0] not in _CHANGEABLE:
            raise OptionError(f"only {' and '.join(_CHANGEABLE)} can change when a tournament is resumed, got {change}")
    config = load_tournament_config(run / CONFIG, changes)
    job, plan = prepare(config, agents or {})
    if changed := before.changes(plan):
        raise OptionError(
            f"the tournament in {run} cannot be resumed, because it has changed since it began: {', '.join(changed)}."
            " Restore what has changed, or begin another tournament"
        )
    with locked_folder(run, _USE):
        return _play(run, config, job, plan, progress)


def read_tournament(folder: str | Path) -> Tournament:
    """Return the results of a complete tournament, computed from its blocks.

    Raises:
        IncompleteTournamentError: blocks are missing.
        OptionError: not a run folder, or a damaged one.
    """
    run = Path(folder)
    plan, config = read_plan(run), load_tournament_config(run / CONFIG)
    schedule = config.make_schedule(config.make_game())
    if (schedule.games, config.block) != (plan.games, plan.block):
        raise OptionError(f"{run / CONFIG} must describe the same tournament as {PLAN}. Restore it")
    kept = BlockFolder(run / BLOCKS, plan.digest)
    blocks = {block: arrays for block in kept.numbers(plan.num_blocks) if (arrays := kept.read(block)) is not None}
    if len(blocks) < plan.num_blocks:
        raise IncompleteTournamentError(run, plan, [b for b in range(plan.num_blocks) if b not in blocks])
    return _results(config, plan, [blocks[block] for block in range(plan.num_blocks)])


def _with_whole_paths(config: TournamentConfig, objects: Mapping[str, AgentLike]) -> TournamentConfig:
    """Return the configuration with absolute paths, so that it can be read from any folder."""
    known = get_spec(config.game).agents
    whole = {
        label: str(Path(agent).resolve())
        if label not in objects and agent not in known and Path(agent).exists()
        else agent
        for label, agent in config.agents.items()
    }
    return config.model_copy(update={"agents": whole})


def _play(
    run: Path, config: TournamentConfig, job: Job, plan: Plan, progress: Callable[[float], None] | None
) -> Tournament:
    """Play the missing blocks, and write the results; on a full disk, say how to continue."""
    with resumable(run, f"The finished blocks are kept. {_how_to_resume(run, plan)}"):
        return _play_blocks(run, config, job, plan, progress)


def _play_blocks(
    run: Path, config: TournamentConfig, job: Job, plan: Plan, progress: Callable[[float], None] | None
) -> Tournament:
    """Play the missing blocks, and write the results."""
    kept = BlockFolder(run / BLOCKS, plan.digest)
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
            run, plan, missing, f"a worker process died ({' '.join(str(error).split())}); "
        ) from error
    finally:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # joblib warns that it was not to finish
            outcomes.close()
    if failed:
        parts = blocks | unfinished
        match, evaluation = _figures(config, plan, [parts[block] for block in sorted(parts)])
        _, failure = min(failed, key=lambda one: one[0])
        raise_unfinished(failure, match, evaluation, _how_to_resume(run, plan))
    tournament = _results(config, plan, [blocks[block] for block in range(job.num_blocks)])
    write_text(run / RESULTS, json.dumps(tournament.to_json(), indent=2, ensure_ascii=False) + "\n")
    return tournament


def _results(config: TournamentConfig, plan: Plan, blocks: list[Arrays]) -> Tournament:
    """Return the results of a complete tournament from all its blocks."""
    match, evaluation = _figures(config, plan, blocks)
    assert evaluation is not None
    return standings(evaluation, match, config.resamples, config.anchor)


def _figures(config: TournamentConfig, plan: Plan, blocks: list[Arrays]) -> tuple[Match, Evaluation | None]:
    """Return the games of some blocks, at least one, and their evaluation; None if no game is finished."""
    game, names, regret, luck = config.make_game(), tuple(config.agents), None, None
    match = match_of(config.make_schedule(game), blocks)
    if not len(match.numbers):
        return match, None
    if plan.worst is not None:
        meter = RegretMeter(game, None, len(names), match.schedule.num_units, plan.worst)
        regret = tuple(regret_of(meter, blocks).results(config.confidence))
    if plan.luck_values:
        luck = luck_of(LuckMeter(game, None, match.schedule), blocks).result(match)
    return match, summarise(game, match, names, config.confidence, Measurements(regret, luck, plan.sources))


def _how_to_resume(folder: Path, plan: Plan) -> str:
    if not plan.objects():
        return f"To continue: trialea tournament --resume {folder}"
    given = ", ".join(f"{label!r}: …" for label in plan.objects())
    return f"To continue: resume_tournament({str(folder)!r}, agents={{{given}}})"


def _as_ranges(numbers: list[int]) -> str:
    """Return ascending whole numbers as text: "0, 4–7"."""
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number == runs[-1][1] + 1:
            runs[-1][1] = number
        else:
            runs.append([number, number])
    shown = [str(low) if low == high else f"{low}–{high}" for low, high in runs[:_MAX_LISTED]]
    return ", ".join([*shown, "…"] if len(runs) > _MAX_LISTED else shown)
