"""Tests of RLlib training on a cluster of several nodes."""

from __future__ import annotations

import gc
import json
import threading
from pathlib import Path
from typing import Any

import pytest

from tests.helpers import nth
from trialea import make_agent
from trialea.evaluation import evaluate
from trialea.training.config import load_config
from trialea.training.run import train

ray = pytest.importorskip("ray")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore:.*Overriding environment rllib-multi-agent-env-v0:UserWarning"),
    pytest.mark.filterwarnings("ignore:subprocess .* is still running:ResourceWarning"),  # caused by Ray itself
]


def test_run_survives_the_loss_of_a_node_with_an_env_runner(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One of two nodes with an env runner is killed while it plays.

    The run continues on the other node, and on both again once a new node has joined.
    """
    from ray.cluster_utils import Cluster

    from trialea.training.rllib.run import Learner

    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 0, "include_dashboard": False})
    nodes = [cluster.add_node(num_cpus=1) for _ in range(2)]
    killing: list[threading.Timer] = []
    played_by: list[set[str]] = []  # at each update, the nodes whose env runners answer
    learn = Learner.learn

    def watched(self: Learner) -> None:
        runners: Any = self.algorithm.env_runner_group
        where = lambda _: ray.get_runtime_context().get_node_id()  # noqa: E731
        played_by.append(set(runners.foreach_env_runner(where, local_env_runner=False)))
        if len(played_by) == 3:  # during this rollout
            killing.append(threading.Timer(0.2, cluster.remove_node, (nodes[0], False)))
            killing[0].start()
        if len(played_by) == 5:
            cluster.add_node(num_cpus=1)
        learn(self)

    monkeypatch.setattr(Learner, "learn", watched)
    changes = ["env_runners=2", "frames=20000", "options.target=10", "ppo.environments=8", "ppo.batch_size=256"]
    config = load_config(
        "configs/no_dice_rllib.yaml", [*changes, "measure={times: 1, games: 100, opponents: [random]}"]
    )
    folder = tmp_path / "run"
    ray.init(address=cluster.address, log_to_driver=False)
    try:
        assert train(config, folder, progress=False) is True
        killing[0].join()
        assert sum(node["Alive"] for node in ray.nodes()) == 3
    finally:
        ray.shutdown()
        cluster.shutdown()
        gc.collect()  # collects the processes that Ray ended, while their warnings are ignored
    before, alone, after = played_by[0], played_by[4], played_by[-1]
    assert len(before) == len(after) == 2 and len(alone) == 1 and before & after == alone
    lines = [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]
    assert lines[-1]["frames"] >= 20_000
    game = config.make_game()
    found = evaluate(game, [make_agent(str(folder), game), "random"], num_games=100, seed=config.seed)
    assert nth(found, 0).win_rate == lines[-1]["win_rate/random"]


def test_unreachable_cluster_raises_before_the_run_folder_is_made(tmp_path: Path) -> None:
    from trialea.training.rllib.run import ClusterError

    config = load_config("configs/no_dice_rllib.yaml", ["address=127.0.0.1:1"])
    with pytest.raises(ClusterError, match=r"no Ray cluster can be reached at '127.0.0.1:1' \(`address`\)"):
        train(config, tmp_path / "run", progress=False)
    assert not (tmp_path / "run").exists()
