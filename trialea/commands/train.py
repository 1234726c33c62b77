"""The command `trialea train`: train an agent from a configuration, in a run folder."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from trialea.commands.console import run_folder, tell, when_stopped
from trialea.commands.options import Changes, Config, missing_config
from trialea.envs.errors import OptionError


def train(
    config: Config = "",
    out_folder: Annotated[
        str, typer.Option("--out", metavar="FOLDER", help="The run folder; by default runs/<config>-<number>.")
    ] = "",
    change: Changes = None,
    resume: Annotated[str, typer.Option(metavar="FOLDER", help="Continue the run in this folder.")] = "",
) -> None:
    """Train an agent.

    Ctrl-C stops after saving everything; --resume continues.
    """
    from trialea.training import config as configuration, run as training

    with when_stopped("stopped before the run began"):
        if resume:
            if config or out_folder or change:
                raise OptionError("--resume must be given alone: the folder holds the configuration of its run")
            folder = Path(resume)
            finished = training.resume(folder)
        else:
            if not config:
                raise missing_config(configuration.shipped_configs())
            settings = configuration.load_config(config, change or ())
            with run_folder(out_folder, Path(config).stem) as folder:
                finished = training.train(settings, folder)
    if not finished:
        raise KeyboardInterrupt(f"stopped and saved. To continue: trialea train --resume {folder}")
    tell(f"The run is complete: {folder}")
