"""A game as RLlib asks for it: whose turn it is, what was earned since the last one, who has ended. Knows no Ray."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from numpy.typing import NDArray

from trialea.envs.aec import MultiAgentEnv
from trialea.envs.errors import IllegalActionError, NotResetError

ALL = "__all__"
Observation = dict[str, NDArray[Any]]
Last = tuple[Observation, float]  # what a player is told at its end: what it sees, and what it has earned since


class Moved(NamedTuple):
    """What a step gave, in the order in which RLlib's environments return it.

    Attributes:
        observations: of the player to move, and of those who end.
        rewards: of the same, each since its own last observation.
        terminateds: who ends for good; and under `"__all__"` whether everybody has.
        truncateds: under `"__all__"` alone, whether the game was cut short for everybody still in it.
        infos: empty, for the same players.
    """

    observations: dict[str, Observation]
    rewards: dict[str, float]
    terminateds: dict[str, bool]
    truncateds: dict[str, bool]
    infos: dict[str, dict[str, Any]]


class Turns:
    """One game at a time, a player's move at each step.

    It differs from what PettingZoo says of the same game where RLlib (2.60) would draw the wrong conclusions:

    - RLlib takes an episode for over once everybody *it has seen* has ended. So an end is told only when every player
      has had an observation, or the game is over; until then the player simply has no turn.
    - RLlib counts a player that is truncated by name as terminated too if the others have ended, and then expects
      nothing after it. So who is truncated is told by `"__all__"` alone.
    - A game that its own limit cuts short has paid its result, so nothing is to be expected after it: its players
      terminate. `max_cycles` pays nothing, and truncates.
    - A player whose game ended before it was ever asked to move does not appear.

    Args:
        env: the game, which nobody else may step.
    """

    def __init__(self, env: MultiAgentEnv) -> None:
        self.env = env
        self._seen: set[str] = set()
        self._held_back: dict[str, Last] = {}

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> Moved:
        """Begin the next game: of a new stream if `seed` is given, else of the stream that goes on."""
        self.env.reset(seed, options)
        mover = self.env.agent_selection
        self._seen, self._held_back = {mover}, {}
        infos = {mover: dict(self.env.infos[mover])}
        return Moved({mover: self._look(mover)}, {mover: 0.0}, {ALL: False}, {ALL: False}, infos)

    def step(self, actions: Mapping[str, Any]) -> Moved:
        """Take the action of the player to move, the only one asked for.

        Raises:
            IllegalActionError: the action is not legal, or not that of the player to move alone; nothing has changed.
            NotResetError: there is no game in progress.
        """
        env = self.env
        if not env.agents:
            raise NotResetError("call reset() before step(): there is no game in progress")
        mover = env.agent_selection
        if set(actions) != {mover}:
            raise IllegalActionError(f"it is {mover}'s turn, and nobody else's: not that of {sorted(actions)}")
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
        """End the game here, unpaid, for everybody still in it."""
        moved = Moved({}, {}, {ALL: False}, {ALL: True}, {})
        for agent in self.env.agents:
            if agent in self._seen:
                self._tell(moved, agent, self._look(agent), 0.0)
        self.env.agents = []
        return moved

    def _note_ends(self) -> dict[str, Last]:
        """Take those whose game has ended from the table; returns those of them for whom it was cut short unpaid."""
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
