"""Find, read and write model files, without running code from them.

A model file is a zip archive in the format of stable-baselines3, with the weights in `policy.pth`. Files that this
library writes have one more member, `trialea.json`, the metadata: the game, players and options that the model is for.
Only weights, JSON and byte strings are read from a file. Sizes are checked before memory is asked for, and anything
that doesn't fit together is a `ModelFileError`. To add a kind of model, add its name to `KINDS` and read it in
`trialea.agents.loading`. A change of what `write_facts` writes needs a new `FORMAT`.
"""

from __future__ import annotations

import base64
import io
import json
import os
import pickle
import pickletools
import re
import warnings
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trialea.envs.errors import TrialeaError, needs_extra
from trialea.envs.files import atomic_path
from trialea.envs.game import Game

with needs_extra("train", "a trained model", "torch"):
    import torch
    from torch import nn

FACTS = "trialea.json"
POLICY = "policy.pth"
FORMAT = 1
KINDS = ("policy", "afterstate", "seats")
MODEL = "model.zip"
ACTIVATIONS: dict[str, type[nn.Module]] = {"tanh": nn.Tanh, "relu": nn.ReLU}

MOST_WEIGHTS = 2**29  # bytes of weights that are read, 512 MiB
MOST_TEXT = 2**25  # bytes of JSON that are read, 32 MiB


class ModelFileError(TrialeaError):
    """A model file that is missing, damaged, or made for another game."""


def find_model(path: str | Path) -> Path:
    """Return the model file that a path names: the file itself, or a run folder's model or newest checkpoint.

    Raises:
        ModelFileError: there is no regular file at this path, and no run folder with a model.
    """
    path = Path(path)
    if os.path.isdir(path):
        with readable(path, "run folder"):
            checkpoints = sorted(path.glob(f"checkpoints/*/{MODEL}"), reverse=True)
        for candidate in [path / MODEL, *checkpoints]:
            if os.path.isfile(candidate):
                return candidate
        raise ModelFileError(f"{path} holds no {MODEL} and no checkpoint")
    if os.path.isfile(path):
        return path
    if os.path.exists(path):
        raise ModelFileError(f"a model must be a regular file or a run folder, but {path} is neither")
    raise ModelFileError(f"there is no model at {path}")


def name_of(path: str | Path) -> str:
    """Return the name in results of the model at a path."""
    return Path(path).name.removesuffix(".zip") or str(path)


@contextmanager
def readable(path: Path, what: str = "model") -> Iterator[None]:
    """Turn any error in reading `path` into a `ModelFileError`; errors of this library pass unchanged."""
    try:
        yield
    except TrialeaError:
        raise
    except Exception as error:
        reason = " ".join(str(error).split())  # torch's messages have several lines
        raise ModelFileError(f"{path} is not a readable {what}: {type(error).__name__}: {reason}") from error


def kind_of(file: Path) -> str:
    """Return the kind of agent that a model file holds, one of `KINDS`: `"policy"` if it has no metadata."""
    with readable(file), zipfile.ZipFile(file) as archive:
        facts = read_facts(archive) if FACTS in archive.namelist() else {}
    return str(facts.get("kind", KINDS[0]))


def read_member(archive: zipfile.ZipFile, name: str, most: int) -> bytes:
    """Return the content of a member of an archive. A member of more than `most` bytes is refused unread."""
    size = archive.getinfo(name).file_size
    if size > most:
        raise ValueError(f"its {name} must have at most {most} bytes, got {size}")
    return archive.read(name)


def read_facts(archive: zipfile.ZipFile) -> dict[str, Any]:
    """Return the metadata of a model file, see `write_facts`, after a check of its format."""
    facts: Any = json.loads(read_member(archive, FACTS, MOST_TEXT))
    described = facts.get("description") if isinstance(facts, dict) else None
    if not isinstance(described, dict) or facts.get("format") != FORMAT or facts.get("kind") not in KINDS:
        raise ValueError(f"its {FACTS} has a format, kind or description that this version does not read")
    found: dict[str, Any] = facts
    if facts["kind"] != "afterstate" and facts.get("activation") not in [*ACTIVATIONS]:
        raise ValueError(f"the activation in its {FACTS} must be one of {', '.join(ACTIVATIONS)}")
    players = described.get("players")
    numbers = players if isinstance(players, list) and players else [players]
    if not all(type(number) is int for number in numbers) or not isinstance(described.get("options"), dict):
        raise ValueError(f"its {FACTS} must name the players and options that the model is for")
    return found


