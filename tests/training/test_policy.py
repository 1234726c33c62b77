"""Tests of the policy and buffer for MaskablePPO: equal to sb3-contrib's, with files that it can load."""

from __future__ import annotations

import subprocess
import sys
from copy import deepcopy
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from sb3_contrib import MaskablePPO
from sb3_contrib.common.maskable.distributions import MaskableCategoricalDistribution
from stable_baselines3.common.logger import configure

from tests.helpers import game_of
from tests.training.runs import ROLLOUT, tiny
from trialea import TrialeaError
from trialea.agents.model import ModelAgent, PolicyError
from trialea.envs.learner import LearnerBatch
from trialea.training.policy import LegalDistribution, masked_ppo
from trialea.training.run import train
from trialea.training.vec_env import GamesVecEnv

ROWS, ACTIONS = 400, 37


def masks(share: float) -> torch.Tensor:
    """Return random masks (ROWS, ACTIONS) with at least one legal action each, and exactly one for share 0."""
    legal = torch.rand(ROWS, ACTIONS) < share
    legal[torch.arange(ROWS), torch.randint(ACTIONS, (ROWS,))] = True
    return legal


def distributions(scores: torch.Tensor, legal: torch.Tensor) -> tuple[LegalDistribution, Any]:
    """Return this library's and sb3-contrib's distribution of the same scores."""
    ours = LegalDistribution(ACTIONS).proba_distribution(scores)
    theirs = MaskableCategoricalDistribution(ACTIONS).proba_distribution(scores)
    ours.apply_masking(legal)
    theirs.apply_masking(legal)
    return ours, theirs


# The distribution ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("share", [0.0, 0.1, 0.5, 1.0])
@pytest.mark.parametrize("spread", [0.0, 1.0, 8.0, 1e3, 1e6])
@pytest.mark.parametrize("kind", [torch.float32, torch.float64])
def test_log_probs_entropies_and_gradients_match_sb3_contrib(share: float, spread: float, kind: torch.dtype) -> None:
    """sb3-contrib computes in float64 here, because in float32 it is the less exact of the two."""
    torch.manual_seed(0)
    scores, legal = (spread * torch.randn(ROWS, ACTIONS, dtype=kind)), masks(share)
    actions = torch.multinomial(legal.float(), 1).squeeze(1)
    weights = torch.randn(2, ROWS, dtype=kind)
    found = []
    for which, given in enumerate((scores.requires_grad_(), scores.detach().double().requires_grad_())):
        distribution = distributions(given, legal)[which]
        log_prob, entropy = distribution.log_prob(actions), distribution.entropy()
        (gradient,) = torch.autograd.grad((log_prob * weights[0] + entropy * weights[1]).sum(), given)
        found.append((log_prob, entropy, gradient))
    for ours, theirs in zip(*found, strict=True):
        assert ours.shape == theirs.shape and ours.dtype == kind
        torch.testing.assert_close(ours.double(), theirs, rtol=1e-6, atol=1e-6)
    assert not found[0][2][~legal].any()
    if share == 0.0:
        assert not found[0][0].any() and not found[0][1].any() and not found[0][2].any()


def test_entropy_matches_sb3_contrib_with_and_without_masks() -> None:
    torch.manual_seed(3)
    scores, legal = torch.randn(ROWS, ACTIONS), masks(0.3)
    ours, theirs = distributions(scores, legal)
    torch.testing.assert_close(ours.entropy(), theirs.entropy(), rtol=1e-6, atol=1e-6)
    for distribution in (ours, theirs):
        distribution.apply_masking(None)
    torch.testing.assert_close(ours.entropy(), theirs.entropy(), rtol=1e-6, atol=1e-6)
    assert torch.equal(ours.mode(), theirs.mode())


@pytest.mark.parametrize("spread", [0.1, 5.0, 1e4])
def test_samples_are_legal_and_the_mode_matches_sb3_contrib(spread: float) -> None:
    torch.manual_seed(4)
    legal = masks(0.2)
    ours, theirs = distributions(spread * torch.randn(ROWS, ACTIONS), legal)
    for _ in range(50):
        assert legal[torch.arange(ROWS), ours.sample()].all()
    assert torch.equal(ours.mode(), theirs.mode())


