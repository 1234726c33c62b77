"""Train a policy with sb3-contrib's MaskablePPO on the batched engine."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from sb3_contrib import MaskablePPO
from stable_baselines3.common.logger import configure
from stable_baselines3.common.utils import LinearSchedule

from trialea.agents.model import snapshot
from trialea.agents.model_file import ACTIVATIONS, MODEL, max_players_of
from trialea.envs.agent import ActionValues, make_agent
from trialea.envs.errors import OptionError
from trialea.training.callbacks import RunCallback
from trialea.training.checkpoint import restore, save_model
from trialea.training.config import TrainConfig
from trialea.training.league import League
from trialea.training.measuring import Report, stop_on_interrupt
from trialea.training.policy import masked_ppo
from trialea.training.run_folder import open_folder
from trialea.training.starting import starting_policies
from trialea.training.vec_env import GamesVecEnv


class Parts(NamedTuple):
    """The parts of a training."""

    model: MaskablePPO
    env: GamesVecEnv
    league: League


def prepare(config: TrainConfig, fresh: bool) -> Parts:
    """Return the parts of a training. A `fresh` training has the weights that `start_from` names, if any."""
    parts = build(config)
    if fresh and config.start_from:
        parts.model.policy.load_state_dict(starting_policies(config)[0])
    return parts


def build(config: TrainConfig) -> Parts:
    """Return the model, its games and its opponents, all new."""
    torch.set_num_threads(config.threads)
    settings, stage = config.ppo, config.stages[0]
    league = League(config.opponents, config.past_selves, config.priority, config.seed)
    games, seats = config.make_games(stage), max_players_of(config.description()["players"])
    parts = np.array_split(np.arange(settings.environments), len(games))
    batches = [league.new_batch(game, seats, len(part), config.seat) for game, part in zip(games, parts, strict=True)]
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
    return Parts(model, env, league)


def _judges(config: TrainConfig) -> list[ActionValues]:
    """Return the judge of decisions for each of the games; an empty list if no stage pays regret."""
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


def run_ppo(
    config: TrainConfig, parts: Parts, run: Path, checkpoint: Path | None, progress: bool, report: Report | None
) -> bool:
    """Train in a run folder, from a checkpoint or the beginning; return False if the run was stopped before its end."""
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
    """Make a model write its TensorBoard log into a run's folder.

    TensorBoard writes in a separate thread. Its errors also reach the training, so its traceback isn't printed.
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
