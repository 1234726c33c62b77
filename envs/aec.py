"""The multi-agent environment of every game: PettingZoo's AEC interface."""

from __future__ import annotations

from copy import deepcopy
from typing import Any, Protocol

import numpy as np
from gymnasium import spaces
from gymnasium.utils import seeding
from numpy.typing import NDArray
from pettingzoo import AECEnv
from pettingzoo.utils.env import AECIterable

from trialea.envs.checks import check_seed, whole_number
from trialea.envs.dice import FOR_GAME_SEED, derive_many
from trialea.envs.errors import IllegalActionError, NotResetError
from trialea.envs.game import Game
from trialea.envs.jit import plain
from trialea.envs.learner import first_player_of
from trialea.envs.spaces import observation_box
from trialea.envs.window import RENDER_MODES, Renderer

_CHANGED = 256  # the flag of `Loops.advance_one`: somebody was paid, or finished

Observation = dict[str, NDArray[Any]]


class MultiAgentEnv(AECEnv[str, Observation, int | None]):
    """A game for agents `player_0`, `player_1`, …, who act one at a time.

    The checks of order, range and legality that PettingZoo's usual wrappers make are built in. This is several times
    faster than a stack of wrappers. `unwrapped` is the environment itself.

    **Observation.** A dict of `"observation"`, (D,) float32 from 0 to 1, and `"action_mask"`, (A,) int8. The mask is
    all zero for an agent that is not to move. Each game's page has the index table.

    **Action.** `Discrete(A)`. An illegal action raises `IllegalActionError` and changes nothing. A forced turn has
    exactly one legal action.

    **Reward.** See `trialea.envs.game.Reward`; each agent's is paid once, when its game ends (`"win"`).

    **End.** An agent terminates when its own game ends, and takes one step with `None`; the others play on.

    Args:
        game: the registered name of the game.
        num_players: how many seats; by default the fewest that can play.
        reward: `"win"` or `"score"`.
        render_mode: `"ansi"`, `"rgb_array"` or `"human"`.
        max_cycles: truncate for everybody once every player still in has completed this many turns; never if None.
        **options: the game's options.

    Raises:
        TrialeaError: an argument is wrong; docs/environments.md lists the errors.

    Version history: v0, first release.
    """

    def __init__(
        self,
        game: str,
        num_players: int | None = None,
        reward: str = "win",
        render_mode: str | None = None,
        max_cycles: int | None = None,
        **options: Any,
    ) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        if max_cycles is not None:
            max_cycles = whole_number("max_cycles", max_cycles, 1, 10**9)
        self.game = Game(game, num_players, **options)
        self.metadata = {
            "name": f"{game}_v0",
            "render_modes": list(RENDER_MODES),
            "render_fps": 4,
            "is_parallelizable": False,
        }
        self.render_mode = render_mode
        self.max_cycles = max_cycles
        self.possible_agents = [f"player_{seat}" for seat in range(self.game.num_players)]
        self.agents: list[str] = []
        self.agent_selection = self.possible_agents[0]
        self._renderer = Renderer(self.game, render_mode, fps=4)
        self._seats = {agent: seat for seat, agent in enumerate(self.possible_agents)}
        box = observation_box(self.game.observation_size)
        self.observation_spaces: dict[str, spaces.Space[Any]] = {
            agent: spaces.Dict(
                observation=spaces.Box(0.0, 1.0, box.shape, np.float32),
                action_mask=spaces.Box(0, 1, (self.game.num_actions,), np.int8),
            )
            for agent in self.possible_agents
        }
        self.action_spaces: dict[str, spaces.Space[Any]] = {
            agent: spaces.Discrete(self.game.num_actions) for agent in self.possible_agents
        }
        self._score_scale = self.game.scale_of(reward)
        self._states = self.game.start([0])
        self._paid = np.zeros((1, self.game.num_players))
        self._base: int | None = None
        self._episode = 0
        self._rewards_stand = False  # whether `rewards` holds anything but zeros

    def __repr__(self) -> str:
        return f"{self.metadata['name']}"

    def observation_space(self, agent: str) -> spaces.Space[Any]:
        return self.observation_spaces[agent]

    def action_space(self, agent: str) -> spaces.Space[Any]:
        return self.action_spaces[agent]

    @property
    def game_state(self) -> np.record:
        """The game's state, one record. It belongs to the environment: read it, don't change it."""
        state: np.record = self._states[0]
        return state

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> None:
        """Begin the next game: the first of a new stream if `seed` is given, else the next of the current stream.

        The option `first_player` is the seat that begins; other keys are ignored. The infos hold what the game reports
        about its opening.

        Raises:
            OptionError: the seed or `first_player` is out of range.
        """
        first_player = first_player_of(options, self.game)
        if seed is not None:
            self._base, self._episode = check_seed(seed), 0
        elif self._base is None:
            self._base = int(seeding.np_random()[0].integers(2**63))
        game_seed = np.empty(1, np.uint64)
        derive_many(np.array([self._base], np.uint64), np.array([self._episode]), FOR_GAME_SEED, 0, game_seed)
        self._episode += 1
        self.game.restart(self._states, np.zeros(1, np.int64), game_seed, np.array([first_player]))
        self._rewards_stand = False
        self.agents = self.possible_agents[:]
        self.rewards = dict.fromkeys(self.agents, 0.0)
        self._cumulative_rewards = dict.fromkeys(self.agents, 0.0)
        self.terminations = dict.fromkeys(self.agents, False)
        self.truncations = dict.fromkeys(self.agents, False)
        self.infos = {agent: self.game.opening(self.game_state) for agent in self.agents}
        self.agent_selection = self.possible_agents[self.game_state.mover]
        if self.render_mode == "human":
            self._renderer.render(self.game_state)

    def agent_iter(self, max_iter: int = 2**63) -> AECIterable[str, Observation, int | None]:
        """Return an iterable over the agents in the order in which they are to step.

        Raises:
            NotResetError: before the first `reset`.
        """
        if self._base is None:
            raise NotResetError("call reset() before agent_iter()")
        return super().agent_iter(max_iter)

    def last(self, observe: bool = True) -> tuple[Observation | None, float, bool, bool, dict[str, Any]]:
        if not self.agents:
            raise NotResetError("call reset() before last(): there is no game in progress")
        return super().last(observe)

    def observe(self, agent: str) -> Observation:
        if self._base is None:
            raise NotResetError("call reset() before observe()")
        game = self.game
        observation = np.empty(game.observation_size, np.float32)
        mask = np.empty(game.num_actions, np.int8)
        game.loops.observe_one(plain(self._states), self._seats[agent], game.tables, observation, mask)
        return {"observation": observation, "action_mask": mask}

    def step(self, action: Any) -> None:
        """Take the action of `agent_selection`; None, and nothing else, for an agent whose game has ended.

        Raises:
            NotResetError: before `reset`, or after the game.
            IllegalActionError: the action is not legal; nothing has changed.
        """
        if not self.agents:
            raise NotResetError("call reset() before step(): there is no game in progress")
        agent = self.agent_selection
        if self.terminations[agent] or self.truncations[agent]:
            if action is not None:
                raise IllegalActionError(f"the action of {agent} must be None, as its game has ended, got {action!r}")
            self._leave(agent)
            return
        self._cumulative_rewards[agent], already = 0.0, self._cumulative_rewards[agent]
        try:
            outcome = self._act(action)
        except IllegalActionError:
            self._cumulative_rewards[agent] = already
            raise
        if outcome & _CHANGED or self._rewards_stand:
            self._pay()
            self._rewards_stand = bool(outcome & _CHANGED)
        self.agent_selection = self.possible_agents[outcome & ~_CHANGED]
        if outcome & _CHANGED or self.max_cycles is not None:
            self._note_endings()
        if self.render_mode == "human":
            self._renderer.render(self._states[0])

    def _act(self, action: Any) -> int:
        """Play a legal action on the state, and write its rewards to `_paid`; or raise and change nothing."""
        if type(action) is not int and type(action) is not np.int64:
            if np.ndim(action) != 0 or np.asarray(action).dtype.kind not in "iu":
                raise IllegalActionError(f"an action must be one whole number, got {action!r}")
            action = int(action)
        game = self.game
        outcome = -1
        if 0 <= action < game.num_actions:
            outcome = game.loops.advance_one(plain(self._states), action, game.tables, self._score_scale, self._paid)
        if outcome < 0:
            raise IllegalActionError(game.why_illegal(self._states[0], int(action)))
        return outcome

    def _pay(self) -> None:
        """Pay the rewards of the last action."""
        paid = self._paid[0].tolist()
        self._paid[:] = 0.0
        for agent in self.agents:
            self.rewards[agent] = payment = paid[self._seats[agent]]
            self._cumulative_rewards[agent] += payment

    def _note_endings(self) -> None:
        """Mark the agents whose game has just ended, and let them step first."""
        state = self._states[0]
        in_play = [seat for seat in range(self.game.num_players) if not state.finished[seat]]
        limit = self.max_cycles
        at_limit = limit is not None and all(int(state.turns[seat]) >= limit for seat in in_play)
        for agent in self.agents:
            if self.terminations[agent]:
                continue
            if self._seats[agent] in in_play:
                self.truncations[agent] = at_limit
            elif state.truncated:
                self.truncations[agent] = True
            else:
                self.terminations[agent] = True
        self._select()

    def _select(self) -> None:
        """Select the next agent to step: an agent whose game has ended, else the player to move."""
        for agent in self.agents:
            if self.terminations[agent] or self.truncations[agent]:
                self.agent_selection = agent
                return
        self.agent_selection = self.possible_agents[self._states[0].mover]

    def _leave(self, agent: str) -> None:
        """Remove an agent whose game has ended, and select the next agent to step."""
        self.agents.remove(agent)
        for mapping in (
            self.rewards,
            self._cumulative_rewards,
            self.terminations,
            self.truncations,
            self.infos,
        ):
            del mapping[agent]
        self.rewards = dict.fromkeys(self.agents, 0.0)
        self._rewards_stand = False
        if self.agents:
            self._select()

    def clone(self, seed: int | None = None) -> MultiAgentEnv:
        """Return a copy of the environment in mid-game, with the same future throws, or with others if `seed` is given.

        Raises:
            OptionError: the seed is not a whole number from 0 to 2^64 - 1.
        """
        copy = deepcopy(self)
        if seed is not None:
            copy._states = self.game.clone(copy._states, seed)
        return copy

    def render(self) -> Any:
        if self._base is None:
            raise NotResetError("call reset() before render()")
        return self._renderer.render(self.game_state)

    def close(self) -> None:
        self._renderer.close()


class Constructor(Protocol):
    """The type of `env` and `raw_env` in a game's versioned module."""

    def __call__(
        self,
        num_players: int | None = None,
        *,
        reward: str = "win",
        render_mode: str | None = None,
        max_cycles: int | None = None,
        **options: Any,
    ) -> MultiAgentEnv:
        """Return an environment of the game; the arguments are those of `MultiAgentEnv` after the first."""
        ...


def constructor(game: str) -> Constructor:
    """Return the `env` function of a game's versioned module."""

    def env(num_players: int | None = None, **kwargs: Any) -> MultiAgentEnv:
        return MultiAgentEnv(game, num_players, **kwargs)

    env.__doc__ = f"Return a `MultiAgentEnv` of {game}; the arguments are those of `MultiAgentEnv` after the first."
    return env
