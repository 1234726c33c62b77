"""Policy networks as agents: `ModelAgent` plays the most probable action of a network, or draws an action.

`trialea.agents.model_file` reads and writes the files. The network is rebuilt here from the shapes of its weights, so
no code from a file is run. To read another architecture of stable-baselines3, change `network_from`.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trialea.agents.model_file import (
    ACTIVATIONS,
    ModelFileError,
    check_description,
    find_model,
    max_players_of,
    name_of,
    read_model,
    readable,
)
from trialea.envs.errors import OptionError, TrialeaError, needs_extra
from trialea.envs.files import atomic_path
from trialea.envs.game import Game, States
from trialea.envs.padding import ObservationPadder

with needs_extra("train", "a trained model", "torch"):
    import torch
    from torch import nn
    from torch.nn.utils import skip_init

    from trialea.agents.onnx import write_onnx


class PolicyError(TrialeaError, ValueError):
    """A policy that cannot choose: no action is legal, or its logits are NaN or infinite, as in diverged training."""


class ModelAgent:
    """A policy network as an agent.

    Args:
        game: the game that it plays.
        network: from observations (B, D) to logits of the actions (B, A). It acts in eval mode, whatever mode it was
            left in, and may be on any device and of any floating-point type.
        name: its name in results.
        sample: draw actions from the policy instead of taking the most probable one.
        seed: the seed of these draws; they depend on the game's own seed too.
        max_players: the most players that the policy is for, if it is for several numbers of players. Its observations
            are then padded, see `trialea.envs.padding.ObservationPadder`.

    Attributes:
        name: as given.
        game: as given.
        network: as given. If the agent was loaded with `normalize`, the normalization is its first layer.
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
        self.network = network
        self._view = ObservationPadder(game, max_players)
        self._sample = sample
        self._seed = np.uint64(seed)

    @classmethod
    def load(cls, path: str | Path, game: Game, seed: int = 0, normalize: Any = None) -> ModelAgent:
        """Return the agent in a run folder or model file, checked to be for `game`.

        Args:
            path: a run folder, or a model file of this library or of sb3-contrib's `MaskablePPO`.
            game: the game that it is to play.
            seed: the seed of its draws, if it is to draw.
            normalize: the `VecNormalize` that the model was trained behind, if there was one. A model file does not
                hold its statistics. `VecNormalize.load` unpickles a file, so use it for files that you trust.

        Raises:
            ModelFileError: there is no model at `path`; it is damaged; it is for another game or number of players; or
                it was trained on normalized observations, and `normalize` is missing.
            OptionError: `normalize` holds no statistics of this game's observations.
        """
        file = find_model(path)
        with readable(file):
            network, max_players = checked_network(file, *read_model(file), game, normalize)
        return cls(game, network, name=name_of(path), seed=seed, max_players=max_players)

    def scores(self, states: States) -> torch.Tensor:
        """Return the logits (B, A) in (B,) states, minus infinity where an action is illegal."""
        with _eval_mode(self.network):
            return legal_scores(self._logits, self._view, states)

    def _logits(self, observations: torch.Tensor) -> Any:
        """Run the network, on its device and in its floating-point type."""
        parameter = next(self.network.parameters(), observations)
        return self.network(observations.to(parameter))

    @property
    def deterministic(self) -> bool:
        """True if the agent takes its policy's most probable action, False if it draws an action."""
        return not self._sample

    def action_probabilities(self, states: States) -> NDArray[np.floating[Any]]:
        """Return the policy's probability of each action, (B, A). An agent that samples plays by these."""
        probabilities: NDArray[np.floating[Any]] = torch.softmax(self.scores(states), dim=1).numpy()
        return probabilities

    def act(self, states: States) -> NDArray[np.int64]:
        """Return a legal action (B,) for each of the (B,) states."""
        scores = self.scores(states)
        if self._sample:
            return sampled(scores, self.game, states, self._seed)
        actions: NDArray[np.int64] = scores.argmax(dim=1).numpy()
        return actions

    def export_onnx(self, path: str | Path) -> None:
        """Write the policy in float32 as an ONNX file, whole or not at all.

        Its inputs are `observation` (B, D) float32 and `action_mask` (B, A) int8, as the environments give them. Its
        outputs are `logits` (B, A), minus infinity where an action is illegal, and `action` (B,) int64, the most
        probable legal action.

        Raises:
            MissingExtraError: the extra `onnx` is not installed.
        """
        network = copy.deepcopy(self.network).cpu().float().eval()
        with atomic_path(path) as temporary:
            write_onnx(network, self._view.size, self.game.num_actions, temporary)


