"""Tests of RLlib training on one machine. They are slow, and skipped where Ray is not installed."""

from __future__ import annotations

import gc
import json
import sys
import time
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.helpers import SHORT, SOME_TABLES, game_of, nth, positions
from trialea import IllegalActionError, make_agent
from trialea.agents.model_file import read_model
from trialea.envs.aec import MultiAgentEnv
from trialea.evaluation import evaluate
from trialea.training.config import RllibConfig
from trialea.training.run import resume, train

ray = pytest.importorskip("ray")
torch = pytest.importorskip("torch")
pytestmark = [
    pytest.mark.slow,
    # RLlib registers its environment with Gymnasium again for each runner.
    pytest.mark.filterwarnings("ignore:.*Overriding environment rllib-multi-agent-env-v0:UserWarning"),
    pytest.mark.filterwarnings("ignore:subprocess .* is still running:ResourceWarning"),  # caused by Ray itself
]


@pytest.fixture(scope="module", autouse=True)
def local_ray() -> Iterator[None]:
    """Start and stop a local Ray."""
    ray.init(address="local", num_cpus=3, include_dashboard=False, log_to_driver=False)
    yield
    ray.shutdown()
    gc.collect()  # collects the processes that Ray ended, while their warnings are ignored


def tiny(**changes: Any) -> RllibConfig:
    """Return the configuration of a short run."""
    settings: dict[str, Any] = {
        "algorithm": "rllib",
        "game": "no_dice",
        "options": {"target": 10},
        "seed": 3,
        "threads": 1,
        "frames": 2000,
        "checkpoints": 2,
        "ppo": {
            "environments": 16,
            "n_steps": 32,
            "batch_size": 128,
            "learning_rate": {"start": 3e-3, "end": 3e-4},
            "net_arch": [64, 64],
        },
        "measure": {"times": 2, "games": 200, "opponents": ["random"]},
    }
    return RllibConfig.model_validate({**settings, **changes})


def metrics(folder: Path) -> list[dict[str, Any]]:
    """Return a run's measurements."""
    return [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]


# Environments ----------------------------------------------------------------------------------------------------


def sampled(config: RllibConfig, arguments: dict[str, Any], steps: int) -> tuple[Any, list[Any]]:
    """Return an env runner with an untrained policy, and its samples in pieces of 7 decisions."""
    from ray.rllib.env.multi_agent_env_runner import MultiAgentEnvRunner

    from trialea.training.rllib.algorithm import ppo_config

    settings = ppo_config(config, 0).copy(copy_frozen=False)
    settings.environment(env_config=arguments).env_runners(num_envs_per_env_runner=1).debugging(seed=1)
    runner = MultiAgentEnvRunner(config=settings, worker_index=0)
    return runner, [piece for _ in range(steps) for piece in runner.sample(num_timesteps=7, explore=True)]


def expected(env: MultiAgentEnv, actions: dict[str, list[int]]) -> dict[str, list[Any]]:
    """Return each player's (observation, action, reward, end) in one PettingZoo game with these actions."""
    left = {agent: iter(chosen) for agent, chosen in actions.items()}
    steps: dict[str, list[Any]] = defaultdict(list)
    acted: dict[str, Any] = {}
    while env.agents:
        agent = env.agent_selection
        seen, reward, terminated, truncated, _ = env.last()
        assert seen is not None
        done = terminated or truncated
        if agent in acted:
            paid_out = terminated or bool(env.game_state.truncated)
            steps[agent].append(
                (*acted.pop(agent), reward, ("terminated" if paid_out else "truncated") if done else "")
            )
        if done:
            env.step(None)
            continue
        action = next(left[agent])
        acted[agent] = (seen["observation"].tobytes(), seen["action_mask"].tobytes(), action)
        env.step(action)
    return steps


@pytest.mark.parametrize(("name", "players"), SOME_TABLES)
@pytest.mark.parametrize("max_cycles", [None, 2])
def test_rllib_episodes_match_the_games_played(name: str, players: int, max_cycles: int | None) -> None:
    """Put together, the pieces have every player's observations, actions, rewards and ends as in PettingZoo.

    None of the actions is illegal.
    """
    config = tiny(game=name, players=players, options=SHORT[name], ppo={"net_arch": [8]})
    arguments = {"game": name, "num_players": players, "reward": "score", "max_cycles": max_cycles, **SHORT[name]}
    runner, pieces = sampled(config, arguments, 60)
    played: dict[str, dict[str, list[Any]]] = defaultdict(lambda: defaultdict(list))
    done = []
    for piece in pieces:
        for agent, episode in piece.agent_episodes.items():
            seen = episode.get_observations()
            for step, (action, reward) in enumerate(zip(episode.get_actions(), episode.get_rewards(), strict=True)):
                last = step == len(episode) - 1
                end = "terminated" if episode.is_terminated else "truncated" if episode.is_truncated else ""
                what = (seen[key][step].tobytes() for key in ("observations", "action_mask"))
                played[piece.id_][agent].append((*what, int(action), pytest.approx(reward), end if last else ""))
        if piece.is_done:
            done.append(piece.id_)
    assert len(done) >= 2
    env = MultiAgentEnv(name, players, reward="score", max_cycles=max_cycles, **SHORT[name])
    for number, game in enumerate(done):
        env.reset(seed=1 if number == 0 else None)
        assert played[game] == expected(
            env, {agent: [step[2] for step in all_] for agent, all_ in played[game].items()}
        )
    assert [env.unwrapped.illegal_actions for env in runner.env.envs] == [0]


