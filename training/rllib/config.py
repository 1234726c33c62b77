"""The configuration of a training with RLlib. Knows no Ray."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import NonNegativeInt, PositiveFloat, PositiveInt

from trialea.training.config import AnyRunConfig, Measure, Ppo


class RllibPpo(Ppo):
    """The settings of RLlib's PPO, which are MaskablePPO's with other defaults; `environments` in each env runner."""

    environments: PositiveInt = 32
    n_steps: PositiveInt = 64
    batch_size: PositiveInt = 512


class RllibConfig(AnyRunConfig):
    """What decides a training with RLlib, beside what decides any: see `trialea.training.rllib.run`.

    Attributes:
        algorithm: says that this is one.
        frames: decisions of all seats.
        reward: what the players are paid, see `trialea.envs.game.Reward`.
        policies: one for all seats, or one for each.
        env_runners: processes that play, on any node of the cluster; 0: the games are played by the process that
            learns.
        address: of the cluster; empty: one on this machine, for the run alone.
        patience: seconds without an env runner that answers after which a run ends with an error.
        checkpoints: how many are saved over the run.
        ppo: the algorithm's settings.
        measure: measurements during the run.
    """

    algorithm: Literal["rllib"]
    frames: PositiveInt
    reward: Literal["win", "score"] = "win"
    policies: Literal["shared", "seats"] = "shared"
    env_runners: NonNegativeInt = 0
    address: str = ""
    patience: PositiveFloat = 600.0
    checkpoints: PositiveInt = 10
    ppo: RllibPpo = RllibPpo()
    measure: Measure = Measure()

    def model_post_init(self, context: Any) -> None:
        """Check what concerns several keys at once."""
        rollout = self.ppo.environments * self.ppo.n_steps * max(1, self.env_runners)
        if self.ppo.batch_size > rollout:
            raise ValueError(
                f"ppo.batch_size is {self.ppo.batch_size}, more than the {rollout} decisions between two updates"
            )
        if "human" in self.measure.opponents:
            raise ValueError("a person cannot be an opponent in training: play with `trialea play`")
