"""The folder of a training run: its configuration, measurements and checkpoints, whatever the algorithm.

A checkpoint is a folder that is written whole or not at all. Each algorithm decides on the content of its checkpoints.
"""

from __future__ import annotations

import json
import platform
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch

from trialea.agents.model_file import ModelFileError, readable
from trialea.configs.yaml12 import read_yaml
from trialea.envs.errors import OptionError
from trialea.envs.files import atomic_folder, remove_leftovers, write_text
from trialea.envs.versions import versions
from trialea.evaluation.reports.report import read_metrics

CONFIG = "config.yaml"


@contextmanager
def new_checkpoint(target: Path) -> Iterator[Path]:
    """Yield a folder to write a checkpoint into. It then becomes `target`, with the run's configuration added."""
    with atomic_folder(target) as temporary:
        yield temporary
        if (config := target.parent.parent / CONFIG).is_file():
            shutil.copyfile(config, temporary / CONFIG)


def save_tensors(tensors: Any, file: Path) -> None:
    """Write tensors as torch does, but raise an `OSError` if the disk is full, where torch raises a RuntimeError."""
    with file.open("wb") as opened:
        torch.save(tensors, opened)


def newest_checkpoint(folder: Path) -> Path | None:
    """Return the newest checkpoint in a run's folder of checkpoints; None if it has no checkpoint."""
    found = sorted(path for path in folder.glob("[0-9]*") if path.is_dir())
    return found[-1] if found else None


@contextmanager
def readable_checkpoint(folder: Path) -> Iterator[None]:
    """Turn any error in reading a checkpoint into a `ModelFileError` that says how to continue."""
    try:
        with readable(folder, "checkpoint"):
            yield
    except ModelFileError as error:
        raise ModelFileError(f"{error}. Delete {folder} to continue from the checkpoint before it") from error


def check_same(run: Path, checkpoint: Path) -> None:
    """Raise `OptionError` if a run's configuration differs from that of its checkpoint."""
    if not (checkpoint / CONFIG).is_file():  # written by a version that kept none
        return
    with readable_checkpoint(checkpoint):
        before, now = ({**read_yaml((place / CONFIG).read_bytes())} for place in (checkpoint, run))
    changed = [key for key in {**before, **now} if before.get(key) != now.get(key)]
    if changed:
        raise OptionError(
            f"{run / CONFIG} must be as at the start of the run, but {', '.join(changed)} changed. Put back"
            f" {checkpoint / CONFIG}, or start a new run with --set start_from={run}"
        )


def open_folder(run: Path, frames: int) -> None:
    """Prepare a run's folder for training from a checkpoint with this many frames, or from the beginning with 0.

    Unfinished checkpoints of a process that died are deleted. So are the measurements that will be made again: those
    after the checkpoint, or all of them. The versions of the packages are noted.
    """
    remove_leftovers(run / "checkpoints")
    metrics = run / "metrics.jsonl"
    if metrics.exists():
        dated = [line for line in read_metrics(run) if isinstance(line.get("frames"), int)]
        write_text(metrics, "".join(json.dumps(line) + "\n" for line in dated if line["frames"] <= frames > 0))
    noted = json.dumps({**versions(), "machine": platform.machine()}, indent=2)
    write_text(run / "versions.json", noted + "\n")
