"""Use the installed package as a stranger would: core dependencies only, far from its source tree.

Run with `python -I -W error`, so that nothing but the installation is found and every warning is an error.
"""

import json
import subprocess
import sys
from importlib import import_module
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np

HEAVY = ("torch", "numba", "ray", "matplotlib", "pygame")
SHORT = {"poker_figures": {"max_turns": 3}}  # whoever plays the first legal action closes no row
LIGHT_IMPORT = f"import sys, trialea; loaded = set({HEAVY!r}) & set(sys.modules); assert not loaded, loaded"


def run(*command: str) -> str:
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)}\nended with {done.returncode}:\n{done.stdout}{done.stderr}")
    return done.stdout


def legal(mask: np.ndarray) -> int:
    return int(np.flatnonzero(mask)[0])


def single_agent(game: dict[str, Any]) -> None:
    env = gym.make(f"trialea:{game['gymnasium']}", **SHORT.get(game["game"], {}))
    _, info = env.reset(seed=1)
    for _ in range(10_000):
        _, _, terminated, truncated, info = env.step(legal(info["action_mask"]))
        if terminated or truncated:
            break
    else:
        sys.exit(f"an episode of {game['gymnasium']} did not end")
    env.close()


def batched(game: dict[str, Any]) -> None:
    envs = gym.make_vec(f"trialea:{game['gymnasium']}", num_envs=4)
    observations, _ = envs.reset(seed=1)
    assert observations.shape[0] == 4
    envs.close()


def multi_agent(game: dict[str, Any]) -> None:
    module = import_module(f"trialea.envs.{game['game']}_v0")
    env = module.env(num_players=game["players"][0] + 1, **SHORT.get(game["game"], {}))
    env.reset(seed=1)
    for _ in env.agent_iter(100_000):
        observation, _, terminated, truncated, _ = env.last()
        env.step(None if terminated or truncated else legal(observation["action_mask"]))
    assert not env.agents
    env.close()


def data_files() -> None:
    assert files("trialea").joinpath("py.typed").is_file()
    configs = [file.name for file in files("trialea.configs").iterdir() if file.name.endswith(".yaml")]
    assert configs, "no config was installed"
    templates = files("trialea.evaluation.reports").joinpath("templates")
    assert any(file.name.endswith(".html.j2") for file in templates.iterdir()), "no template was installed"


def command_line() -> None:
    script = str(Path(sys.executable).with_name("trialea"))
    assert version("trialea") in run(script, "--version")
    assert version("trialea") in run(sys.executable, "-I", "-W", "error", "-m", "trialea", "--version")
    assert "no_dice" in run(script, "games")


def main() -> None:
    run(sys.executable, "-I", "-W", "error", "-c", LIGHT_IMPORT)
    listed = json.loads(run(str(Path(sys.executable).with_name("trialea")), "games", "--json"))
    # Nothing of trialea has been imported in this process: an id alone must bring it in.
    assert not any(name.split(".")[0] == "trialea" for name in sys.modules)
    for game in listed:
        for check in (single_agent, batched, multi_agent):
            check(game)
    data_files()
    command_line()
    versions = [f"{name} {version(name)}" for name in ("trialea", "gymnasium", "pettingzoo", "numba")]
    print("works as installed:", *versions)


if __name__ == "__main__":
    main()
