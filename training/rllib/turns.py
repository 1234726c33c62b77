"""Play a game in the form that RLlib expects: the mover, the rewards since its last turn, the ended players.

This module doesn't import Ray.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from numpy.typing import NDArray

from trialea.envs.aec import MultiAgentEnv
from trialea.envs.errors import IllegalActionError, NotResetError

ALL = "__all__"
Observation = dict[str, NDArray[Any]]
Last = tuple[Observation, float]  # a player's last observation and reward


class Moved(NamedTuple):
    """The results of a step, in the order in which RLlib's environments return them.

    Attributes:
        observations: the observations of the player to move and of the players that end.
        rewards: the rewards of the same players, each since that player's last observation.
        terminateds: True for each player that ends for good; under `"__all__"`, whether all players have ended.
        truncateds: only under `"__all__"`: whether the game was truncated for all players still in it.
        infos: empty infos of the same players.
    """

    observations: dict[str, Observation]
    rewards: dict[str, float]
    terminateds: dict[str, bool]
    truncateds: dict[str, bool]
    infos: dict[str, dict[str, Any]]


class Turns:
    """One game at a time, with one player's move at each step.

    The reports differ from PettingZoo's where RLlib (2.60) would misread them:

    - RLlib considers an episode over once all players *that it has seen* have ended. So an end is reported only when
      every player has had an observation, or the game is over. Until then the ended player is skipped.
    - If a player is truncated by name and the others have ended, RLlib counts it as terminated and expects no further
      reward. So truncation is reported only under `"__all__"`.
    - If a game reaches its own limit, it has paid its result, so its players terminate. `max_cycles` pays nothing, and
      truncates.
    - A player whose game ended before its first move does not appear.

    Args:
        env: the game; only this object may step it.
    """

    def __init__(self, env: MultiAgentEnv) -> None:
        self.env = env
        self._seen: set[str] = set()
        self._held_back: dict[str, Last] = {}

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> Moved:
        """Start the next game: of a new stream of seeds if `seed` is given, else of the present one."""
        self.env.reset(seed, options)
        mover = self.env.agent_selection
        self._seen, self._held_back = {mover}, {}
        infos = {mover: dict(self.env.infos[mover])}
        return Moved({mover: self._look(mover)}, {mover: 0.0}, {ALL: False}, {ALL: False}, infos)

    def step(self, actions: Mapping[str, Any]) -> Moved:
        """Take the action of the player to move.

        Raises:
            IllegalActionError: the action is illegal, or there are actions of other players; nothing has changed.
            NotResetError: there is no game in progress.
        """
        env = self.env
        if not env.agents:
            raise NotResetError("call reset() before step(): there is no game in progress")
        mover = env.agent_selection
        if set(actions) != {mover}:
            raise IllegalActionError(f"actions must have one entry, for {mover}, who is to move, got {sorted(actions)}")
        env.step(actions[mover])
        unpaid = self._note_ends()
        over = not env.agents
        moved = Moved({}, {}, {ALL: over and not unpaid}, {ALL: bool(unpaid)}, {})
        if not over:
            self._seen.add(env.agent_selection)
            self._tell(moved, env.agent_selection, self._look(env.agent_selection), env.last(observe=False)[1])
        if over or self._seen.issuperset(env.possible_agents):
            for agent, last in self._held_back.items():
                self._tell(moved, agent, *last)
                moved.terminateds[agent] = True
            self._held_back = {}
        for agent, last in unpaid.items():
            self._tell(moved, agent, *last)
        return moved

    def break_off(self) -> Moved:
        """End the game here, without rewards, for all players still in it."""
        moved = Moved({}, {}, {ALL: False}, {ALL: True}, {})
        for agent in self.env.agents:
            if agent in self._seen:
                self._tell(moved, agent, self._look(agent), 0.0)
        self.env.agents = []
        return moved

    def _note_ends(self) -> dict[str, Last]:
        """Remove the players that have ended; return the players that were truncated without a result."""
        env = self.env
        unpaid: dict[str, Last] = {}
        while env.agents:
            agent = env.agent_selection
            _, reward, terminated, truncated, _ = env.last(observe=False)
            if not (terminated or truncated):
                break
            if agent in self._seen:
                ends = unpaid if truncated and not env.game_state.truncated else self._held_back
                ends[agent] = self._look(agent), reward
            env.step(None)
        return unpaid

    def _look(self, agent: str) -> Observation:
        seen = self.env.observe(agent)
        return {"observations": seen["observation"], "action_mask": seen["action_mask"]}

    @staticmethod
    def _tell(moved: Moved, agent: str, observation: Observation, reward: float) -> None:
        moved.observations[agent] = observation
        moved.rewards[agent] = reward
        moved.infos[agent] = {}
