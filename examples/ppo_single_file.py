"""Proximal policy optimisation with action masks in one file: plain torch on the Gymnasium environments.

    python examples/ppo_single_file.py --save policy.pt

With 1,000,000 frames and seed 1 this takes 97 seconds of processor time, evaluation included. The policy then wins
99.9 % of 4,000 games of No Dice against random play (99.7 to 100.0), 28.9 % against greedy (27.8 to 30.1) and 27.1 %
against the exact solution (26.0 to 28.2).

Schulman et al., Proximal Policy Optimization Algorithms, 2017. Masks as in Huang and Ontañón, A Closer Look at Invalid
Action Masking in Policy Gradient Algorithms, 2022: the logit of an illegal action is minus infinity, so the action has
no probability and no gradient.
"""

from __future__ import annotations

import argparse
import time
from dataclasses import dataclass, fields

import gymnasium as gym
import numpy as np
import torch
from gymnasium.vector import AutoresetMode
from torch import nn
from torch.nn import functional

import trialea
from trialea.evaluation import evaluate


@dataclass
class Args:
    """The settings of the run; each is a flag."""

    env: str = "trialea/NoDice-v0"
    opponents: str = "greedy"
    reward: str = "score"  # many small rewards; wins are measured at the end
    seed: int = 1
    threads: int = 1  # of torch
    frames: int = 1_000_000  # decisions of the learner, over all games
    games: int = 1024  # played at once
    steps: int = 32  # decisions per game between two updates
    epochs: int = 4
    minibatch: int = 4096
    rate: float = 1e-3  # learning rate of Adam, falling to 0
    entropy: float = 0.01  # weight of the entropy bonus, falling to 0
    horizon: str = "turn"  # "turn": rewards after the turn are not credited to its decisions; or "game"
    gamma: float = 1.0
    gae_lambda: float = 0.95
    clip: float = 0.2
    hidden: int = 128
    evaluation_games: int = 4000
    save: str = ""  # write the weights to this file


class Policy(nn.Module):
    """Two networks: the actor and the critic."""

    def __init__(self, size: int, actions: int, hidden: int) -> None:
        super().__init__()
        self.actor = self._layers(size, hidden, actions, gain=0.01)
        self.critic = self._layers(size, hidden, 1, gain=1.0)

    @staticmethod
    def _layers(size: int, hidden: int, out: int, gain: float) -> nn.Sequential:
        linear = [nn.Linear(size, hidden), nn.Linear(hidden, hidden), nn.Linear(hidden, out)]
        for layer, strength in zip(linear, (2**0.5, 2**0.5, gain), strict=True):
            nn.init.orthogonal_(layer.weight, strength)
            nn.init.zeros_(layer.bias)
        return nn.Sequential(linear[0], nn.ReLU(), linear[1], nn.ReLU(), linear[2])

    def log_probabilities(self, observations: torch.Tensor, masks: torch.Tensor) -> torch.Tensor:
        """Return the log probabilities of all actions, (B, A); minus infinity where illegal."""
        return functional.log_softmax(self.actor(observations).masked_fill(~masks, -torch.inf), dim=1)

    def values(self, observations: torch.Tensor) -> torch.Tensor:
        """Return the expected return, (B,)."""
        values: torch.Tensor = self.critic(observations).squeeze(1)
        return values


class PolicyAgent:
    """An agent that plays the most probable action of the policy."""

    name = "ppo"

    def __init__(self, game: trialea.Game, policy: Policy) -> None:
        self.game, self.policy = game, policy

    def act(self, states: np.recarray) -> np.ndarray:
        """Return a legal action, (B,), for the player to move in each of the (B,) states."""
        observations, masks = torch.from_numpy(self.game.observe(states)), torch.from_numpy(self.game.masks(states))
        with torch.inference_mode():
            actions: np.ndarray = self.policy.log_probabilities(observations, masks.bool()).argmax(dim=1).numpy()
        return actions


def first_decision(names: list[str]) -> int:
    """Return the index in the observation that is 1 at the first decision of a turn, when most throws are left."""
    places = [place for place, name in enumerate(names) if name.startswith("throws left: ")]
    if not places:
        raise SystemExit("the observation does not show the throws left: use --horizon game")
    return places[-1]


