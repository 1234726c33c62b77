"""A faster policy and buffer for MaskablePPO, with the same mathematics as sb3-contrib's.

With hundreds of actions, sb3-contrib's MaskablePPO spends most of its time on the masked categorical distribution:
exponentials of huge negative numbers, checks of arguments, repeated normalisation, sampling by `multinomial`, masks as
float32. Here all of that is one softmax over the legal actions, with its gradient written out.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

import numpy as np
from gymnasium import spaces

from trialea.agents.model import PolicyError, draw
from trialea.envs.errors import needs_extra

with needs_extra("train", "training", "torch", "stable_baselines3", "sb3_contrib"):
    import torch
    from sb3_contrib import MaskablePPO
    from sb3_contrib.common.maskable.buffers import MaskableRolloutBuffer, MaskableRolloutBufferSamples
    from sb3_contrib.common.maskable.distributions import MaskableCategoricalDistribution, MaybeMasks
    from sb3_contrib.common.maskable.policies import MaskableActorCriticPolicy
    from stable_baselines3.common.type_aliases import Schedule
    from stable_baselines3.common.vec_env import VecEnv
    from torch.autograd.function import FunctionCtx, once_differentiable


# The exponential of this logarithm is 0, in float64 too. Its product with a probability of 0 is 0, while the product of
# minus infinity and 0 is NaN.
_NEVER = -1e4


def masked_ppo(env: VecEnv, **settings: Any) -> MaskablePPO:
    """Return sb3-contrib's MaskablePPO with the policy and buffer of this module.

    Its `save` names sb3-contrib's own classes, so plain `MaskablePPO.load` reads the file without this library.

    Args:
        env: environments with `Discrete` actions and masks.
        settings: keyword arguments of MaskablePPO.
    """
    model = MaskablePPO(LegalPolicy, env, rollout_buffer_class=LegalRolloutBuffer, **settings)
    model.policy_class = MaskablePPO.policy_aliases["MlpPolicy"]
    model.rollout_buffer_class = MaskableRolloutBuffer
    return model


class LegalDistribution(MaskableCategoricalDistribution):
    """A softmax over the legal actions of each of B rows; an illegal action has probability exactly 0.

    Args:
        action_dim: the number A of actions.
    """

    def proba_distribution(self, action_logits: torch.Tensor) -> LegalDistribution:
        """Set the logits (B, A) and return the distribution; all actions are legal until `apply_masking`."""
        self._scores = action_logits
        self._masked = action_logits.detach()
        self._entropy: torch.Tensor | None = None
        return self

    def apply_masking(self, masks: MaybeMasks) -> None:
        """Make the actions illegal where `masks` (B, A) is 0 or False; None makes all legal."""
        self._masked, self._entropy = self._scores.detach(), None
        if masks is not None:
            legal = torch.as_tensor(masks, device=self._masked.device).to(torch.bool).reshape(self._masked.shape)
            self._masked = torch.where(legal, self._masked, -torch.inf)

    def log_prob(self, actions: torch.Tensor) -> torch.Tensor:
        """Return the logarithms (B,) of the probabilities of `actions` (B,).

        Raises:
            PolicyError: an action is illegal, or a row has no legal action, or its logits are NaN or infinite.
        """
        found: tuple[torch.Tensor, torch.Tensor] = _LogProbAndEntropy.apply(self._scores, self._masked, actions)  # type: ignore[no-untyped-call]
        log_prob, self._entropy = found
        if not torch.isfinite(log_prob).all():
            raise PolicyError("an action has no probability: it is illegal, or the policy's logits are NaN or infinite")
        return log_prob

    def entropy(self) -> torch.Tensor:
        """Return the entropies (B,), in nats."""
        if self._entropy is None:  # else `log_prob` has computed it
            self.log_prob(self.mode())
        assert self._entropy is not None
        return self._entropy

    def sample(self) -> torch.Tensor:
        """Return legal actions (B,), drawn with torch's generator.

        Raises:
            PolicyError: a row has no legal action, or its logits are NaN or infinite.
        """
        uniform = torch.rand(len(self._masked), dtype=self._masked.dtype, device=self._masked.device)
        return draw(torch.softmax(self._masked, dim=1), uniform)

    def mode(self) -> torch.Tensor:
        """Return the most probable actions (B,), the first among equals.

        Raises:
            PolicyError: a row has no legal action, or its logits are NaN or infinite.
        """
        best, actions = self._masked.max(dim=1)
        if not torch.isfinite(best).all():
            raise PolicyError("no action can be chosen: no action is legal, or the policy's logits are NaN or infinite")
        return actions


class _LogProbAndEntropy(torch.autograd.Function):
    """The log-probabilities of the chosen actions, and the entropies, of softmax distributions.

    One function computes both, because they share large intermediate arrays (B, A). This saves passes over them.
    """

    @staticmethod
    def forward(
        ctx: FunctionCtx, scores: torch.Tensor, masked: torch.Tensor, actions: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Return both, each (B,), for `masked` (B, A): `scores` with minus infinity where an action is illegal."""
        chosen = actions.long().reshape(-1, 1)
        logarithms = torch.log_softmax(masked, dim=1)
        probabilities = torch.softmax(masked, dim=1)  # faster than exp, which is slow for infinities
        log_prob = logarithms.gather(1, chosen).squeeze(1)
        logarithms.clamp_(min=_NEVER)
        entropy = -torch.linalg.vecdot(probabilities, logarithms)
        ctx.save_for_backward(probabilities, logarithms, entropy, chosen)
        return log_prob, entropy

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, by_log_prob: torch.Tensor, by_entropy: torch.Tensor) -> tuple[torch.Tensor, None, None]:
        """Return the gradient. With probabilities p and entropy H: d log p(a) = (1 at a) - p, dH = -p (log p + H)."""
        probabilities, logarithms, entropy, chosen = ctx.saved_tensors
        constant = -(by_log_prob + by_entropy * entropy).unsqueeze(1)
        gradient = torch.addcmul(constant, logarithms, by_entropy.unsqueeze(1), value=-1)
        gradient.mul_(probabilities).scatter_add_(1, chosen, by_log_prob.unsqueeze(1))
        return gradient, None, None


