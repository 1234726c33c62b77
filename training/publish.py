"""Put the model of a run into the zoo: `python -m trialea.training.publish RUN NAME`."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path
from typing import Any

from trialea.agents.model_file import MODEL, kind_of, read_model, write_policy
from trialea.agents.zoo import FOLDER
from trialea.envs.errors import OptionError, TrialeaError
from trialea.envs.files import atomic_path, write_text
from trialea.evaluation.reports.report import read_metrics
from trialea.training.config import load_config
from trialea.training.run_folder import CONFIG


def publish(run: str | Path, name: str, zoo: Path = FOLDER) -> Path:
    """Write a finished run's model and its description into the zoo, replacing any agent of that name.

    Args:
        run: the run folder.
        name: the agent's name, without `zoo:`.
        zoo: the folder that holds one folder for each game.

    Returns:
        The model file.

    Raises:
        OptionError: the run is not finished.
    """
    run = Path(run)
    if not (run / MODEL).is_file():
        raise OptionError(f"{run} must be a finished run, but it has no {MODEL}")
    config = load_config(run / CONFIG)
    last = read_metrics(run)[-1]
    target = zoo / config.game / f"{name}.zip"
    if kind_of(run / MODEL) == "policy":
        _write_policy(run / MODEL, target)
    else:
        with atomic_path(target) as temporary:
            shutil.copyfile(run / MODEL, temporary)
    about: dict[str, Any] = {
        "config": config.model_dump(mode="json"),
        "versions": json.loads((run / "versions.json").read_text(encoding="utf-8")),
        "frames": last["frames"],
        "seconds": round(last["seconds"]),
        "figures": {},
    }
    write_about(target, about)
    return target


def write_about(model: Path, about: dict[str, Any]) -> None:
    """Write the description of a model into a file beside it."""
    text = json.dumps(about, indent=2, ensure_ascii=False)
    write_text(model.with_suffix(".json"), text + "\n")


def _write_policy(model: Path, target: Path) -> None:
    """Write the layers that choose actions, without critic and optimiser."""
    facts, weights = read_model(model)
    chosen = {
        key: value for key, value in weights.items() if key.startswith(("mlp_extractor.policy_net.", "action_net."))
    }
    write_policy(target, facts["description"], chosen, facts["activation"])


def main() -> None:
    """Run the command."""
    if len(sys.argv) != 3:
        sys.exit("usage: python -m trialea.training.publish RUN NAME")
    try:
        print(publish(sys.argv[1], sys.argv[2]))
    except TrialeaError as error:
        sys.exit(f"trialea: {error}")


if __name__ == "__main__":
    main()
