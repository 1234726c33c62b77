"""Train an agent from a configuration, in a run folder: start a run, or resume one.

Each algorithm has its own module, which is imported only when it is used, since its packages are large.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

from trialea.agents.model_file import MODEL
from trialea.configs.yaml12 import write_yaml
from trialea.envs.agent import make_agent
from trialea.envs.errors import OptionError, needs_extra
from trialea.envs.files import check_new_folder, locked_folder, new_folder, resumable, write_text
from trialea.training.config import AfterstateConfig, RllibConfig, RunConfig, load_config
from trialea.training.measuring import Report
from trialea.training.memory import check_memory
from trialea.training.run_folder import CONFIG, check_same, newest_checkpoint

_USE = "is training in it"


def train(config: RunConfig, folder: str | Path, progress: bool = True, report: Report | None = None) -> bool:
    """Run a training from its beginning.

    Args:
        config: the configuration.
        folder: the run folder, which must not exist yet or be empty.
        progress: whether to show a progress bar.
        report: called with each measurement, a line of `metrics.jsonl`; if it returns True the run stops.

    Returns:
        True if the run reached its end; False if Ctrl-C or `report` stopped it, so that `resume` can continue it.

    Raises:
        OptionError: something in the configuration doesn't work, or needs too much memory; nothing has been written.
        FileError: the folder isn't empty or can't be written, or the disk is full; the message says how to continue.
        InUseError: another process trains in the folder.
        MissingExtraError: a package that the algorithm needs is not installed.
    """
    run = Path(folder)
    check_new_folder(run)
    if config.start_from:  # a resumed run may be started in another folder
        config = config.model_copy(update={"start_from": str(Path(config.start_from).resolve())})
    run_in = _prepare(config, fresh=True)  # raises before there is a folder
    for opponent in config.measure.opponents:
        for game in config.make_games():
            make_agent(opponent, game)
    with new_folder(run, _USE):
        write_text(run / CONFIG, write_yaml(config.model_dump(mode="json")))
        with resumable(run, _how_to_resume(run)):
            return run_in(run, None, progress, report)


def resume(folder: str | Path, progress: bool = True, report: Report | None = None) -> bool:
    """Resume a run that was stopped, exactly from its newest checkpoint. Arguments and results are those of `train`.

    Raises:
        OptionError: the folder holds no run, the run is complete, or its configuration was changed.
        ModelFileError: the newest checkpoint is damaged.
        FileError: the disk is full; the message says how to continue.
        InUseError: another process trains in the folder.
    """
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
    """Return a function that trains in a folder from a checkpoint, by the configuration's algorithm.

    A `fresh` run has no checkpoint. It starts from the network that `start_from` names, if any.
    """
    check_memory(config)
    if isinstance(config, AfterstateConfig):
        from trialea.training.afterstate import Learner
        from trialea.training.self_play import self_play
        from trialea.training.starting import load_starting_network

        learner = Learner(config)
        if fresh and config.start_from:
            load_starting_network(learner.network, config)
        return partial(self_play, config, learner)
    if isinstance(config, RllibConfig):
        from trialea.training.rllib.run import prepare as prepare_rllib, run as run_rllib

        return partial(run_rllib, config, prepare_rllib(config, fresh))
    with needs_extra("train", "training", "stable_baselines3", "sb3_contrib", "tensorboard"):
        import tensorboard  # noqa: F401  # stable-baselines3 only asserts that it is there

        from trialea.training.ppo import prepare as prepare_ppo, run_ppo

    return partial(run_ppo, config, prepare_ppo(config, fresh))