def train(args: Args) -> tuple[trialea.Game, Policy]:
    """Train a policy; return the game and the policy."""
    torch.manual_seed(args.seed)
    torch.set_num_threads(args.threads)
    # When a game ends, the next one begins in the same step, so the learner can use every transition.
    envs = gym.make_vec(
        args.env,
        num_envs=args.games,
        opponents=args.opponents,
        reward=args.reward,
        seat="rotate",
        autoreset_mode=AutoresetMode.SAME_STEP,
    )
    game: trialea.Game = envs.unwrapped.game
    first_of_turn = first_decision(game.observation_names()) if args.horizon == "turn" else None
    size, actions = envs.single_observation_space.shape[0], int(envs.single_action_space.n)
    policy = Policy(size, actions, args.hidden)
    optimizer = torch.optim.Adam(policy.parameters(), eps=1e-5)

    shape = (args.steps, args.games)
    observations, masks = torch.zeros(*shape, size), torch.zeros(*shape, actions, dtype=torch.bool)
    chosen, log_probabilities = torch.zeros(shape, dtype=torch.int64), torch.zeros(shape)
    values, rewards, ends = torch.zeros(shape), torch.zeros(shape), torch.zeros(shape)

    seen, infos = envs.reset(seed=args.seed)
    observation, mask = torch.from_numpy(seen), torch.from_numpy(infos["action_mask"]).bool()
    updates = max(1, args.frames // (args.steps * args.games))
    began = time.perf_counter()
    for update in range(updates):
        left = 1.0 - update / updates
        optimizer.param_groups[0]["lr"] = args.rate * left

        # Play.
        for step in range(args.steps):
            with torch.inference_mode():
                logs = policy.log_probabilities(observation, mask)
                # The maximum of the logits plus Gumbel noise is a sample from the policy; minus infinity never wins.
                action = (logs - torch.empty_like(logs).exponential_().log()).argmax(dim=1)
                values[step] = policy.values(observation)
                log_probabilities[step] = logs.gather(1, action.unsqueeze(1)).squeeze(1)
            observations[step], masks[step], chosen[step] = observation, mask, action
            seen, paid, terminated, truncated, infos = envs.step(action.numpy())
            rewards[step], ends[step] = torch.from_numpy(paid), torch.from_numpy(terminated | truncated)
            if first_of_turn is not None:
                ends[step] = torch.maximum(ends[step], torch.from_numpy(seen[:, first_of_turn]))
            observation, mask = torch.from_numpy(seen), torch.from_numpy(infos["action_mask"]).bool()

        # Generalised advantage estimation.
        advantages = torch.zeros(shape)
        with torch.inference_mode():
            following, advantage = policy.values(observation), torch.zeros(args.games)
        for step in reversed(range(args.steps)):
            alive = 1.0 - ends[step]
            error = rewards[step] + args.gamma * following * alive - values[step]
            advantages[step] = advantage = error + args.gamma * args.gae_lambda * alive * advantage
            following = values[step]

        # Learn.
        flat = [
            part.flatten(0, 1)
            for part in (observations, masks, chosen, log_probabilities, advantages, advantages + values)
        ]
        for _ in range(args.epochs):
            for picked in torch.randperm(args.steps * args.games).split(args.minibatch):
                inputs, legal, taken, before, better, returns = (part[picked] for part in flat)
                logs = policy.log_probabilities(inputs, legal)
                ratio = (logs.gather(1, taken.unsqueeze(1)).squeeze(1) - before).exp()
                better = (better - better.mean()) / (better.std() + 1e-8)
                clipped = ratio.clamp(1 - args.clip, 1 + args.clip)
                gain = torch.minimum(ratio * better, clipped * better).mean()
                entropy = -(logs.exp() * logs.masked_fill(~legal, 0.0)).sum(dim=1).mean()
                error = functional.mse_loss(policy.values(inputs), returns)
                optimizer.zero_grad()
                torch.autograd.backward(0.5 * error - gain - args.entropy * left * entropy)
                nn.utils.clip_grad_norm_(policy.parameters(), 0.5)
                optimizer.step()

        if update % max(1, updates // 10) == 0 or update == updates - 1:
            frames = (update + 1) * args.steps * args.games
            rate = frames / (time.perf_counter() - began)
            mean = rewards.mean().item()
            print(f"{frames:,} frames, {rate:,.0f}/s: {mean:+.4f} a decision, entropy {entropy.item():.3f}", flush=True)
    envs.close()
    return game, policy


def parse() -> Args:
    """Parse the flags."""
    parser = argparse.ArgumentParser(
        description=__doc__.splitlines()[0], formatter_class=argparse.ArgumentDefaultsHelpFormatter
    )
    for field in fields(Args):
        parser.add_argument(
            f"--{field.name.replace('_', '-')}", type=type(field.default), default=field.default, help=" "
        )
    return Args(**vars(parser.parse_args()))


def main() -> None:
    """Train a policy and measure it against the game's agents."""
    args = parse()
    game, policy = train(args)
    if args.save:
        torch.save(policy.state_dict(), args.save)
    for opponent in trialea.GAMES[game.name].agents_for(game.num_players):
        if opponent != "human":
            found = evaluate(
                game, [PolicyAgent(game, policy), opponent], num_games=args.evaluation_games, seed=args.seed
            )
            trained = next(iter(found.agents.values()))
            low, high = trained.interval
            print(f"wins against {opponent}: {trained.win_rate:.1%} ({low:.1%} to {high:.1%})", flush=True)


if __name__ == "__main__":
    main()