def test_row_without_legal_actions_raises_in_every_method() -> None:
    legal = masks(0.5)
    legal[7] = False
    for spoilt in (torch.randn(ROWS, ACTIONS), torch.full((ROWS, ACTIONS), float("nan"))):
        ours = LegalDistribution(ACTIONS).proba_distribution(spoilt)
        ours.apply_masking(legal)
        asked = (ours.sample, ours.mode, ours.entropy, lambda ours=ours: ours.log_prob(legal.int().argmax(dim=1)))
        for ask in asked:
            with pytest.raises(PolicyError, match="legal.*NaN or infinite"):
                ask()
    assert issubclass(PolicyError, TrialeaError)


def test_log_prob_of_an_illegal_action_raises() -> None:
    ours, _ = distributions(torch.zeros(ROWS, ACTIONS), masks(0.0))
    with pytest.raises(PolicyError, match="it is illegal"):
        ours.log_prob(torch.zeros(ROWS, dtype=torch.long))


# Updates ---------------------------------------------------------------------------------------------------------


def models(**settings: Any) -> tuple[MaskablePPO, MaskablePPO]:
    """Return this library's and sb3-contrib's new models with the same seed and settings."""
    made = []
    for make in (masked_ppo, lambda env, **given: MaskablePPO("MlpPolicy", env, **given)):
        games = LearnerBatch(game_of("no_dice", target=10), 32, "random", "rotate", "score")
        given = {"n_steps": 8, "batch_size": 96, "n_epochs": 3, "ent_coef": 0.01, "seed": 5, "device": "cpu"}
        made.append(make(GamesVecEnv(games, horizon="turn"), **{**given, **settings}))
        made[-1].set_logger(configure(None, []))
    return made[0], made[1]


def same_data(ours: MaskablePPO, theirs: MaskablePPO) -> None:
    """Collect a rollout with sb3-contrib's model, and copy it to the other model."""
    theirs.learn(8 * 32, reset_num_timesteps=False)  # collects and then updates; the weights are restored below
    buffers = ours.rollout_buffer, theirs.rollout_buffer
    theirs.policy.load_state_dict(ours.policy.state_dict())
    theirs.policy.optimizer.load_state_dict(deepcopy(ours.policy.optimizer.state_dict()))
    buffers[0].reset()
    for name in ("observations", "actions", "values", "log_probs", "advantages", "returns", "action_masks"):
        flat = getattr(buffers[1], name)
        shaped = flat.reshape(32, 8, -1).swapaxes(0, 1)  # sb3-contrib's buffer is flattened environment by environment
        getattr(buffers[0], name)[...] = shaped.reshape(getattr(buffers[0], name).shape)
    buffers[0].full = True


def test_minibatches_match_sb3_contrib_with_boolean_masks() -> None:
    ours, theirs = models()
    same_data(ours, theirs)
    for size in (None, 100):
        batches = []
        for model in (ours, theirs):
            np.random.seed(1)  # noqa: NPY002
            batches.append(list(model.rollout_buffer.get(size)))
        assert len(batches[0]) == len(batches[1]) == (1 if size is None else 3)
        for mine, stock in zip(*batches, strict=True):
            assert mine.action_masks.dtype == torch.bool
            for name, one, other in zip(mine._fields, mine, stock, strict=True):
                assert one.shape == other.shape and torch.equal(one.float(), other.float()), name


def test_updates_with_the_same_data_give_the_same_weights() -> None:
    ours, theirs = models()
    for _ in range(3):
        same_data(ours, theirs)
        before = [weights.clone() for weights in ours.policy.parameters()]
        for model in (ours, theirs):
            np.random.seed(2)  # noqa: NPY002
            model.train()
        for was, one, other in zip(before, ours.policy.parameters(), theirs.policy.parameters(), strict=True):
            assert not torch.equal(was, one)
            torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-6)


