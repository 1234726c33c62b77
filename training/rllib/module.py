"""The policy as an RLlib module that gives illegal actions the probability 0."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import torch
from torch import nn

from trialea.agents.model_file import ACTIVATIONS
from trialea.envs.errors import needs_extra

with needs_extra("cluster", "training with RLlib", "ray"):
    from ray.rllib.core.columns import Columns
    from ray.rllib.core.rl_module.apis.value_function_api import ValueFunctionAPI
    from ray.rllib.core.rl_module.torch import TorchRLModule

# The logit of an illegal action. Its probability is exactly 0; with minus infinity, gradients would be NaN.
ILLEGAL = torch.finfo(torch.float32).min


class MaskedPolicy(TorchRLModule, ValueFunctionAPI):  # type: ignore[misc]
    """Policy and critic as separate networks, whose weights have the names of stable-baselines3's `MlpPolicy`.

    `model_config` has `net_arch`, the hidden layers of each, and `activation`, `"relu"` or `"tanh"`.
    """

    def setup(self) -> None:
        """Build the networks."""
        inputs = self.observation_space["observations"].shape[0]
        widths, activation = self.model_config["net_arch"], ACTIVATIONS[self.model_config["activation"]]
        last = widths[-1] if widths else inputs
        self.mlp_extractor = nn.ModuleDict(
            {name: _layers(inputs, widths, activation) for name in ("policy_net", "value_net")}
        )
        self.action_net = _linear(last, int(self.action_space.n), gain=0.01)
        self.value_net = _linear(last, 1, gain=1.0)

    def _forward(self, batch: dict[str, Any], **kwargs: Any) -> dict[str, Any]:
        seen = batch[Columns.OBS]
        scores = self.action_net(self.mlp_extractor["policy_net"](seen["observations"]))
        return {Columns.ACTION_DIST_INPUTS: scores.masked_fill(seen["action_mask"] == 0, ILLEGAL)}

    def compute_values(self, batch: dict[str, Any], embeddings: Any = None) -> torch.Tensor:
        """Return the expected rewards (B,) of the players in a batch."""
        values: torch.Tensor = self.value_net(self.mlp_extractor["value_net"](batch[Columns.OBS]["observations"]))
        return values.squeeze(-1)


def _layers(inputs: int, widths: Sequence[int], activation: type[nn.Module]) -> nn.Sequential:
    layers: list[nn.Module] = []
    for before, width in pairwise([inputs, *widths]):
        layers += [_linear(before, width, gain=2**0.5), activation()]
    return nn.Sequential(*layers)


def _linear(inputs: int, outputs: int, gain: float) -> nn.Linear:
    """Return a layer initialised as stable-baselines3 does."""
    layer = nn.Linear(inputs, outputs)
    nn.init.orthogonal_(layer.weight, gain)
    nn.init.zeros_(layer.bias)
    return layer