class LegalPolicy(MaskableActorCriticPolicy):
    """sb3-contrib's `MlpPolicy` with a `LegalDistribution`: the same networks from the same seed."""

    def _build(self, lr_schedule: Schedule) -> None:
        assert isinstance(self.action_space, spaces.Discrete)
        self.action_dist = LegalDistribution(int(self.action_space.n))
        super()._build(lr_schedule)


class LegalRolloutBuffer(MaskableRolloutBuffer):
    """sb3-contrib's buffer with boolean masks. It draws minibatches without a copy of the whole buffer."""

    def reset(self) -> None:
        super(MaskableRolloutBuffer, self).reset()  # MaskableRolloutBuffer.reset would write float32 masks first
        assert isinstance(self.action_space, spaces.Discrete)
        self.mask_dims = int(self.action_space.n)
        self.action_masks = np.ones((self.buffer_size, self.n_envs, self.mask_dims), np.bool_)

    def get(  # type: ignore[override]  # as sb3-contrib's own
        self, batch_size: int | None = None
    ) -> Generator[MaskableRolloutBufferSamples, None, None]:
        """Yield the rollout in minibatches. With the same seed they are sb3-contrib's, in the same order."""
        assert self.full
        arrays = (
            self.observations,
            self.actions,
            self.values,
            self.log_probs,
            self.advantages,
            self.returns,
            self.action_masks,
        )
        # A view of (steps, environments, …) as rows, without a copy. sb3-contrib orders the rows by environment.
        rows = [torch.from_numpy(array).flatten(0, 1) for array in arrays]
        environments, steps = np.divmod(np.random.permutation(len(rows[0])), self.buffer_size)  # noqa: NPY002
        order = torch.from_numpy(steps * self.n_envs + environments)
        for picked in torch.split(order, batch_size or len(order)):
            yield MaskableRolloutBufferSamples(*(row.index_select(0, picked).to(self.device) for row in rows))
