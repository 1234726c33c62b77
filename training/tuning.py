"""Search for good training settings with Optuna, which prunes trials by the measurements of their trainings.

Every trial is a training run in its own folder. The whole state of a search is in the study's storage and in these
folders, so a search can be stopped and resumed, and several processes can share it.
"""

from __future__ import annotations

import json
import math
import secrets
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np

from trialea.agents.model import PolicyError
from trialea.agents.model_file import MODEL
from trialea.configs import read
from trialea.configs.yaml12 import on_one_line, read_yaml, write_yaml
from trialea.envs.errors import InUseError, OptionError, UnknownNameError, needs_extra
from trialea.envs.files import locked, locked_folder, resumable, write_text
from trialea.evaluation.measures.regret import solution_of
from trialea.evaluation.reports.report import read_metrics
from trialea.training.config import AfterstateConfig, RunConfig
from trialea.training.config.tuning import Range, TuneConfig
from trialea.training.run import resume, train
from trialea.training.run_folder import CONFIG

with needs_extra("tune", "tuning", "optuna", "sqlalchemy"):
    import optuna
    from optuna.distributions import BaseDistribution
    from optuna.samplers import BaseSampler, TPESampler
    from optuna.trial import FrozenTrial, Trial, TrialState
    from sqlalchemy.engine import make_url
    from sqlalchemy.exc import IntegrityError, SQLAlchemyError

SETTINGS = "tune.yaml"
BEST = "best.yaml"
HEARTBEAT = 30  # seconds between the heartbeats of a running trial; after two missed ones another trial resumes its run
# Attributes of a trial: its run folder, if it resumes another trial's; why it was refused; the lock of its process.
RUN, REFUSED, PROCESS = "run", "refused", "process"
Direction = Literal["minimize", "maximize"]
CHECKED = (TrialState.COMPLETE, TrialState.PRUNED)


@dataclass(frozen=True, slots=True)
class TrialResult:
    """The state and result of a trial.

    Attributes:
        number: the trial's number in the study, from 0.
        run: the name of its run folder.
        state: `"complete"`, `"pruned"`, `"running"`, `"waiting"` (to be resumed) or `"fail"` (stopped). A trial that
            was stopped is resumed under another number.
        value: the metric at the end, or at the last measurement of a pruned trial; None if there is none.
        values: its values of the keys that are searched.
        refused: why no training was possible with these values; empty if it was.
    """

    number: int
    run: str
    state: str
    value: float | None
    values: dict[str, Any]
    refused: str


@dataclass(frozen=True, slots=True)
class SearchResult:
    """The results of a search so far.

    Attributes:
        study, metric: the study's name and its metric.
        direction: `"minimize"` or `"maximize"`.
        trials: all trials, in order.
        best: the best complete trial; None if there is none.
        config: the file with the configuration of the best trial; None if there is none.
    """

    study: str
    metric: str
    direction: Direction
    trials: tuple[TrialResult, ...]
    best: TrialResult | None
    config: str | None

    def to_json(self) -> dict[str, Any]:
        """Return the results as plain data."""
        return asdict(self)

    def count(self, state: str) -> int:
        """Return the number of trials in a state."""
        return sum(trial.state == state for trial in self.trials)


