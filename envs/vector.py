"""The batched environment of every game: many games in one compiled engine, as a Gymnasium `VectorEnv`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from gymnasium.spaces import Discrete
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space
from numpy.typing import NDArray

from trialea.envs.checks import check_seed, whole_number
from trialea.envs.errors import NotResetError, OptionError
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
        raise OptionError(f"autoreset_mode must be one of {known}, got {given!r}") from None


class BatchedEnv(VectorEnv[Array, Array, Array]):
    """B copies of `SingleAgentEnv` in one compiled batch. With the same seeds they behave the same, step for step.

    `infos["action_mask"]` (B, A) int8 marks the legal actions; `action_masks()` returns them at any time. The mask of a
    game that has ended is all zero. In NEXT_STEP mode the next `step` ignores the action there.

    Args:
        game: the registered name of the game.
        num_envs: B.
        num_players, opponents, seat, reward: as for `SingleAgentEnv`.
        render_mode: `None` or `"ansi"`; then `render()` returns the B texts.
        autoreset_mode: `AutoresetMode.NEXT_STEP` (default), `SAME_STEP` (with `infos["final_obs"]` and
            `infos["final_info"]`) or `DISABLED` (with the reset option `reset_mask`).
        **options: the game's options.

    Raises:
        TrialeaError: an argument is wrong; docs/environments.md lists the errors.
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
            raise OptionError(f"render_mode of a batch must be 'ansi' or None, got {render_mode!r}")
        self.game = Game(game, num_players, **options)
        self.num_envs = num_envs
        self.render_mode = render_mode
        self.autoreset_mode = _autoreset_mode(autoreset_mode)
        self.metadata = {"render_modes": ["ansi"], "autoreset_mode": self.autoreset_mode}
        self.single_observation_space = observation_box(self.game.observation_size)
        self.single_action_space = Discrete(self.game.num_actions)
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.games = LearnerBatch(self.game, num_envs, opponents, seat, reward)
        self._ended = np.zeros(num_envs, np.bool_)
        self.action_space = self._legal_space()
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
        """Begin an episode in every game, or in the games that the option `reset_mask` (B,) bool picks.

        Args:
            seed: one number s, so that game i gets s + i; or B entries, each a number, or None to continue the game's
                stream; or None to begin the next episode of every stream.
            options: `first_player`, `reset_mask`; other keys are ignored.

        Raises:
            OptionError: a seed or an option is out of range.
            NotResetError: the first reset leaves games out.
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
            raise OptionError(
                f"reset_mask must be ({self.num_envs},) bool with at least one True, got {array.shape} {array.dtype}"
            )
        if not self._started and not array.all():
            raise NotResetError("the first reset must be for every game: leave reset_mask out")
        return array

    def _seed(self, seed: int | Sequence[int | None] | None, index: NDArray[np.int64]) -> None:
        given: Any = seed
        seeds: Sequence[int | None]
        if given is None:
            seeds = [None] * self.num_envs
        elif isinstance(given, (Sequence, np.ndarray)) and not isinstance(given, str):
            seeds = list(given)
        else:
            first = check_seed(given)
            seeds = range(first, first + self.num_envs)
        if len(seeds) != self.num_envs:
            raise OptionError(f"seed must be one number or {self.num_envs}, one for each game, got {len(seeds)}")
        chosen: dict[int, int] = {}
        for i in index.tolist():
            one = seeds[i]
            if one is not None:
                chosen[i] = one
            elif not self._started:
                chosen[i] = int(self.np_random.integers(2**63))
        self.games.seed(list(chosen.values()), np.array(list(chosen), np.int64))

    def step(self, actions: Any) -> tuple[Array, Array, Array, Array, dict[str, Any]]:
        """Take one action in each game.

        In NEXT_STEP mode a game that ended in the step before ignores its action and begins its next episode.

        Raises:
            IllegalActionError: an action is not legal; no game has moved.
            NotResetError: before `reset`, or a game has ended in DISABLED mode.
            AgentError: an opponent failed; call `reset`.
        """
        if not self._started:
            raise NotResetError("call reset() before step()")
        index = np.flatnonzero(~self._ended)
        if self.autoreset_mode is AutoresetMode.DISABLED and len(index) < self.num_envs:
            raise NotResetError("a game has ended: reset it with the option reset_mask before the next step")
        rewards, terminated, truncated = self.games.step(self.game.as_actions(actions, self.num_envs)[index], index)
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
        """Return the last observations and infos of the games that ended, as Gymnasium asks of a same-step reset."""
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
        """Return the masks, and the info of the games that have just `begun`: skipped games, and their opening."""
        infos: dict[str, Any] = {"action_mask": self.action_masks(), "_action_mask": np.ones(self.num_envs, np.bool_)}
        if not len(begun):
            return infos
        picked = np.zeros(self.num_envs, np.bool_)
        picked[begun] = True
        infos["skipped_games"] = np.where(picked, self.games.skipped_games, 0)
        infos["skipped_reward"] = np.where(picked, self.games.skipped_rewards, 0.0)
        infos["_skipped_games"], infos["_skipped_reward"] = picked, picked.copy()
        for i in begun:
            report = self.game.opening(self.games.states[i])
            if not report:  # then it is empty for every game of the batch
                break
            infos = self._add_info(infos, report, int(i))
        return infos

    def action_masks(self) -> NDArray[np.int8]:
        """Return the learners' legal actions, (B, A) int8; all zero where a game has ended."""
        return self.games.masks()

    def render(self) -> tuple[str, ...] | None:
        if self.render_mode is None:
            return None
        if not self._started:
            raise NotResetError("call reset() before render()")
        return tuple(self.game.text(state) for state in self.games.states)
