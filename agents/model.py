"""Trained policies as agents: a network that reads observations, and the files that hold it.

Only weights are read from a model file, never code: the network is built from the shapes of its weights, and torch
loads with `weights_only=True`. The files are stable-baselines3's own (a zip archive with `policy.pth` inside), with
one member more, `trialea.json`, that says what game the policy is for.
"""

from __future__ import annotations

import copy
import io
import json
import pickle
import re
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trialea.envs.errors import OptionError, TrialeaError, needs_extra
from trialea.envs.files import atomic_path
from trialea.envs.game import Game, States
from trialea.envs.padding import ObservationPadder

with needs_extra("train", "a trained model", "torch"):
    import torch
    from torch import nn
    from torch.nn.utils import skip_init

FACTS = "trialea.json"
POLICY = "policy.pth"
FORMAT = 1
KINDS = ("policy", "afterstate", "seats")
MODEL = "model.zip"
ACTIVATIONS: dict[str, type[nn.Module]] = {"tanh": nn.Tanh, "relu": nn.ReLU}


class ModelFileError(TrialeaError):
    """A model file that is missing, damaged, or made for something else."""


class PolicyError(TrialeaError, ValueError):
    """A policy that cannot choose: no action is legal, or its scores are no numbers, as after training diverged."""


class ModelAgent:
    """A policy network as an agent.

    Args:
        game: what it plays.
        network: from observations (B, D) float32 to action scores (B, A).
        name: how it is called in results.
        sample: draw from the policy instead of taking its most probable action.
        seed: what the draws depend on, beside the game's own seed.
        max_players: the most players that the policy is for, if it is for several numbers of players. Its observations
            are then padded, see `trialea.envs.padding.ObservationPadder`.
    """

    def __init__(
        self,
        game: Game,
        network: nn.Module,
        name: str = "model",
        sample: bool = False,
        seed: int = 0,
        max_players: int | None = None,
    ) -> None:
        self.name = name
        self.game = game
        self._view = ObservationPadder(game, max_players)
        self._network = network
        self._sample = sample
        self._seed = np.uint64(seed)

    @classmethod
    def load(cls, path: str | Path, game: Game, seed: int = 0) -> ModelAgent:
        """The agent in a run folder or model file, checked to be for `game`.

        Raises:
            ModelFileError: no model lies there, it is damaged, or it is for another game or number of players.
        """
        file = model_file(Path(path))
        with readable(file):
            network, max_players = checked_network(file, *read_model(file), game)
        return cls(game, network, name=name_of(path), seed=seed, max_players=max_players)

    def scores(self, states: States) -> torch.Tensor:
        """The logarithms of the action probabilities up to a constant, (B, A); minus infinity where illegal."""
        return legal_scores(self._network, self._view, states)

    @property
    def deterministic(self) -> bool:
        """Whether it takes the most probable action of its policy, instead of drawing from it."""
        return not self._sample

    def action_probabilities(self, states: States) -> NDArray[np.float32]:
        """The policy's probability of each action, (B, A); what is played where it is not `deterministic`."""
        probabilities: NDArray[np.float32] = torch.softmax(self.scores(states), dim=1).numpy()
        return probabilities

    def act(self, states: States) -> NDArray[np.int64]:
        """A legal action (B,) for each of the (B,) states."""
        scores = self.scores(states)
        if self._sample:
            return sampled(scores, self.game, states, self._seed)
        actions: NDArray[np.int64] = scores.argmax(dim=1).numpy()
        return actions


def legal_scores(
    network: Callable[[torch.Tensor], torch.Tensor], view: ObservationPadder, states: States
) -> torch.Tensor:
    """What a network makes of (B,) states, (B, A); minus infinity where an action is illegal.

    Raises:
        PolicyError: no action is legal, or what the network says are no numbers.
    """
    with torch.inference_mode():
        scores = network(torch.from_numpy(view.observe(states)))
        legal = torch.from_numpy(view.game.masks(states)).to(torch.bool)
        scores = torch.where(legal, scores, -torch.inf)
        if not scores.amax(dim=1).isfinite().all():
            raise PolicyError("no action can be chosen: none is legal, or the policy's scores are no numbers")
        return scores


def sampled(scores: torch.Tensor, game: Game, states: States, seed: np.uint64) -> NDArray[np.int64]:
    """An action (B,) for each of the (B,) states, drawn by their scores, see `legal_scores`, and from this seed."""
    uniform = np.empty(len(states))
    game.loops.uniforms(states, seed, uniform)
    drawn: NDArray[np.int64] = draw(torch.softmax(scores, dim=1), torch.from_numpy(uniform)).numpy()
    return drawn