@contextmanager
def _eval_mode(network: nn.Module) -> Iterator[None]:
    """Put every module of a network in eval mode, and restore the modes afterwards."""
    trained = [module for module in network.modules() if module.training]
    for module in trained:
        module.training = False
    try:
        yield
    finally:
        for module in trained:
            module.training = True


def legal_scores(network: Callable[[torch.Tensor], Any], view: ObservationPadder, states: States) -> torch.Tensor:
    """Return the logits (B, A) of a network in (B,) states, on the CPU; minus infinity where an action is illegal.

    Raises:
        OptionError: the network doesn't return logits of this shape.
        PolicyError: no action is legal, or a logit is NaN or infinite.
    """
    expected = (len(states), view.game.num_actions)
    with torch.inference_mode():
        scores = network(torch.from_numpy(view.observe(states)))
        if not isinstance(scores, torch.Tensor) or scores.shape != expected or not scores.is_floating_point():
            raise OptionError(
                f"a policy network must return floating-point logits of shape {expected}, got {_describe(scores)}."
                f" {view.game!r} has {expected[1]} actions, and {expected[0]} states were given"
            )
        if scores.dtype is not torch.float64:
            scores = scores.float()
        legal = torch.from_numpy(view.game.masks(states)).to(torch.bool)
        scores = torch.where(legal, scores.cpu(), -torch.inf)
        if not scores.amax(dim=1).isfinite().all():
            raise PolicyError("no action can be chosen: no action is legal, or the policy's logits are NaN or infinite")
        return scores


def _describe(output: Any) -> str:
    if isinstance(output, torch.Tensor):
        return f"shape {tuple(output.shape)} of {output.dtype}"
    return f"a {type(output).__name__}"


def sampled(scores: torch.Tensor, game: Game, states: States, seed: np.uint64) -> NDArray[np.int64]:
    """Return an action (B,) for each of the (B,) states, drawn by the logits from `legal_scores` and a seed."""
    uniform = np.empty(len(states))
    game.loops.uniforms(states, seed, uniform)
    drawn: NDArray[np.int64] = draw(torch.softmax(scores, dim=1), torch.from_numpy(uniform)).numpy()
    return drawn


def draw(probabilities: torch.Tensor, uniform: torch.Tensor) -> torch.Tensor:
    """Return an action (B,) for each row of `probabilities` (B, A), by inverse transform sampling.

    An action of probability 0 is never drawn. The action is the first whose cumulated probability exceeds the draw, so
    its own probability is positive; and a draw beyond the last sum is moved below it.

    Args:
        probabilities: (B, A), at least 0; rows need not sum to 1.
        uniform: (B,), from 0 to 1.

    Raises:
        PolicyError: the probabilities of a row are all 0, or NaN.
    """
    sums = probabilities.cumsum(dim=1)
    total = sums[:, -1:]
    if not (total > 0).all():
        raise PolicyError("no action can be drawn: no action is legal, or the policy's logits are NaN or infinite")
    target = torch.minimum(uniform.to(sums.dtype).unsqueeze(1) * total, total.nextafter(torch.zeros_like(total)))
    return torch.searchsorted(sums, target, right=True).squeeze(1)


