"""Tests of `draw`, which samples actions: only legal ones, with the given probabilities."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from scipy.stats import chisquare

from trialea.agents.model import PolicyError, draw

BELOW_ONE = float(np.nextafter(1.0, 0.0))


def test_draw_never_returns_an_illegal_action() -> None:
    rng = np.random.default_rng(0)
    for spread in (0.1, 5.0, 100.0, 1e4):
        legal = rng.random((4000, 37)) < rng.random((4000, 1))
        legal[np.arange(4000), rng.integers(37, size=4000)] = True
        scores = torch.from_numpy(np.where(legal, rng.normal(0, spread, legal.shape), -np.inf).astype(np.float32))
        uniforms = rng.choice([0.0, BELOW_ONE, 1.0, 2.0**-53, 0.5, 1 - 2.0**-24], 4000)
        uniforms[::2] = rng.random(2000)
        actions = draw(torch.softmax(scores, dim=1), torch.from_numpy(uniforms)).numpy()
        assert legal[np.arange(4000), actions].all()


@pytest.mark.parametrize("legal", [[0], [5], [8], [0, 8], [2, 3, 6], list(range(9))])
def test_draw_at_0_and_1_returns_the_first_and_last_legal_action(legal: list[int]) -> None:
    probabilities = torch.zeros(3, 9)
    probabilities[:, legal] = 1 / len(legal)
    edges = torch.tensor([0.0, BELOW_ONE, 1.0], dtype=torch.float64)
    assert draw(probabilities, edges).tolist() == [legal[0], legal[-1], legal[-1]]


@pytest.mark.parametrize("value", [0.0, float("nan")])
def test_draw_rejects_zero_or_nan_probabilities(value: float) -> None:
    probabilities = torch.tensor([[0.5, 0.5], [value, value]])
    with pytest.raises(PolicyError, match="no action is legal, or the policy's logits are NaN or infinite"):
        draw(probabilities, torch.zeros(2))


def test_draw_follows_the_distribution() -> None:
    scores = torch.tensor([0.1, -torch.inf, 2.0, -1.5, -torch.inf, 1.0, 0.0, -torch.inf])
    count = 200_000
    probabilities = torch.softmax(scores, dim=0)
    actions = draw(probabilities.repeat(count, 1), torch.from_numpy(np.random.default_rng(1).random(count))).numpy()
    seen = np.bincount(actions, minlength=8)
    expected = torch.softmax(scores.double(), dim=0).numpy() * count
    possible = expected > 0
    assert seen[~possible].tolist() == [0, 0, 0]
    assert chisquare(seen[possible], expected[possible]).pvalue > 0.001