def draw(probabilities: torch.Tensor, uniform: torch.Tensor) -> torch.Tensor:
    """An action (B,) for each row of `probabilities` (B, A), by inverting its distribution at `uniform` (B,), 0 to 1.

    An action of probability 0 is never drawn: the first one whose cumulated probability passes the draw has a positive
    probability of its own, and a draw beyond the last sum is moved below it.

    Raises:
        PolicyError: the probabilities of a row are all 0, or no numbers.
    """
    sums = probabilities.cumsum(dim=1)
    total = sums[:, -1:]
    if not (total > 0).all():
        raise PolicyError("no action can be drawn: none is legal, or the policy's scores are no numbers")
    target = torch.minimum(uniform.to(sums.dtype).unsqueeze(1) * total, total.nextafter(torch.zeros_like(total)))
    return torch.searchsorted(sums, target, right=True).squeeze(1)


def checked_network(
    file: Path, facts: dict[str, Any], weights: dict[str, torch.Tensor], game: Game
) -> tuple[nn.Sequential, int | None]:
    """The network that a model file describes and that is for `game`, and what its observations are padded to.

    See `read_model`.
    """
    max_players = None
    if facts.get("description") is not None:
        check_description(file, facts["description"], game)
        max_players = max_players_of(facts["description"]["players"])
    network = network_from(weights, facts["activation"])
    shape, size = _shape(network), ObservationPadder(game, max_players).size
    if shape != (size, game.num_actions):
        raise ModelFileError(
            f"{file} reads {shape[0]} numbers and chooses among {shape[1]} actions; {game!r} shows"
            f" {size} and has {game.num_actions}"
        )
    network(torch.zeros(1, size))  # fails where its layers do not fit each other
    return network, max_players


def max_players_of(players: int | Sequence[int]) -> int | None:
    """What the observations of a policy for so many players are padded to: nothing, where it is for one number."""
    return None if isinstance(players, int) else max(players)


def _shape(network: nn.Sequential) -> tuple[int, int]:
    """How many numbers a network reads, and how many it gives."""
    layers = [layer for layer in network if isinstance(layer, nn.Linear)]
    return layers[0].in_features, layers[-1].out_features


def check_description(file: Path, trained_for: dict[str, Any], game: Game) -> None:
    """Raise `ModelFileError` where a model was trained for another game than `game`, by their descriptions."""
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


def name_of(path: str | Path) -> str:
    """How the model that a path names is called in results."""
    return Path(path).name.removesuffix(".zip") or str(path)


def model_file(path: Path) -> Path:
    """The model that a path names: the file itself, or a run folder's model or newest checkpoint."""
    if path.is_dir():
        checkpoints = sorted(path.glob(f"checkpoints/*/{MODEL}"))
        candidates = [path / MODEL, *reversed(checkpoints)]
        for candidate in candidates:
            if candidate.is_file():
                return candidate
        raise ModelFileError(f"{path} holds no {MODEL} and no checkpoint")
    if path.is_file():
        return path
    raise ModelFileError(f"no model lies at {path}")


@contextmanager
def readable(path: Path, what: str = "model") -> Iterator[None]:
    """Turn whatever goes wrong with what lies there into a `ModelFileError`, but for errors of ours."""
    try:
        yield
    except TrialeaError:
        raise
    except Exception as error:  # it cannot be opened, or what is in it does not fit together
        reason = " ".join(str(error).split())  # torch's has several lines
        raise ModelFileError(f"{path} is not a readable {what}: {type(error).__name__}: {reason}") from error


def kind_of(file: Path) -> str:
    """What kind of agent a model file holds: `"policy"`, unless it says otherwise."""
    with readable(file), zipfile.ZipFile(file) as archive:
        facts = read_facts(archive) if FACTS in archive.namelist() else {}
    return str(facts.get("kind", KINDS[0]))


def read_facts(archive: zipfile.ZipFile) -> dict[str, Any]:
    """What a model file of ours says of itself, see `write_facts`; checked to be what is written there."""
    facts: Any = json.loads(archive.read(FACTS))
    described = facts.get("description") if isinstance(facts, dict) else None
    if not isinstance(described, dict) or facts.get("format") != FORMAT or facts.get("kind") not in KINDS:
        raise ValueError(f"its {FACTS} is none that this version writes")
    found: dict[str, Any] = facts
    if facts["kind"] != "afterstate" and facts.get("activation") not in ACTIVATIONS:
        raise ValueError(f"its {FACTS} names no activation that is known: {', '.join(ACTIVATIONS)}")
    players = described.get("players")
    numbers = players if isinstance(players, list) and players else [players]
    if not all(type(number) is int for number in numbers) or not isinstance(described.get("options"), dict):
        raise ValueError(f"its {FACTS} does not say which players and options it is for")
    return found