def tune(
    config: TuneConfig,
    folder: str | Path,
    progress: bool = True,
    tell: Callable[[TrialResult], None] | None = None,
) -> SearchResult:
    """Start a search, or resume the one in `folder`, and run it until it has as many trials as `config` says.

    Args:
        config: the search. To resume one, everything but `trials` must be as before.
        folder: the study's folder; each trial's run is a folder in it.
        progress: whether to show a progress bar of each training.
        tell: called with each trial when it ends.

    Returns:
        The results. The configuration of the best trial is written into the folder as `best.yaml`.

    Raises:
        OptionError: the folder or the storage holds another search, or the storage can't be used.
        KeyboardInterrupt: Ctrl-C stopped the search; everything is saved, and the same call resumes it.
    """
    place = Path(folder)
    training = config.training()
    metric = _metric(config, training)
    direction: Direction = "minimize" if metric == "regret" else "maximize"
    with locked_folder(place, "is beginning to search in it", wait=True):
        _claim(place, config)
    with _process(place) as process, _opened(config, place, direction) as study:
        _claim_study(study, config, training, metric)

        def objective(trial: Trial) -> float:
            trial.set_user_attr(PROCESS, process)
            return _attempt(trial, study, config, place, metric, progress)

        def ended(study: optuna.Study, trial: FrozenTrial) -> None:
            found = _found(study, config, place, metric, direction)
            if tell is not None:
                tell(found.trials[trial.number])

        while True:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
                optuna.storages.fail_stale_trials(study)
            _fail_abandoned(study, place)
            taken = len(study.get_trials(deepcopy=False, states=(*CHECKED, TrialState.RUNNING)))
            if taken >= config.trials:
                return _found(study, config, place, metric, direction)
            study.optimize(objective, n_trials=1, callbacks=[ended])


def _metric(config: TuneConfig, training: RunConfig) -> str:
    """Return the name of the search's metric."""
    rates = [f"win_rate/{opponent}" for opponent in training.measure.opponents]
    if config.metric in rates:
        return config.metric
    try:
        solution_of(training.make_game())
        known = ["regret", "optimal_share", *rates]
    except OptionError:
        known = rates
    if config.metric and config.metric not in known:
        raise OptionError(f"metric must be one of {', '.join(known)}, which the training measures, got {config.metric}")
    return config.metric or known[0]


# The study ---------------------------------------------------------------------------------------------------------


def _claim(folder: Path, config: TuneConfig) -> None:
    """Write the search into its folder; raise `OptionError` if the folder holds anything else."""
    plain = config.model_dump(mode="json", exclude={"trials"})
    if config.storage:
        plain["storage"] = _without_password(config.storage)
    file, names = folder / SETTINGS, {path.name for path in folder.iterdir()}
    if SETTINGS in names:
        before = read(file)
        if before != plain:
            differing = ", ".join(key for key in plain if before.get(key) != plain[key])
            raise OptionError(
                f"{folder} holds another search, with other values of {differing}. Choose another folder, or resume"
                " with the same configuration"
            )
        return
    if not all(name.startswith(".") for name in names):  # hidden files are locks or another process's unfinished files
        raise OptionError(f"{folder} must be empty or hold this search. Choose another folder, or delete it")
    write_text(file, write_yaml(plain))


@contextmanager
def _process(folder: Path) -> Iterator[str]:
    """Hold a lock that belongs to this process alone, and yield its name, which is stored in this process's trials.

    When the process ends, the lock is released, so that other processes notice at once.
    """
    name = f".process-{secrets.token_hex(8)}"
    with locked(folder / name, "is searching"):
        yield name


def _fail_abandoned(study: optuna.Study, folder: Path) -> None:
    """Queue the trials of killed processes again, without waiting for missed heartbeats.

    This works only for processes that share the folder. Processes that share only the storage have only heartbeats.
    """
    for name in {trial.user_attrs[PROCESS] for trial in _running(study) if PROCESS in trial.user_attrs}:
        if not (folder / name).is_file():
            continue
        with suppress(InUseError), locked(folder / name, "is taking up trials"):  # refused while the process runs
            for trial in _running(study):
                if trial.user_attrs.get(PROCESS) == name:
                    study.tell(trial.number, state=TrialState.FAIL)
                    _take_up_again(study, trial)


def _running(study: optuna.Study) -> list[FrozenTrial]:
    return study.get_trials(deepcopy=False, states=(TrialState.RUNNING,))


def _without_password(url: str) -> str:
    try:
        return make_url(url).render_as_string(hide_password=True)
    except SQLAlchemyError as error:
        raise OptionError(f"storage must be a database's URL, such as sqlite:///study.db: {error}") from error