def test_values_and_log_probs_of_a_rollout_match_sb3_contrib() -> None:
    ours, theirs = models()
    assert all(torch.equal(a, b) for a, b in zip(ours.policy.parameters(), theirs.policy.parameters(), strict=True))
    game = game_of("no_dice", target=10)
    states = game.start(range(64))
    observations, legal = torch.from_numpy(game.observe(states)), game.masks(states)
    with torch.no_grad():
        actions, values, log_prob = ours.policy(observations, action_masks=legal)
        again = theirs.policy.evaluate_actions(observations, actions, torch.from_numpy(legal))
    assert legal[np.arange(64), actions].all()
    torch.testing.assert_close(values, again[0])
    torch.testing.assert_close(log_prob, again[1], rtol=1e-6, atol=1e-6)


def test_rollout_without_a_legal_action_raises(monkeypatch: pytest.MonkeyPatch) -> None:
    ours, _ = models()
    monkeypatch.setattr(GamesVecEnv, "action_masks", lambda self: np.zeros((32, self.action_space.n), np.int8))
    with pytest.raises(PolicyError, match="no action is legal"):
        ours.learn(8 * 32)


def learnt(model: MaskablePPO, frames: int) -> float:
    """Return the mean reward per turn in the last quarter of a training."""
    model.learn(frames * 3 // 4)
    rewards: list[float] = []
    for _ in range(frames // 4 // (8 * 32)):
        model.learn(8 * 32, reset_num_timesteps=False)
        rewards.append(float(model.rollout_buffer.rewards.sum() / model.rollout_buffer.episode_starts.sum()))
    return float(np.mean(rewards))


@pytest.mark.slow
def test_training_is_as_good_as_sb3_contrib_over_several_seeds() -> None:
    settings = {"batch_size": 256, "learning_rate": 1e-3}
    found = np.array([[learnt(model, 49_152) for model in models(seed=seed, **settings)] for seed in range(6)])
    untrained = learnt(models(n_epochs=1, learning_rate=1e-12)[0], 4096)
    difference = found[:, 0] - found[:, 1]
    error = difference.std(ddof=1) / np.sqrt(len(difference))
    gain = found.mean() - untrained
    assert gain > 10 * error > 0  # enough has been learned for a difference to show
    assert abs(difference.mean()) < 4 * error
    assert abs(difference.mean()) < gain / 10


# Files -----------------------------------------------------------------------------------------------------------

STOCK_ALONE = """
import sys
sys.modules["trialea"] = None  # as if it were not installed
import numpy as np
from sb3_contrib import MaskablePPO
model = MaskablePPO.load(sys.argv[1], device="cpu")
given = np.load(sys.argv[2])
actions, _ = model.predict(given["observations"], action_masks=given["masks"], deterministic=True)
np.save(sys.argv[3], actions)
print(type(model.policy).__module__, type(model.rollout_buffer).__module__, model.lr_schedule(0.5))
"""


@pytest.mark.slow
def test_models_load_in_sb3_contrib_without_this_library(tmp_path: Path) -> None:
    config = tiny(frames=2 * ROLLOUT, checkpoints=2, measure={"times": 1, "games": 2, "opponents": ["random"]})
    assert train(config, tmp_path / "run", progress=False)
    game = config.make_game()
    states = game.start(range(200))
    np.savez(tmp_path / "given.npz", observations=game.observe(states), masks=game.masks(states))
    for file in (tmp_path / "run" / "model.zip", *tmp_path.glob("run/checkpoints/*/model.zip")):
        command = [sys.executable, "-W", "error", "-c", STOCK_ALONE, file, tmp_path / "given.npz", tmp_path / "out.npy"]
        done = subprocess.run(command, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        policy, buffer, rate = done.stdout.split()
        assert policy.startswith("sb3_contrib.") and buffer.startswith("sb3_contrib.")
        assert float(rate) == config.ppo.learning_rate.at(0.5)
        assert np.array_equal(np.load(tmp_path / "out.npy"), ModelAgent.load(file, game).act(states))
