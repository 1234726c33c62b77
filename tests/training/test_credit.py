"""Tests that every decision of a learner is credited with exactly the outcome of its own game."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from tests.helpers import SHORT, SOME_TABLES, game_of
from trialea.agents.model import ModelAgent, snapshot
from trialea.envs.agent import make_agent
from trialea.envs.game import Game
from trialea.envs.learner import LearnerBatch
from trialea.evaluation.measures.exact import exact_value
from trialea.training.config import TrainConfig
from trialea.training.ppo import build

HUGE = 1000.0  # the value that the critic below gives every position


class Collected:
    """A rollout of a policy that never learns, with an absurd critic whose values would show in the returns.

    Attributes:
        returns: (T, B), the undiscounted return of each decision (lambda 1).
        begins: (T, B), whether the decision is the first of an episode.
        outcomes: For each environment, the learner's result in each game that ended, in order.
    """

    def __init__(
        self,
        game: Game,
        opponent: str,
        count: int,
        steps: int,
        horizon: str = "game",
        reward: str = "win",
        seat: Any = "rotate",
    ) -> None:
        described = game.description()
        config = TrainConfig.model_validate(
            {
                **{key: described[key] for key in ("game", "players", "options")},
                "seed": 1,
                "threads": 1,
                "frames": 1,
                "opponents": {opponent: 1.0},
                "seat": seat,
                "stages": [{"until": 1.0, "reward": reward, "horizon": horizon}],
                "ppo": {"environments": count, "n_steps": steps, "gae_lambda": 1.0, "gamma": 1.0, "net_arch": [8]},
            }
        )
        self.model, env, _ = build(config)
        self.outcomes: list[list[float]] = [[] for _ in range(count)]
        env._on_end = self._note
        with torch.no_grad():
            self.model.policy.value_net.weight.zero_()
            self.model.policy.value_net.bias.fill_(HUGE)
        _, callback = self.model._setup_learn(1, None)
        assert self.model.collect_rollouts(env, callback, self.model.rollout_buffer, steps)
        buffer = self.model.rollout_buffer
        self.returns, self.begins = buffer.returns.astype(float), buffer.episode_starts != 0

    def _note(self, games: LearnerBatch, index: NDArray[np.int64]) -> None:
        """Record results from the states alone: the share of the win if the game is over, else nothing."""
        players = games.game.num_players
        for i in index:
            state = games.states[i]
            share = float(state.share[games.seats[i]]) if state.over else 0.0
            self.outcomes[i].append((players * share - 1) / (players - 1))

    @property
    def network(self) -> Any:
        """Return the policy that was played, which samples its actions."""
        return snapshot(self.model.policy)


@pytest.mark.parametrize(("name", "players"), SOME_TABLES)
def test_each_decision_is_credited_with_exactly_its_games_outcome(name: str, players: int) -> None:
    """Games end by elimination, by the last decision, in another player's turn, and by truncation."""
    found = Collected(game_of(name, players, **SHORT[name]), "random", count=40, steps=60)
    ended = 0
    for i, outcomes in enumerate(found.outcomes):
        episode = np.cumsum(found.begins[:, i]) - 1
        for number in range(episode[-1] + 1):
            credited = found.returns[episode == number, i]
            if number < len(outcomes):
                assert np.allclose(credited, outcomes[number], atol=1e-3)
                ended += 1
            else:  # the rollout ended before the game, so the critic's value counts
                assert np.allclose(credited, HUGE)
    assert ended >= 40


@pytest.mark.parametrize("horizon", ["turn", "decision"])
def test_nothing_beyond_the_horizon_is_credited(horizon: str) -> None:
    found = Collected(game_of("no_dice", target=1000), "random", 40, 30, horizon, reward="score")
    done = np.roll(found.begins, -1, axis=0)
    if horizon == "decision":
        assert found.begins.all()
    episode_ends = [np.flatnonzero(done[:-1, i])[-1] for i in range(40)]
    for i, last in enumerate(episode_ends):
        assert (found.returns[: last + 1, i] <= 0).all()  # points lower the reward
        assert (found.returns[: last + 1, i] > -HUGE / 2).all()


# Small games with exactly known values: an elimination before the end, a last decision, and a truncated game.
TOYS = [
    pytest.param("no_dice", 3, {"target": 4}, marks=pytest.mark.slow),
    ("no_dice", 3, {"target": 2}),
    ("no_dice", 2, {"target": 1}),
    ("poker_figures", 2, {"rows": "AD", "columns": 1, "max_turns": 2}),
]


@pytest.mark.parametrize(("name", "players", "options"), TOYS, ids=str)
def test_mean_credit_of_the_first_decision_is_the_exact_value(name: str, players: int, options: Any) -> None:
    game = game_of(name, players, **options)
    found = Collected(game, "solver", count=4000, steps=30, seat=0)
    agents: list[Any] = [ModelAgent(game, found.network, sample=True), *[make_agent("solver", game)] * (players - 1)]
    expected = (players * exact_value(game, agents)[0] - 1) / (players - 1)
    first = found.returns[0]
    assert found.begins[0].all() and (np.abs(first) < 1.01).all()  # every game has ended
    assert abs(first.mean() - expected) < 4 * first.std() / np.sqrt(len(first))
