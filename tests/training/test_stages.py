"""Tests of training stages with other game options, rewards by regret, and several numbers of players."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.helpers import SHORT, game_of, nth
from tests.training.runs import ROLLOUT, assert_same_outcome, metrics, run, stop_at, tiny
from trialea import OptionError
from trialea.agents.model import ModelAgent
from trialea.agents.model_file import ModelFileError
from trialea.evaluation import evaluate
from trialea.training.callbacks import RunCallback
from trialea.training.config import TrainConfig, load_config
from trialea.training.run import resume

STAGES = [
    {"until": 0.5, "reward": "score", "horizon": "game", "options": {"target": 5}},
    {"until": 1.0, "reward": "win", "horizon": "game"},
]


def assert_resumes_exactly(config: TrainConfig, rollouts: int, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Check that a stopped run resumes exactly. The uninterrupted run stays in `folder`/whole."""
    assert run(config, folder / "whole") is True
    with monkeypatch.context() as patch:
        stop_at(rollouts * ROLLOUT, patch)
        assert run(config, folder / "stopped") is False
    assert resume(folder / "stopped", progress=False) is True
    assert_same_outcome(folder / "stopped", folder / "whole")


def test_games_restart_with_the_options_of_the_next_stage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Measurements, checkpoints and the model always use the configured options."""
    config = tiny(stages=STAGES)
    seen: dict[int, tuple[int, bool, bool]] = {}
    begin = RunCallback._on_rollout_start

    def note(self: RunCallback) -> None:
        begin(self)
        games = self._env.games[0]
        fresh = bool((games.own_turns() == 0).all() and self.model._last_episode_starts.all())
        seen[self.num_timesteps // ROLLOUT] = (
            games.game.options.target,
            fresh,
            bool((self.model._last_obs == games.observe()).all()),
        )

    monkeypatch.setattr(RunCallback, "_on_rollout_start", note)
    assert run(config, tmp_path / "run") is True
    assert [seen[k][0] for k in range(8)] == [5] * 4 + [8] * 4
    assert [k for k in range(1, 8) if seen[k][1]] == [4]
    assert all(matches for _, _, matches in seen.values())
    assert ModelAgent.load(tmp_path / "run", config.make_game()).name
    assert np.load(tmp_path / "run" / "checkpoints" / f"{2 * ROLLOUT:012d}" / "state.npz")["frames"] == 2 * ROLLOUT


@pytest.mark.parametrize("rollouts", [2, 4, 5])
def test_run_with_stages_resumes_exactly_in_each_stage(
    rollouts: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = tiny(stages=STAGES)
    assert_resumes_exactly(config, rollouts, tmp_path, monkeypatch)


def test_opponents_play_the_game_of_the_current_stage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """This holds for the solver and for past selves."""
    seen: list[tuple[int, int]] = []
    begin = RunCallback._on_rollout_start

    def note(self: RunCallback) -> None:
        begin(self)
        games = self._env.games[0]
        past, solver = games.opponents.agents[0], games.opponents.agents[-1]
        seen.append((past.game.options.target, solver.solution.game.options.target))

    monkeypatch.setattr(RunCallback, "_on_rollout_start", note)
    assert run(tiny(stages=STAGES, opponents={"past": 1.0, "solver": 1.0}), tmp_path / "run")
    assert seen[:8] == [(5, 5)] * 4 + [(8, 8)] * 4


REGRET = [{"until": 1.0, "reward": "regret", "horizon": "decision"}]


def test_run_rewarded_by_regret_resumes_exactly(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    config = tiny(stages=REGRET)
    assert_resumes_exactly(config, 2, tmp_path, monkeypatch)


def test_judge_without_action_values_raises(tmp_path: Path) -> None:
    for judge in ("greedy", "zoo:afterstate-2p"):  # the second one solves whole turns in No Dice
        with pytest.raises(OptionError, match=f"judge must be an agent that values actions in .*, got '{judge}'"):
            run(tiny(stages=REGRET, judge=judge, options={}), tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_judge_that_rejects_the_options_raises_before_the_run(tmp_path: Path) -> None:
    options = {"sum_throws": True, "max_turns": 3}
    with pytest.raises(OptionError, match="judge: 'reference' cannot judge .*sum_throws"):
        run(tiny("poker_figures", stages=REGRET, judge="reference", options=options), tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_stage_rewarded_by_regret_cannot_change_options() -> None:
    with pytest.raises(ValueError, match="must not change options"):
        tiny(stages=[{**REGRET[0], "options": {"target": 5}}])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"throws": 2}, "must not change throws"),
        ({"target": 0}, "target must be"),
        ({"goal": 3}, "unexpected keyword"),
    ],
)
def test_invalid_stage_options_raise(options: dict[str, Any], message: str, tmp_path: Path) -> None:
    stage = f"{{until: 1.0, reward: win, horizon: game, options: {options}}}"
    (tmp_path / "config.yaml").write_text(f"game: no_dice\nframes: 1000\nstages: [{stage}]\n")
    with pytest.raises(OptionError, match=message):
        load_config(tmp_path / "config.yaml")


SEVERAL = {"players": [2, 3], "priority": "hard", "opponents": {"solver": 0.2, "past": 0.8}, "seat": "random"}


@pytest.mark.parametrize("stages", [pytest.param(STAGES, marks=pytest.mark.slow), REGRET], ids=["options", "regret"])
def test_policy_for_several_player_counts_resumes_and_plays(
    stages: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = tiny(stages=stages, **SEVERAL)
    assert_resumes_exactly(config, 5, tmp_path, monkeypatch)
    last = metrics(tmp_path / "whole")[-1]
    for number, game in enumerate(config.make_games()):
        agent = ModelAgent.load(tmp_path / "whole", game)
        found = evaluate(game, [agent, *["random"] * (number + 1)], num_games=20, seed=3)
        assert nth(found, 0).win_rate == last[f"{number + 2}p/win_rate/random"]
    with pytest.raises(ModelFileError, match="with 2, 3 players .* not no_dice with 4 players"):
        ModelAgent.load(tmp_path / "whole", game_of("no_dice", 4, **SHORT["no_dice"]))


@pytest.mark.parametrize("players", [[2], [3, 2], [2, 2], []])
def test_player_counts_must_increase(players: list[int]) -> None:
    with pytest.raises(ValueError, match="rising list"):
        tiny(players=players)


def test_every_player_count_must_fit_the_game(tmp_path: Path) -> None:
    with pytest.raises(OptionError, match="num_players"):
        run(tiny(players=[2, 9]), tmp_path / "run")
    assert not (tmp_path / "run").exists()