def load_weights(content: bytes) -> dict[str, torch.Tensor]:
    """The weights that torch saved as `content`; no code is read, and numbers that are not finite are refused."""
    try:
        loaded: Any = torch.load(io.BytesIO(content), weights_only=True, map_location="cpu")
    except pickle.UnpicklingError:  # torch's own words are how to run what it holds
        raise ValueError("what should be its weights is damaged, or holds something else than weights") from None
    if not isinstance(loaded, dict) or not all(isinstance(part, torch.Tensor) for part in loaded.values()):
        raise ValueError("what should be its weights are no tensors by name")
    weights: dict[str, torch.Tensor] = loaded
    for name, weight in weights.items():
        if not weight.isfinite().all():
            raise ValueError(f"its weights {name} are not all numbers")
    return weights


def read_model(file: Path) -> tuple[dict[str, Any], dict[str, torch.Tensor]]:
    """What a model file says of itself, and its policy's weights."""
    with readable(file), zipfile.ZipFile(file) as archive:
        names = archive.namelist()
        weights = load_weights(archive.read(POLICY))
        facts = read_facts(archive) if FACTS in names else _facts_of_stock_model(archive)
    return facts, weights


def _facts_of_stock_model(archive: zipfile.ZipFile) -> dict[str, Any]:
    """The activation that a model saved by stable-baselines3 alone names in the readable part of its data."""
    kwargs = json.loads(archive.read("data")).get("policy_kwargs", {})
    named = re.search(r"\.(\w+)'>", str(kwargs.get("activation_fn", "")))
    return {"activation": named.group(1).lower() if named else "tanh"}


def write_policy(
    file: Path, description: Mapping[str, Any], weights: dict[str, torch.Tensor], activation: str, kind: str = "policy"
) -> None:
    """Write weights under the names of stable-baselines3, with what they are for, whole or not at all."""
    content = io.BytesIO()
    torch.save(weights, content)
    with atomic_path(file) as temporary:
        with zipfile.ZipFile(temporary, "w") as archive:
            archive.writestr(POLICY, content.getvalue())
        write_facts(temporary, description, activation, kind)


def write_facts(file: Path, description: Mapping[str, Any], activation: str, kind: str = "policy") -> None:
    """Add to a model file what it is for: a game's description, whose `players` may be several numbers."""
    facts = {"format": FORMAT, "kind": kind, "description": dict(description), "activation": activation}
    with zipfile.ZipFile(file, "a") as archive:
        archive.writestr(FACTS, json.dumps(facts))


def network_from(weights: dict[str, torch.Tensor], activation: str) -> nn.Sequential:
    """The policy's network, built from the shapes of its weights as stable-baselines3 names them."""
    if activation not in ACTIVATIONS:
        raise OptionError(f"activation must be one of {', '.join(ACTIVATIONS)}, not {activation!r}")
    layers: list[nn.Module] = []
    prefix = "mlp_extractor.policy_net."
    if any(key.startswith(("features_extractor.", "pi_features_extractor.")) for key in weights):
        raise ModelFileError("the policy has a features extractor of its own: only those of MlpPolicy can be read")
    numbers = sorted({int(key[len(prefix) :].split(".")[0]) for key in weights if key.startswith(prefix)})
    for name in [*(f"{prefix}{number}" for number in numbers), "action_net"]:
        if f"{name}.weight" not in weights:
            raise ValueError(f"the policy has no layer {name}")
        weight, bias = weights[f"{name}.weight"], weights[f"{name}.bias"]
        # Without initial weights, which would be drawn from torch's global generator.
        layer = skip_init(nn.Linear, weight.shape[1], weight.shape[0])  # type: ignore[no-untyped-call]
        layer.load_state_dict({"weight": weight, "bias": bias})
        layers += [layer, ACTIVATIONS[activation]()]
    return nn.Sequential(*layers[:-1]).requires_grad_(False)


def snapshot(policy: Any) -> nn.Sequential:
    """A frozen copy of the network by which a stable-baselines3 actor-critic policy chooses actions."""
    copied = copy.deepcopy(nn.Sequential(*policy.mlp_extractor.policy_net, policy.action_net))
    return copied.requires_grad_(False)
