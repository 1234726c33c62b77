"""The generic batched environment: many games in one compiled engine, as a Gymnasium `VectorEnv`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from gymnasium.spaces import Discrete
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space
from numpy.typing import NDArray

from trialea.envs.errors import NotResetError, OptionError, whole_number
from trialea.envs.game import Game
from trialea.envs.learner import LearnerBatch, Seat, first_player_of
from trialea.envs.opponents import OpponentsLike
from trialea.envs.spaces import LegalMultiDiscrete, observation_box

Array = NDArray[Any]


def _autoreset_mode(given: AutoresetMode | str) -> AutoresetMode:
    try:
        return AutoresetMode(given)
    except ValueError:
        known = ", ".join(repr(mode.value) for mode in AutoresetMode)
        raise OptionError(f"autoreset_mode must be one of {known}, not {given!r}") from None


class BatchedEnv(VectorEnv[Array, Array, Array]):
    """B copies of `SingleAgentEnv` in one compiled batch, equal to B single ones with the same seeds, step for step.

    `infos["action_mask"]` (B, A) int8 holds the legal actions; `action_masks()` gives them at any time.

    Args:
        game: registered name of the game.
        num_envs: B.
        num_players, opponents, seat, reward: as for `SingleAgentEnv`.
        render_mode: `None` or `"ansi"`; `render()` then gives the B texts.
        autoreset_mode: `AutoresetMode.NEXT_STEP` (default), `SAME_STEP` (with `infos["final_obs"]` and
            `infos["final_info"]`) or `DISABLED` (with the reset option `reset_mask`).
        **options: the game's options.
    """

    def __init__(
        self,
        game: str,
        num_envs: int = 1,
        num_players: int | None = None,
        opponents: OpponentsLike = "random",
        seat: Seat = "random",
        reward: str = "win",
        render_mode: str | None = None,
        autoreset_mode: AutoresetMode | str = AutoresetMode.NEXT_STEP,
        **options: Any,
    ) -> None:
        num_envs = whole_number("num_envs", num_envs, 1, 2**31 - 1)
        if render_mode not in (None, "ansi"):
            raise OptionError(f"the batched environment renders as 'ansi' or not at all, not as {render_mode!r}")
        self.game = Game(game, num_players, **options)
        self.num_envs = num_envs
        self.render_mode = render_mode
        self.autoreset_mode = _autoreset_mode(autoreset_mode)
        self.metadata = {"render_modes": ["ansi"], "autoreset_mode": self.autoreset_mode}
        self.single_observation_space = observation_box(self.game.observation_size)
        self.single_action_space = Discrete(self.game.num_actions)
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.games = LearnerBatch(self.game, num_envs, opponents, seat, reward)
        self.action_space = self._legal_space()
        self._ended = np.zeros(num_envs, np.bool_)
        self._started = False

    def _legal_space(self) -> LegalMultiDiscrete:
        return LegalMultiDiscrete(np.full(self.num_envs, self.game.num_actions), self.action_masks)

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        generator = self.action_space._np_random
        self.action_space = self._legal_space()
        self.action_space._np_random = generator

    def reset(
        self,
        *,
        seed: int | Sequence[int | None] | None = None,
        options: dict[str, Any] | None = None,
    ) -> tuple[Array, dict[str, Any]]:
        """Begin an episode in every game, or in those that the option `reset_mask` (B,) bool picks.

        Args:
            seed: one number s, for game i to take s + i; or B numbers or None; None to go on with the streams.
            options: `first_player`, `reset_mask`; other keys are ignored.
        """
        first_player = first_player_of(options, self.game)
        index = np.arange(self.num_envs)
        if options and "reset_mask" in options:
            index = np.flatnonzero(self._checked_mask(options["reset_mask"]))
        self._seed(seed, index)
        self.games.start(index, first_player)
        self._ended[index] = False
        self._started = True
        return self.games.observe(), self._infos(index)

    def _checked_mask(self, mask: Any) -> NDArray[np.bool_]:
        array = np.asarray(mask)
        if array.shape != (self.num_envs,) or array.dtype != np.bool_ or not array.any():
            raise OptionError(f"reset_mask must be ({self.num_envs},) bool with at least one True")
        if not self._started and not array.all():
            raise NotResetError("the first reset must be of every game: leave reset_mask out")
        return array

    def _seed(self, seed: int | Sequence[int | None] | None, index: NDArray[np.int64]) -> None:
        if isinstance(seed, (int, np.integer)):
            seed = [int(seed) + i for i in range(self.num_envs)]
        elif seed is None:
            if self._started:
                return
            seed = [None] * self.num_envs
        if len(seed) != self.num_envs:
            raise OptionError(f"expected {self.num_envs} seeds, got {len(seed)}")
        for i in index:
            given = seed[i]
            if given is None and self._started:
                continue
            fresh = int(self.np_random.integers(2**63)) if given is None else given
            self.games.seed([fresh], np.array([i]))

    def step(self, actions: Any) -> tuple[Array, Array, Array, Array, dict[str, Any]]:
        """Take one action in each game.

        In NEXT_STEP mode a game that ended in the step before begins its next episode, whatever its action.
        """
        if not self._started:
            raise NotResetError("call reset() before step()")
        chosen = np.asarray(actions)
        index = np.flatnonzero(~self._ended)
        if self.autoreset_mode is AutoresetMode.DISABLED and len(index) < self.num_envs:
            raise NotResetError("a game has ended: reset it with the option reset_mask before the next step")
        rewards, terminated, truncated = self.games.step(self.game.as_actions(chosen, self.num_envs)[index], index)
        rewards[self._ended] = 0.0
        over = np.flatnonzero(self._ended)
        terminated[over] = truncated[over] = False
        infos: dict[str, Any] = {}
        begun = over
        if self.autoreset_mode is AutoresetMode.NEXT_STEP:
            if len(over):
                self.games.start(over)
            self._ended = terminated | truncated
        else:
            ending = np.flatnonzero(terminated | truncated)
            if self.autoreset_mode is AutoresetMode.DISABLED:
                self._ended = terminated | truncated
            elif len(ending):
                infos = self._final_infos(ending)
                self.games.start(ending)
                begun = ending
        return self.games.observe(), rewards, terminated, truncated, {**infos, **self._infos(begun)}

    def _final_infos(self, ending: NDArray[np.int64]) -> dict[str, Any]:
        """What Gymnasium puts beside a same-step reset: the last observation and info of the games that ended."""
        picked = np.zeros(self.num_envs, np.bool_)
        picked[ending] = True
        observations = self.games.observe()
        final = np.full(self.num_envs, None, dtype=object)
        for i in ending:
            final[i] = observations[i]
        masks = np.zeros((self.num_envs, self.game.num_actions), np.int8)
        final_info = {"action_mask": masks, "_action_mask": picked.copy()}
        return {
            "final_obs": final,
            "_final_obs": picked,
            "final_info": final_info,
            "_final_info": picked.copy(),
        }

    def _infos(self, begun: Array) -> dict[str, Any]:
        """The masks, and what the games that have just `begun` report of their opening."""
        infos: dict[str, Any] = {"action_mask": self.action_masks(), "_action_mask": np.ones(self.num_envs, np.bool_)}
        for i in begun:
            infos = self._add_info(infos, self.game.opening(self.games.states[i]), int(i))
        return infos

    def action_masks(self) -> NDArray[np.int8]:
        """The learners' legal actions, (B, A) int8; all zero where a game has ended."""
        return self.games.masks()

    def render(self) -> tuple[str, ...] | None:
        if self.render_mode is None:
            return None
        if not self._started:
            raise NotResetError("call reset() before render()")
        return tuple(self.game.text(state) for state in self.games.states)
