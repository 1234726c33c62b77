"""The configuration of a training with RLlib, see `trialea.training.rllib.run`."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from trialea.configs.values import Real, Whole
from trialea.training.config.base import Frames, GamesAtOnce, Measure, Rows, RunSettings, Times
from trialea.training.config.ppo import Ppo, Steps


class RllibPpo(Ppo):
    """The settings of RLlib's PPO: MaskablePPO's with other defaults. `environments` counts those of one env runner."""

    environments: GamesAtOnce = 32
    n_steps: Steps = 64
    batch_size: Rows = 512


class RllibConfig(RunSettings):
    """Everything that decides a training with RLlib.

    Attributes:
        algorithm: always `"rllib"`.
        frames: decisions of all seats in the whole run.
        reward: the players' reward, see `trialea.envs.game.Reward`.
        policies: `"shared"`: one for all seats; `"seats"`: one for each seat.
        env_runners: the number of processes that play, on any node of the cluster; 0: the process that learns plays.
        address: the address of the cluster; empty: start Ray on this machine for this run alone.
        patience: the seconds after which a run ends with an error if no env runner answers.
        checkpoints: the number of equal parts into which checkpoints divide the run.
        ppo: the algorithm's settings.
        measure: the measurements during the run.
    """

    algorithm: Literal["rllib"]
    frames: Frames
    reward: Literal["win", "score"] = "win"
    policies: Literal["shared", "seats"] = "shared"
    env_runners: Annotated[Whole, Field(ge=0, le=10**4)] = 0
    address: str = ""
    patience: Annotated[Real, Field(gt=0, le=10**7)] = 600.0
    checkpoints: Times = 10
    ppo: RllibPpo = RllibPpo()
    measure: Measure = Measure()

    def model_post_init(self, context: Any) -> None:
        """Check what concerns several keys at once."""
        rollout = self.ppo.environments * self.ppo.n_steps * max(1, self.env_runners)
        if self.ppo.batch_size > rollout:
            raise ValueError(
                f"ppo.batch_size must be at most {rollout}, the decisions between two updates, got"
                f" {self.ppo.batch_size}"
            )