class Normalization(nn.Module):
    """Observations as stable-baselines3's `VecNormalize` scales them, for a model that was trained behind one.

    Args:
        statistics: the `VecNormalize`.
        size: D, the number of entries of an observation.

    Raises:
        OptionError: it does not normalize observations of this size.
    """

    mean: torch.Tensor
    scale: torch.Tensor

    def __init__(self, statistics: Any, size: int) -> None:
        super().__init__()
        running = getattr(statistics, "obs_rms", None)
        mean, variance = (np.asarray(getattr(running, name, np.nan)) for name in ("mean", "var"))
        if mean.shape != (size,) or variance.shape != (size,):
            raise OptionError(
                f"normalize must be a VecNormalize with statistics of {size} numbers, got {statistics!r} with"
                f" statistics of shape {mean.shape}"
            )
        self.register_buffer("mean", torch.as_tensor(mean, dtype=torch.float64), persistent=False)
        self.register_buffer(
            "scale", torch.as_tensor(np.sqrt(variance + statistics.epsilon), dtype=torch.float64), persistent=False
        )
        self.limit = float(statistics.clip_obs)

    def forward(self, observations: torch.Tensor) -> torch.Tensor:
        """Return normalized observations (B, D)."""
        scaled = (observations - self.mean) / self.scale
        return scaled.clamp(-self.limit, self.limit).to(observations.dtype)


def checked_network(
    file: Path, facts: dict[str, Any], weights: dict[str, torch.Tensor], game: Game, normalize: Any = None
) -> tuple[nn.Sequential, int | None]:
    """Return the network in a model file, and the number of players that its observations are padded to.

    Args:
        file: the model file, named in errors.
        facts: its metadata, from `read_model`.
        weights: its weights, from `read_model`.
        game: the game that the network must be for.
        normalize: as in `ModelAgent.load`.

    Raises:
        ModelFileError: the network is for another game, or for normalized observations.
    """
    max_players = None
    if facts.get("description") is not None:
        check_description(file, facts["description"], game)
        max_players = max_players_of(facts["description"]["players"])
    network = network_from(weights, facts["activation"])
    shape, size = _shape(network), ObservationPadder(game, max_players).size
    if shape != (size, game.num_actions):
        raise ModelFileError(
            f"{file} is for observations of {shape[0]} numbers and {shape[1]} actions, but {game!r} has {size} numbers"
            f" and {game.num_actions} actions"
        )
    network(torch.zeros(1, size))  # fails if its layers do not fit each other
    if normalize is not None:
        network.insert(0, Normalization(normalize, size))
    elif facts.get("description") is None:
        _refuse_normalized(file, facts["observations"])
    return network, max_players


def _refuse_normalized(file: Path, observations: NDArray[np.float32] | None) -> None:
    """Raise `ModelFileError` if a model of stable-baselines3 was trained on normalized observations.

    Observations of a game are from 0 to 1, and those that `VecNormalize` has scaled are not. A model that was saved
    without its last observations is refused if a file of statistics is beside it.
    """
    if observations is None:
        normalized = next(file.parent.glob("*normalize*.pkl"), None) is not None
    else:
        normalized = not ((observations >= 0.0) & (observations <= 1.0)).all()
    if normalized:
        raise ModelFileError(
            f"{file} was trained on normalized observations, whose statistics a model file does not hold. Give them:"
            " trialea.agents.ModelAgent.load(path, game, normalize=VecNormalize.load(statistics, env))"
        )


def _shape(network: nn.Sequential) -> tuple[int, int]:
    """Return the numbers of inputs and outputs of a network."""
    layers = [layer for layer in network if isinstance(layer, nn.Linear)]
    return layers[0].in_features, layers[-1].out_features


def network_from(weights: dict[str, torch.Tensor], activation: str) -> nn.Sequential:
    """Return the policy's network, built from the shapes of its weights under stable-baselines3's names.

    Raises:
        OptionError: the activation is unknown.
        ModelFileError: the policy has its own features extractor.
        ValueError: a layer is missing.
    """
    if activation not in ACTIVATIONS:
        raise OptionError(f"activation must be one of {', '.join(ACTIVATIONS)}, got {activation!r}")
    layers: list[nn.Module] = []
    prefix = "mlp_extractor.policy_net."
    if any(key.startswith(("features_extractor.", "pi_features_extractor.")) for key in weights):
        raise ModelFileError("the policy has its own features extractor, but only MlpPolicy's can be read")
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
    """Return a frozen copy of the network that chooses the actions of a stable-baselines3 actor-critic policy."""
    copied = copy.deepcopy(nn.Sequential(*policy.mlp_extractor.policy_net, policy.action_net))
    return copied.requires_grad_(False)
