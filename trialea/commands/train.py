"""The command `trialea train`: train a policy from a configuration, in a run folder."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from trialea.commands.console import tell
from trialea.envs.errors import OptionError, needs_extra


def train(
    config: Annotated[str, typer.Argument(help="A YAML file, or one of ours such as configs/no_dice.yaml.")] = "",
    out_folder: Annotated[str, typer.Option("--out", help="The run folder; by default a new one in runs/.")] = "",
    change: Annotated[
        list[str] | None,
        typer.Option("--set", help="Change a key: --set frames=1000000, --set ppo.n_steps=64."),
    ] = None,
    resume: Annotated[str, typer.Option(help="Go on with the run in this folder.")] = "",
) -> None:
    """Train a policy. Ctrl-C stops after saving everything; --resume goes on."""
    with needs_extra("train", "training", "torch", "stable_baselines3", "sb3_contrib", "tensorboard"):
        from trialea.training import config as configuration, run as training
    if resume:
        if config or out_folder or change:
            raise OptionError("--resume takes the configuration of the run: give it alone")
        folder = Path(resume)
        finished = training.resume(folder)
    else:
        if not config:
            raise OptionError(f"name a configuration; ours are: {', '.join(configuration.shipped_configs())}")
        settings = configuration.load_config(config, change or ())
        folder = Path(out_folder) if out_folder else training.new_run_folder(Path("runs"), Path(config).stem)
        finished = training.train(settings, folder)
    if finished:
        tell(f"The run is complete: {folder}")
    else:
        tell(f"Stopped and saved. To go on: trialea train --resume {folder}")
        raise typer.Exit(130)
