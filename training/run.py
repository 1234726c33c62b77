"""Train an agent as a configuration says: here a policy, with sb3-contrib's MaskablePPO on the batched engine."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import numpy as np
import torch
from sb3_contrib import MaskablePPO
from stable_baselines3.common.logger import configure
from stable_baselines3.common.utils import LinearSchedule

from trialea.agents.model import snapshot
from trialea.agents.model_file import ACTIVATIONS, MODEL, max_players_of
from trialea.configs.yaml12 import write_yaml
from trialea.envs.agent import ActionValues, make_agent
from trialea.envs.errors import OptionError
from trialea.envs.files import check_new_folder, locked_folder, new_folder, resumable, write_text
from trialea.training.afterstate import Learner, self_play
from trialea.training.callbacks import Report, RunCallback, stop_on_interrupt
from trialea.training.checkpoint import CONFIG, check_same, newest_checkpoint, open_folder, restore, save_model
from trialea.training.config import AfterstateConfig, RllibConfig, RunConfig, TrainConfig, load_config
from trialea.training.league import League
from trialea.training.memory import check_memory
from trialea.training.policy import masked_ppo
from trialea.training.starting import load_starting_network, starting_policies
from trialea.training.vec_env import GamesVecEnv

_USE = "is training in it"
Parts = tuple[MaskablePPO, GamesVecEnv, League]


def train(config: RunConfig, folder: str | Path, progress: bool = True, report: Report | None = None) -> bool:
    """Run a training from its beginning.

    Args:
        config: what to do.
        folder: the run folder, which must not exist yet or be empty.
        progress: whether to show a progress bar.
        report: told each measurement, as it is written to `metrics.jsonl`; returns whether the run is to stop.

    Returns:
        True if the run came to its end; False if Ctrl-C or `report` stopped it, after which `resume` goes on.

    Raises:
        FileError: the folder isn't empty or can't be written, or the disk is full; the message says how to continue.
        InUseError: another process trains in the folder.
    """
    run = Path(folder)
    check_new_folder(run)
    # What is wrong with a configuration shows here, before there is a folder that would stand in the way.
    if config.start_from:  # the run must find it whatever folder it is resumed from
        config = config.model_copy(update={"start_from": str(Path(config.start_from).resolve())})
    go_on = _prepare(config, fresh=True)
    for opponent in config.measure.opponents:
        for game in config.make_games():
            make_agent(opponent, game)
    with new_folder(run, _USE):
        write_text(run / CONFIG, write_yaml(config.model_dump(mode="json")))
        with resumable(run, _how_to_resume(run)):
            return go_on(run, None, progress, report)


def resume(folder: str | Path, progress: bool = True, report: Report | None = None) -> bool:
    """Go on with a run that was stopped, exactly from its newest checkpoint; see `train`."""
    run = Path(folder)
    if not (run / CONFIG).is_file():
        raise OptionError(
            f"{run} must be a run folder, with {CONFIG}. To begin one there: trialea train CONFIG --out {run}"
        )
    with locked_folder(run, _USE), resumable(run, _how_to_resume(run)):
        if (run / MODEL).exists():
            raise OptionError(
                f"the run in {run} is complete, so it cannot be resumed. To train its policy further, start a new run"
                f" with --set start_from={run}"
            )
        config = load_config(run / CONFIG)
        checkpoint = newest_checkpoint(run / "checkpoints")
        if checkpoint is not None:
            check_same(run, checkpoint)
        return _prepare(config, fresh=checkpoint is None)(run, checkpoint, progress, report)


def _how_to_resume(run: Path) -> str:
    return f"The run is saved up to its newest checkpoint. To continue: trialea train --resume {run}"


def _prepare(config: RunConfig, fresh: bool) -> Callable[[Path, Path | None, bool, Report | None], bool]:
    """Return what runs a training in a folder from a checkpoint, by the configuration's algorithm.

    A `fresh` run has no checkpoint. It starts from the network that `start_from` names, if any.
    """
    check_memory(config)
    if isinstance(config, AfterstateConfig):
        learner = Learner(config)
        if fresh and config.start_from:
            load_starting_network(learner.network, config)
        return partial(self_play, config, learner)
    if not isinstance(config, TrainConfig):
        return _prepare_rllib(config, fresh)
    parts = build(config)
    if fresh and config.start_from:
        parts[0].policy.load_state_dict(starting_policies(config)[0])
    return partial(_run, config, parts)


def _prepare_rllib(config: RllibConfig, fresh: bool) -> Callable[[Path, Path | None, bool, Report | None], bool]:
    """Do the same with RLlib, which is imported only if it is asked for."""
    from trialea.training.rllib.run import Learner as RllibLearner, check_cluster, run

    check_cluster(config)
    learner = RllibLearner(config)
    if fresh and config.start_from:
        learner.start_from_model()
    return partial(run, config, learner)


def build(config: TrainConfig) -> Parts:
    """The model, its games and its opponents, as new."""
    torch.set_num_threads(config.threads)
    settings, stage = config.ppo, config.stages[0]
    league = League(config.opponents, config.past_selves, config.priority, config.seed)
    games, seats = config.make_games(stage), max_players_of(config.description()["players"])
    parts = np.array_split(np.arange(settings.environments), len(games))
    batches = [league.seat(game, seats, len(part), config.seat) for game, part in zip(games, parts, strict=True)]
    env = GamesVecEnv(batches, judges=_judges(config), on_end=league.note)
    env.aim(stage.reward, stage.horizon)
    model = masked_ppo(
        env,
        n_steps=settings.n_steps,
        batch_size=settings.batch_size,
        n_epochs=settings.n_epochs,
        learning_rate=LinearSchedule(settings.learning_rate.start, settings.learning_rate.end, 1.0),
        ent_coef=settings.entropy.start,
        gamma=settings.gamma,
        gae_lambda=settings.gae_lambda,
        clip_range=settings.clip_range,
        seed=config.seed,
        policy_kwargs={
            "net_arch": list(settings.net_arch),
            "activation_fn": ACTIVATIONS[settings.activation],
        },
        device="cpu",
    )
    return model, env, league


def _judges(config: TrainConfig) -> list[ActionValues]:
    """Who says what decisions cost, in each of the games; nobody, if no stage asks."""
    judges: list[ActionValues] = []
    if any(stage.reward == "regret" for stage in config.stages):
        for game in config.make_games():
            judge = make_agent(config.judge, game)
            if not isinstance(judge, ActionValues):
                raise OptionError(f"judge must be an agent that values actions in {game!r}, got {config.judge!r}")
            try:
                judge.action_values(game.start(np.zeros(1, np.uint64)))
            except OptionError as error:
                raise OptionError(f"judge: {config.judge!r} cannot judge {game!r}: {error}") from error
            judges.append(judge)
    return judges


def _run(
    config: TrainConfig, parts: Parts, run: Path, checkpoint: Path | None, progress: bool, report: Report | None
) -> bool:
    model, env, league = parts
    seconds = 0.0
    if checkpoint is not None:
        seconds = restore(checkpoint, model, env, league, config)
    else:
        league.add(snapshot(model.policy))
    start = model.num_timesteps
    open_folder(run, start)
    callback = RunCallback(config, env, league, run, seconds, start, progress, report)
    with _tensorboard(model, run):
        with stop_on_interrupt(callback), callback.bar:
            model.learn(config.frames - start, callback=callback, reset_num_timesteps=checkpoint is None)
            if callback.stopped:
                return False
            callback.measure()
        model.logger.dump(model.num_timesteps)
    save_model(model, run / MODEL, config.description(), config.ppo.activation)
    return True


@contextmanager
def _tensorboard(model: MaskablePPO, run: Path) -> Iterator[None]:
    """Have a model write its TensorBoard log into a run's folder.

    TensorBoard writes in a thread of its own. An error there also reaches the training, so its traceback isn't printed.
    """
    before = threading.excepthook

    def print_error(failed: threading.ExceptHookArgs) -> None:
        if not type(failed.thread).__module__.startswith("tensorboard."):
            before(failed)

    threading.excepthook = print_error
    try:
        model.set_logger(configure(str(run / "tensorboard"), ["tensorboard"]))
        try:
            yield
        finally:
            model.logger.close()
    finally:
        threading.excepthook = before