def load_weights(content: bytes) -> dict[str, torch.Tensor]:
    """Return the tensors by name that torch saved as `content`. No code in it is run.

    Each must be an ordinary tensor of finite real numbers, and may not claim more memory than the file holds for it.
    """
    try:
        with warnings.catch_warnings():  # of formats that torch reads but does not write
            warnings.simplefilter("ignore")
            loaded: Any = torch.load(io.BytesIO(content), weights_only=True, map_location="cpu")
    except pickle.UnpicklingError:  # torch's message explains how to run the code in the file
        raise ValueError("its weights are damaged, or are not weights") from None
    if not isinstance(loaded, dict) or not all(
        isinstance(name, str) and isinstance(part, torch.Tensor) for name, part in loaded.items()
    ):
        raise ValueError("its weights must be tensors by name")
    weights: dict[str, torch.Tensor] = loaded
    for name, weight in weights.items():
        if weight.layout is not torch.strided or weight.device.type != "cpu" or weight.is_complex():
            raise ValueError(f"its weights {name} must be an ordinary tensor of real numbers")
    claimed = sum(weight.numel() * weight.element_size() for weight in weights.values())
    if claimed > len(content):
        raise ValueError(f"its weights claim {claimed} bytes, but there are only {len(content)}")
    for name, weight in weights.items():
        if not weight.isfinite().all():
            raise ValueError(f"its weights {name} must be finite: some are NaN or infinite")
    return weights


def read_model(file: Path) -> tuple[dict[str, Any], dict[str, torch.Tensor]]:
    """Return the metadata of a model file, see `read_facts`, and its policy's weights by name.

    The metadata of a file by stable-baselines3 alone has the `activation`, and in `observations` the last observations
    (N,) float32 that the model was trained on, as one row of numbers; None if the file does not hold them.

    Raises:
        ModelFileError: the file is damaged.
    """
    with readable(file), zipfile.ZipFile(file) as archive:
        weights = load_weights(read_member(archive, POLICY, MOST_WEIGHTS))
        facts = read_facts(archive) if FACTS in archive.namelist() else _facts_of_stock_model(archive)
    return facts, weights


def _facts_of_stock_model(archive: zipfile.ZipFile) -> dict[str, Any]:
    """Return the same for a model that stable-baselines3 alone has saved, from the readable part of its data."""
    data = json.loads(read_member(archive, "data", MOST_TEXT))
    named = re.search(r"\.(\w+)'>", str(data.get("policy_kwargs", {}).get("activation_fn", "")))
    return {
        "activation": named.group(1).lower() if named else "tanh",
        "observations": _last_observations(data.get("_last_obs")),
    }


def _last_observations(saved: Any) -> NDArray[np.float32] | None:
    """Return the numbers of a pickled array. The pickle is taken apart and not run: they are its longest bytes."""
    if not isinstance(saved, dict):
        return None
    operations = pickletools.genops(base64.b64decode(saved[":serialized:"]))
    longest = max((argument for _, argument, _ in operations if isinstance(argument, (bytes, bytearray))), key=len)
    return np.frombuffer(longest, np.float32)


def check_description(file: Path, trained_for: dict[str, Any], game: Game) -> None:
    """Raise `ModelFileError` if a model's description is of another game than `game`."""
    players = trained_for["players"]
    if game.num_players in ([players] if isinstance(players, int) else players):
        trained_for = {**trained_for, "players": game.num_players}
    if trained_for != game.description():
        raise ModelFileError(f"{file} is a policy for {_name_game(trained_for)}, not {_name_game(game.description())}")


def _name_game(description: dict[str, Any]) -> str:
    options = ", ".join(f"{key}={value}" for key, value in description["options"].items())
    players = description["players"]
    number = players if isinstance(players, int) else ", ".join(map(str, players))
    return f"{description['game']} with {number} players ({options})"


def max_players_of(players: int | Sequence[int]) -> int | None:
    """Return the number of players that a policy's observations are padded to; None if they are not padded."""
    return None if isinstance(players, int) else max(players)


def write_policy(
    file: Path, description: Mapping[str, Any], weights: dict[str, torch.Tensor], activation: str, kind: str = "policy"
) -> None:
    """Write weights under the names of stable-baselines3, and their metadata, whole or not at all."""
    content = io.BytesIO()
    torch.save(weights, content)
    with atomic_path(file) as temporary:
        with zipfile.ZipFile(temporary, "w") as archive:
            archive.writestr(POLICY, content.getvalue())
        write_facts(temporary, description, activation, kind)


def write_facts(file: Path, description: Mapping[str, Any], activation: str, kind: str = "policy") -> None:
    """Add metadata to a model file: the description of its game, whose `players` may be a list of numbers."""
    facts = {"format": FORMAT, "kind": kind, "description": dict(description), "activation": activation}
    with zipfile.ZipFile(file, "a") as archive:
        archive.writestr(FACTS, json.dumps(facts))
