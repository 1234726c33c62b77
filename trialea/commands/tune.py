"""The command `trialea tune`: search for the settings of a training, in a study's folder."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table

from trialea.commands.console import out, print_json, tell
from trialea.commands.options import AsJson
from trialea.envs.errors import OptionError, needs_extra

if TYPE_CHECKING:
    from trialea.training.tuning import Tried, Tuned


def tune(
    config: Annotated[str, typer.Argument(help="A YAML file, or one that ships with the package.")] = "",
    out_folder: Annotated[str, typer.Option("--out", help="The study's folder; by default runs/<study>.")] = "",
    change: Annotated[list[str] | None, typer.Option("--set", help="Change a key: --set trials=50.")] = None,
    storage: Annotated[str, typer.Option(help="URL of a database; by default a file in the study's folder.")] = "",
    as_json: AsJson = False,
) -> None:
    """Search for good settings of a training. Ctrl-C stops; the same command goes on, and several share the work."""
    with needs_extra(
        "tune", "tuning", "optuna", "sqlalchemy", "torch", "stable_baselines3", "sb3_contrib", "tensorboard"
    ):
        import optuna

        from trialea.training import tuning
        from trialea.training.config import load_tuning_config, shipped_tuning_configs
    if not config:
        raise OptionError(f"name a configuration; ours are: {', '.join(shipped_tuning_configs())}")
    changes = [*(change or ()), *([f"storage={json.dumps(storage)}"] if storage else ())]
    settings = load_tuning_config(config, changes)
    folder = Path(out_folder or Path("runs") / settings.study)
    optuna.logging.set_verbosity(optuna.logging.CRITICAL)  # what it would say is told here, in other words
    try:
        found = tuning.tune(settings, folder, progress=not as_json, tell=_tell)
    except KeyboardInterrupt:
        tell(f"Stopped and saved in {folder}. To go on, give the same command again.")
        raise typer.Exit(130) from None
    if as_json:
        print_json(found.to_json())
    else:
        _show(found)


def _tell(tried: Tried) -> None:
    """A line about a trial that has ended."""
    value = "" if tried.value is None else f" at {tried.value:.4g}"
    values = ", ".join(f"{key} {_short(value)}" for key, value in tried.values.items())
    tell(f"Trial {tried.number} {tried.state}{value}: {values}. {tried.refused}".rstrip(" "))


def _short(value: object) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def _show(found: Tuned) -> None:
    """The best trial as a table."""
    counts = ", ".join(f"{found.count(state)} {state}" for state in ("complete", "pruned", "running"))
    out.print(f"Trials of {found.study}: {counts}.", highlight=False)
    if found.best is None:
        out.print("None is complete: there is no best one.")
        return
    table = Table("key", "value", title=f"trial {found.best.number}: {found.metric} {found.best.value:.4g}")
    for key, value in found.best.values.items():
        table.add_row(key, _short(value))
    out.print(table)
    tell(f"To train so: trialea train {found.config}")