@contextmanager
def _opened(config: TuneConfig, folder: Path, direction: Direction) -> Iterator[optuna.Study]:
    """Open the study in its storage, or create it."""
    url = config.storage or f"sqlite:///{(folder / 'study.db').as_posix()}"
    pruner: optuna.pruners.BasePruner = optuna.pruners.NopPruner()
    if config.pruner == "median":  # never prune by the first measurement, before anything is learnt
        pruner = optuna.pruners.MedianPruner(n_startup_trials=config.startup, n_warmup_steps=1)
    storage = _storage(url)
    try:
        yield optuna.create_study(
            storage=storage,
            study_name=config.study,
            direction=direction,
            load_if_exists=True,
            sampler=_Sampler(config.seed, config.startup),
            pruner=pruner,
        )
    except optuna.exceptions.StorageInternalError as error:
        raise _unusable(url, error.__cause__ or error) from error
    finally:
        storage.remove_session()
        storage.engine.dispose()


def _storage(url: str) -> optuna.storages.RDBStorage:
    attempts = 5
    while True:
        attempts -= 1
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
                return optuna.storages.RDBStorage(
                    url, heartbeat_interval=HEARTBEAT, heartbeat_stale_trial_callback=_take_up_again
                )
        except (SQLAlchemyError, ImportError) as error:
            just_made = isinstance(error, IntegrityError) or "already exists" in str(error)
            if not attempts or not just_made:
                raise _unusable(url, error) from error
            time.sleep(0.5)  # another process is just creating the tables


def _unusable(url: str, error: BaseException) -> OptionError:
    reason = str(error).splitlines()[0]
    return OptionError(
        f"the storage {_without_password(url)} cannot be used: {reason}. Once it can be, the same command continues"
    )


def _claim_study(study: optuna.Study, config: TuneConfig, training: RunConfig, metric: str) -> None:
    """Store the search's description in the study; raise `OptionError` if the study has another description."""
    settings = config.model_dump(mode="json", exclude={"trials", "storage", "base", "changes", "study"})
    about = json.dumps({**settings, "metric": metric, "training": training.model_dump(mode="json")}, sort_keys=True)
    if study.user_attrs.setdefault("about", about) != about:
        raise OptionError(
            f"study must be a new name in this storage: the study {config.study} there searches something else, or with"
            " another training"
        )
    study.set_user_attr("about", about)


class _Sampler(BaseSampler):
    """Optuna's TPE sampler, seeded for each trial by its place, so that a resumed search draws the same values."""

    def __init__(self, seed: int, startup: int) -> None:
        self._seed, self._startup = seed, startup
        self._tpe = TPESampler(seed=seed)

    def before_trial(self, study: optuna.Study, trial: FrozenTrial) -> None:
        earlier = study.get_trials(deepcopy=False)
        place = sum(other.number < trial.number and other.state != TrialState.FAIL for other in earlier)
        seed = int(np.random.SeedSequence([self._seed, place]).generate_state(1)[0])
        self._tpe = TPESampler(seed=seed, n_startup_trials=self._startup)

    def infer_relative_search_space(self, study: optuna.Study, trial: FrozenTrial) -> dict[str, BaseDistribution]:
        return self._tpe.infer_relative_search_space(study, trial)

    def sample_relative(
        self, study: optuna.Study, trial: FrozenTrial, search_space: dict[str, BaseDistribution]
    ) -> dict[str, Any]:
        return self._tpe.sample_relative(study, trial, search_space)

    def sample_independent(
        self, study: optuna.Study, trial: FrozenTrial, param_name: str, param_distribution: BaseDistribution
    ) -> Any:
        return self._tpe.sample_independent(study, trial, param_name, param_distribution)


# A trial -----------------------------------------------------------------------------------------------------------