def test_runners_play_different_games_with_the_same_seed() -> None:
    from ray.rllib.env.env_context import EnvContext

    from trialea.training.rllib.env import GamesEnv

    begun = set()
    for worker in range(3):
        for seed in (
            1 + worker,
            2 + worker,
        ):  # RLlib counts up the seeds of a runner's games from the runner's own seed
            env = GamesEnv(EnvContext({"game": "no_dice", "target": 8}, worker_index=worker))
            seen, _ = env.reset(seed=seed)
            begun.add((seen["player_0"]["observations"].tobytes(), env._turns.env.game_state.seed))
    assert len(begun) == 6


# The module ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("net_arch", [[], [16], [32, 16]], ids=str)
def test_illegal_actions_have_probability_0_and_finite_gradients(net_arch: list[int]) -> None:
    from ray.rllib.core.columns import Columns

    from trialea.training.rllib.env import GamesEnv
    from trialea.training.rllib.module import MaskedPolicy

    game = game_of("no_dice", 2)
    env = GamesEnv({"game": "no_dice"})
    spaces = {"observation_space": env.observation_spaces["player_0"], "action_space": env.action_spaces["player_0"]}
    module = MaskedPolicy(**spaces, model_config={"net_arch": net_arch, "activation": "tanh"})
    states = positions(game, 200)
    masks = game.masks(states)
    masks[-1] = 0  # the mask of a player that has finished
    seen = {"observations": torch.from_numpy(game.observe(states)), "action_mask": torch.from_numpy(masks)}
    found = module.forward_train({Columns.OBS: seen})[Columns.ACTION_DIST_INPUTS]
    dist = module.get_exploration_action_dist_cls().from_logits(found)
    probabilities = torch.softmax(found, 1).detach().numpy()
    assert (probabilities[:-1][masks[:-1] == 0] == 0).all()
    assert (probabilities[:-1][masks[:-1] == 1] > 0).all()
    for _ in range(50):
        assert masks[np.arange(199), dist.sample().numpy()[:-1]].all()
    loss = (
        dist.entropy().sum()
        + dist.logp(torch.zeros(200)).clamp(-50).sum()
        + module.compute_values({Columns.OBS: seen}).sum()
    )
    loss.backward()
    for weights in module.parameters():
        assert weights.grad is not None and torch.isfinite(weights.grad).all()


def test_weights_have_sb3_names_and_shapes() -> None:
    import gymnasium as gym
    from sb3_contrib import MaskablePPO

    from trialea.training.rllib.env import GamesEnv
    from trialea.training.rllib.module import MaskedPolicy

    stock = MaskablePPO("MlpPolicy", gym.make("trialea/NoDice-v0"), n_steps=8, device="cpu")
    env = GamesEnv({"game": "no_dice"})
    module = MaskedPolicy(
        observation_space=env.observation_spaces["player_0"],
        action_space=env.action_spaces["player_0"],
        model_config={"net_arch": [64, 64], "activation": "tanh"},
    )
    stock.policy.load_state_dict(module.state_dict())  # strict


# Runs ------------------------------------------------------------------------------------------------------------


def test_run_learns_and_its_model_is_an_agent(tmp_path: Path) -> None:
    """An illegal action would end the run with an error."""
    folder = tmp_path / "run"
    config = tiny(frames=16_000, reward="score", checkpoints=3)
    torch.use_deterministic_algorithms(False)
    assert train(config, folder, progress=False) is True
    first, *_, last = metrics(folder)
    assert first["frames"] == 0 and last["frames"] >= 16_000 and last["games"] > 1000
    assert first["win_rate/random"] < 0.6 < 0.7 < last["win_rate/random"]
    assert last["regret"] < 0.65 * first["regret"]
    assert {path.name for path in folder.iterdir()} == {
        "checkpoints", "config.yaml", "metrics.jsonl", "model.zip", "versions.json",
    }  # fmt: skip
    assert json.loads((folder / "versions.json").read_text())["ray"] == ray.__version__
    game = config.make_game()
    found = evaluate(game, [make_agent(str(folder), game), "random"], num_games=200, seed=3)
    assert nth(found, 0).win_rate == last["win_rate/random"]
    assert not torch.are_deterministic_algorithms_enabled()  # RLlib had switched this on


