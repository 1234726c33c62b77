"""Build RLlib's PPO from a configuration."""

from __future__ import annotations

from typing import Any

import numpy as np

from trialea.envs.errors import needs_extra
from trialea.training.config import Ramp, RllibConfig

with needs_extra("cluster", "training with RLlib", "ray"):
    import ray
    from ray.rllib.algorithms.ppo import PPOConfig
    from ray.rllib.core.rl_module import MultiRLModuleSpec, RLModuleSpec

from trialea.training.rllib.env import CountingEnv
from trialea.training.rllib.module import MaskedPolicy

__all__ = ["ILLEGAL_ACTIONS", "module_of", "ppo_config", "ray"]

ILLEGAL_ACTIONS = "illegal_actions"
SHARED = "shared"
# In seconds. Short times mean that a lost env runner is replaced soon, and that the others don't wait long.
PROBE = 5.0
RESTART = 1.0


def module_of(config: RllibConfig, seat: int) -> str:
    """Return the name of the policy that plays a seat."""
    return SHARED if config.policies == "shared" else f"player_{seat}"


def _shared(agent: str, episode: Any, **kwargs: Any) -> str:
    return SHARED


def _own(agent: str, episode: Any, **kwargs: Any) -> str:
    return agent


def count_illegal_actions(env_runner: Any, metrics_logger: Any, **kwargs: Any) -> None:
    """Report an env runner's illegal actions since its last report."""
    for env in env_runner.env.envs:
        game: CountingEnv = env.unwrapped
        metrics_logger.log_value(ILLEGAL_ACTIONS, game.illegal_actions, reduce="sum")
        game.illegal_actions = 0


def ppo_config(config: RllibConfig, frames: int) -> Any:
    """Return RLlib's settings for a run that continues at frame number `frames`."""
    described = config.make_game().description()
    arguments = {
        "game": described["game"],
        "num_players": described["players"],
        "reward": config.reward,
        **described["options"],
    }
    env = CountingEnv(arguments)
    modules = dict.fromkeys(module_of(config, seat) for seat in range(described["players"]))
    ppo = config.ppo
    specs = {
        module: RLModuleSpec(
            module_class=MaskedPolicy,
            observation_space=env.observation_spaces[agent],
            action_space=env.action_spaces[agent],
            model_config={"net_arch": list(ppo.net_arch), "activation": ppo.activation},
        )
        for module, agent in zip(modules, env.possible_agents, strict=False)
    }
    # A resumed run must not repeat the dice of its beginning.
    seed = int(np.random.SeedSequence([config.seed, frames]).generate_state(1)[0]) % 2**31
    return (
        PPOConfig()
        .environment(CountingEnv, env_config=arguments, disable_env_checking=True)
        .env_runners(
            num_env_runners=config.env_runners,
            num_envs_per_env_runner=ppo.environments,
            rollout_fragment_length=ppo.n_steps,
            sample_timeout_s=config.patience,
        )
        .multi_agent(policies=list(modules), policy_mapping_fn=_shared if config.policies == "shared" else _own)
        .rl_module(rl_module_spec=MultiRLModuleSpec(rl_module_specs=specs))
        .training(
            train_batch_size_per_learner=ppo.environments * ppo.n_steps * max(1, config.env_runners),
            minibatch_size=ppo.batch_size,
            num_epochs=ppo.n_epochs,
            lr=_schedule(ppo.learning_rate, frames, config.frames),
            entropy_coeff=_schedule(ppo.entropy, frames, config.frames),
            gamma=ppo.gamma,
            lambda_=ppo.gae_lambda,
            clip_param=ppo.clip_range,
            # As in stable-baselines3: no KL penalty, and no clipping of values.
            use_kl_loss=False,
            kl_coeff=0.0,
            vf_loss_coeff=0.5,
            vf_clip_param=float("inf"),
            grad_clip=0.5,
            grad_clip_by="global_norm",
        )
        .fault_tolerance(
            restart_failed_env_runners=True,
            delay_between_env_runner_restarts_s=RESTART,
            env_runner_health_probe_timeout_s=PROBE,
        )
        .callbacks(on_sample_end=count_illegal_actions)
        .debugging(seed=seed, log_level="ERROR")
    )


def _schedule(ramp: Ramp, frames: int, total: int) -> float | list[list[float]]:
    """Return the rest of a ramp after `frames` frames, for RLlib, which counts frames from 0 again."""
    if ramp.start == ramp.end:
        return ramp.start
    return [[0, ramp.at(frames / total)], [total - frames, ramp.end]]
