"""The command `trialea tune`: search for good settings of a training, in a study's folder."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from trialea.commands.console import out, print_json, show_record, tell, when_stopped
from trialea.commands.options import AsJson, Changes, Config, missing_config
from trialea.envs.errors import needs_extra

if TYPE_CHECKING:
    from trialea.training.tuning import SearchResult, TrialResult


def tune(
    config: Config = "",
    out_folder: Annotated[
        str, typer.Option("--out", metavar="FOLDER", help="The study's folder; by default runs/<study>.")
    ] = "",
    change: Changes = None,
    storage: Annotated[
        str, typer.Option(metavar="URL", help="A database; by default a file in the study's folder.")
    ] = "",
    as_json: AsJson = False,
) -> None:
    """Search for good settings of a training.

    Ctrl-C stops; the same command continues. Several processes can share the work.
    """
    from trialea.training import tuning
    from trialea.training.config import load_tuning_config, shipped_tuning_configs

    with needs_extra("tune", "tuning", "optuna"):
        import optuna

    if not config:
        raise missing_config(shipped_tuning_configs())
    changes = [*(change or ()), *([f"storage={json.dumps(storage)}"] if storage else ())]
    settings = load_tuning_config(config, changes)
    folder = Path(out_folder or Path("runs") / settings.study)
    optuna.logging.set_verbosity(optuna.logging.CRITICAL)  # this command prints the results of trials itself
    with when_stopped(f"stopped and saved in {folder}. To continue, give the same command again"):
        found = tuning.tune(settings, folder, progress=not as_json, tell=_tell)
    if as_json:
        print_json(found.to_json())
    else:
        _show(found)


def _tell(tried: TrialResult) -> None:
    """Print a line about a trial that has ended."""
    value = "" if tried.value is None else f" at {tried.value:.4g}"
    values = ", ".join(f"{key} {_short(value)}" for key, value in tried.values.items())
    tell(f"Trial {tried.number} {tried.state}{value}: {values}. {tried.refused}".rstrip(" "))


def _short(value: object) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def _show(found: SearchResult) -> None:
    """Print the best trial."""
    counts = ", ".join(f"{found.count(state)} {state}" for state in ("complete", "pruned", "running"))
    out.print(f"Trials of {found.study}: {counts}.")
    if found.best is None:
        out.print("No trial is complete, so there is no best one.")
        return
    out.print(f"Best: trial {found.best.number}, {found.metric} {found.best.value:.4g}", style="bold")
    show_record(((key, _short(value)) for key, value in found.best.values.items()), indent=2)
    tell(f"To train with these settings: trialea train {found.config}")