class _Judge:
    """Report a trial's measurements to the study, and ask whether to prune it."""

    def __init__(self, trial: Trial, metric: str, config: RunConfig) -> None:
        self._trial, self._metric = trial, metric
        self._unit = "games" if isinstance(config, AfterstateConfig) else "frames"
        total = getattr(config, self._unit)
        self._times, self._gap, self._step = config.measure.times, total / config.measure.times, -1
        self.value, self.pruned = math.nan, False

    def note(self, line: dict[str, Any]) -> None:
        """Report a measurement under its number within the training, so that trials can be compared."""
        if line.get(self._metric) is None:
            raise OptionError(f"metric must be one that the training measures, got {self._metric}")
        self.value = float(line[self._metric])
        step = min(int(line[self._unit] / self._gap), self._times)
        if step > self._step:  # a resumed run makes some measurements again
            self._trial.report(self.value, step)
            self._step = step

    def __call__(self, line: dict[str, Any]) -> bool:
        self.note(line)
        self.pruned = self._trial.should_prune()
        return self.pruned


def _attempt(trial: Trial, study: optuna.Study, config: TuneConfig, folder: Path, metric: str, progress: bool) -> float:
    """Train with a trial's values, or resume its training, and return the metric at the end."""
    try:
        values = [f"{key}={_suggested(trial, key, values)}" for key, values in config.space.items()]
        training = config.training(values)
        judge = _Judge(trial, metric, training)
        with resumable(folder, "The study is saved, too: the same `trialea tune` command continues it"):
            finished = _go_on(training, folder / _run_of(trial), judge, progress)
    except (OptionError, UnknownNameError, PolicyError) as error:  # incompatible values, or the training diverges
        trial.set_user_attr(REFUSED, str(error))
        raise optuna.TrialPruned(str(error)) from error
    except BaseException:
        _take_up_again(study, trial)
        raise
    if judge.pruned and not finished:
        raise optuna.TrialPruned
    if not finished:
        _take_up_again(study, trial)
        raise KeyboardInterrupt
    return judge.value


def _suggested(trial: Trial, key: str, values: Range | tuple[Any, ...]) -> str:
    if isinstance(values, Range):
        return values.suggest(trial, key)
    return trial.suggest_categorical(key, [on_one_line(value) for value in values])


def _go_on(training: RunConfig, run: Path, judge: _Judge, progress: bool) -> bool:
    """Start or resume the run in a folder. Return whether it is complete."""
    if not (run / CONFIG).is_file():
        return train(training, run, progress, judge)
    for line in read_metrics(run):
        judge.note(line)
    return (run / MODEL).exists() or resume(run, progress, judge)


def _run_of(trial: Trial | FrozenTrial) -> str:
    return str(trial.user_attrs.get(RUN, f"trial-{trial.number:03d}"))


def _take_up_again(study: optuna.Study, trial: Trial | FrozenTrial) -> None:
    """Queue a trial that resumes the run of a stopped trial."""
    study.enqueue_trial(trial.params, user_attrs={RUN: _run_of(trial)})


# The results -------------------------------------------------------------------------------------------------------


def _found(study: optuna.Study, config: TuneConfig, folder: Path, metric: str, direction: Direction) -> SearchResult:
    trials = tuple(_tried(trial) for trial in study.get_trials(deepcopy=False))
    best = None
    if any(trial.state == "complete" for trial in trials):
        best = trials[study.best_trial.number]
        training = config.training([f"{key}={on_one_line(value)}" for key, value in best.values.items()])
        write_text(folder / BEST, write_yaml(training.model_dump(mode="json")))
    return SearchResult(config.study, metric, direction, trials, best, str(folder / BEST) if best else None)


def _tried(trial: FrozenTrial) -> TrialResult:
    values = {key: read_yaml(value) if isinstance(value, str) else value for key, value in trial.params.items()}
    refused = trial.user_attrs.get(REFUSED, "")
    return TrialResult(trial.number, _run_of(trial), trial.state.name.lower(), trial.value, values, refused)