def test_each_seat_can_have_its_own_policy_and_env_runners(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    config = tiny(policies="seats", env_runners=2, options=SHORT["no_dice"], players=3)
    assert train(config, folder, progress=False) is True
    _, weights = read_model(folder / "model.zip")
    layers = [weights[f"{seat}.action_net.weight"] for seat in range(3)]
    assert not torch.equal(layers[0], layers[1]) and not torch.equal(layers[1], layers[2])
    game = config.make_game()
    states = positions(game, 100)
    actions = make_agent(str(folder), game).act(states)
    assert game.masks(states)[np.arange(100), actions].all()


def test_stopped_run_resumes_weights_optimizers_and_schedules(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from trialea.training.rllib.run import Learner, torch_learner

    folder = tmp_path / "run"
    config = tiny(frames=2048, checkpoints=1)
    learn = Learner.learn

    def stop_soon(self: Learner) -> None:
        learn(self)
        self.stopping = self.frames > 900

    with monkeypatch.context() as patch:
        patch.setattr(Learner, "learn", stop_soon)
        assert train(config, folder, progress=False) is False
    [checkpoint] = (folder / "checkpoints").iterdir()
    assert 900 < int(checkpoint.name) < 2048

    again = Learner(config)
    assert again.restore(checkpoint) > 0
    assert again.frames == int(checkpoint.name) and again.games > 0
    weights = torch.load(checkpoint / "optimizers.pth", weights_only=True)["shared"]["state"]
    learner = torch_learner(again.algorithm)
    optimizer = learner.get_optimizer("shared")
    assert all(
        torch.equal(weights[key]["exp_avg"], held["exp_avg"]) for key, held in optimizer.state_dict()["state"].items()
    )
    share = again.frames / config.frames
    assert learner.config.lr[0][1] == pytest.approx(config.ppo.learning_rate.at(share))
    _, saved = read_model(checkpoint / "model.zip")
    for module in (learner.module["shared"], again.algorithm.env_runner.module["shared"]):
        held = module.state_dict()
        assert set(held) == set(saved) and all(torch.equal(held[key], saved[key]) for key in held)
    again.close()

    assert resume(folder, progress=False) is True
    frames = [line["frames"] for line in metrics(folder)]
    assert frames == sorted(set(frames)) and frames[0] == 0 and frames[-1] >= 2048
    assert (folder / "model.zip").is_file()


class Careless:
    """Swaps legal and illegal actions. The test makes it a `MaskedPolicy`, as Ray may not be installed."""

    def _forward(self, batch: dict[str, Any], **kwargs: Any) -> dict[str, Any]:
        seen = batch["obs"]
        wrong = {"observations": seen["observations"], "action_mask": 1 - seen["action_mask"]}
        found: dict[str, Any] = super()._forward({"obs": wrong}, **kwargs)  # type: ignore[misc]
        return found


@pytest.mark.parametrize("env_runners", [0, 1])
def test_illegal_action_ends_the_run_with_an_error(
    env_runners: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """This also holds in another process, where RLlib would restart a failed runner."""
    from trialea.training.rllib.module import MaskedPolicy

    ray.cloudpickle.register_pickle_by_value(sys.modules[__name__])
    careless = type("CarelessPolicy", (Careless, MaskedPolicy), {})
    monkeypatch.setattr("trialea.training.rllib.algorithm.MaskedPolicy", careless)
    with pytest.raises(IllegalActionError, match=r"[1-9]\d* illegal actions were chosen"):
        train(
            tiny(env_runners=env_runners, measure={"times": 1, "games": 2, "opponents": ["random"]}),
            tmp_path / "run",
            progress=False,
        )


def test_cluster_that_is_too_small_raises_before_the_run_folder(tmp_path: Path) -> None:
    from trialea.training.rllib.run import ClusterError

    with pytest.raises(ClusterError, match="the cluster has 3 cores, and 9 env runners need one each"):
        train(tiny(env_runners=9), tmp_path / "run", progress=False)
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("reported", [{}, {"env_runners": {"num_env_steps_sampled_lifetime": float("nan")}}], ids=str)
def test_run_without_answering_env_runners_stops_after_patience(reported: dict[str, Any]) -> None:
    from trialea.training.rllib.run import ClusterError, Learner

    class Silent:
        calls = 0

        def train(self) -> dict[str, Any]:
            self.calls += 1
            time.sleep(0.02)
            return reported

    learner = Learner(tiny(patience=0.1))
    learner.algorithm = silent = Silent()  # replaces RLlib's algorithm
    with pytest.raises(ClusterError, match=r"no env runner has answered for 0.1 seconds \(`patience`\).*--resume"):
        learner.learn()
    assert silent.calls > 2 and learner.frames == 0
