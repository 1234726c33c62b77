"""Export a policy as an ONNX file, for programs without torch. The entry point is `ModelAgent.export_onnx`."""

from __future__ import annotations

import warnings
from pathlib import Path

import torch
from torch import nn

from trialea.envs.errors import needs_extra


class _MaskedPolicy(nn.Module):
    """The exported module: a network and the mask of legal actions."""

    def __init__(self, network: nn.Module) -> None:
        super().__init__()
        self.network = network

    def forward(self, observation: torch.Tensor, action_mask: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        logits = torch.where(action_mask != 0, self.network(observation), -torch.inf)
        return logits, logits.argmax(dim=1)


def write_onnx(network: nn.Module, num_features: int, num_actions: int, file: Path) -> None:
    """Write a policy network as an ONNX file; see `ModelAgent.export_onnx` for its inputs and outputs.

    Args:
        network: from observations (B, D) to logits (B, A), in eval mode.
        num_features: D.
        num_actions: A.
        file: the path to write.

    Raises:
        MissingExtraError: onnx or onnxscript is not installed.
    """
    with needs_extra("onnx", "exporting a policy", "onnx", "onnxscript"):
        import onnx  # noqa: F401
        import onnxscript  # noqa: F401
    example = torch.zeros(2, num_features), torch.ones(2, num_actions, dtype=torch.int8)
    batch = {0: torch.export.Dim.DYNAMIC}
    with warnings.catch_warnings():  # the exporter warns about its internals
        warnings.simplefilter("ignore")
        torch.onnx.export(
            _MaskedPolicy(network).eval(),
            example,
            file,
            input_names=["observation", "action_mask"],
            output_names=["logits", "action"],
            dynamic_shapes={"observation": batch, "action_mask": batch},
            dynamo=True,
            external_data=False,
            verbose=False,
        )
