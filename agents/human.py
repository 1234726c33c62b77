"""The agent `human`, which asks a person at the terminal.

This file has the parts that all games share: the prompt, numbered choices, hints, help, leaving. A game's own commands
are in its module `trialea.envs.<game>.names`:

| function | result |
| --- | --- |
| `how_to(game, state)` | lines of help for the commands that make sense now |
| `parse_action(game, state, line)` | the action that a typed line means; None if it is not a command |
| `menu(game, state)` | groups of legal actions with the same effect, to be picked by number |
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trialea.agents.solving import solve
from trialea.envs.errors import IllegalActionError, TrialeaError
from trialea.envs.game import Game, States

_NUM_HINTS = 5
_NO_LIST = "There is nothing to pick by number here."


class GameQuit(TrialeaError):
    """The person at the terminal has left the game."""


class HumanAgent:
    """An agent that asks a person for every action.

    Args:
        game: the game that is played.
        seed: not used; it is there because every agent takes a seed.
        hints: whether to show the exact values of the best actions.
        ask: shows a prompt and returns the line that the person types.
        show: shows a text on separate lines.
    """

    name = "human"

    def __init__(
        self,
        game: Game,
        seed: int = 0,
        *,
        hints: bool = False,
        ask: Callable[[str], str] = input,
        show: Callable[[str], None] = print,
    ) -> None:
        self.game = game
        self.hints = hints
        self._ask = ask
        self._show = show
        self._words = game.words
        self._solution: Any = None
        self._unsolved = ""  # why there are no hints

    def act(self, states: States) -> NDArray[np.int64]:
        """Return the action (B,) that the person chooses in each of the (B,) states, one after the other.

        Raises:
            GameQuit: the person typed `q`, ended the input or pressed Ctrl-C.
        """
        return np.array([self._ask_in(states[i : i + 1].view(np.recarray)) for i in range(len(states))], np.int64)

    def _ask_in(self, single: States) -> int:
        """Ask until the answer is a legal action in the one state of `single`."""
        state = single[0]
        self._show("\n" + self.game.text(state))
        self._show_choices(single)
        while True:
            try:
                line = self._ask(f"player_{state.mover}> ").strip()
            except (EOFError, KeyboardInterrupt):
                self._show("")
                raise GameQuit("the game was left") from None
            try:
                action = self._answer(single, line)
                if action is not None:
                    self.game.check_legal(single, np.array([action]), np.zeros(1, np.int64))
                    return action
            except IllegalActionError as error:
                self._show(f"That cannot be played: {error}")

    def _answer(self, single: States, line: str) -> int | None:
        """Return the action that a line means. If it is a command instead, obey it and return None."""
        word = line.lower()
        if word in ("q", "quit", "exit"):
            raise GameQuit("the game was left")
        if word in ("h", "help", "?"):
            self._show_help(single)
        elif word == "" and self._words.parse_action(self.game, single[0], "") is None:
            self._show_choices(single)
        elif word == "all":
            self._show_all(single)
        elif word == "hints":
            self.hints = not self.hints
            if self.hints:
                self._show_hints(single)
            else:
                self._show("Hints are off.")
        elif re.fullmatch(r"#\s*[0-9]{1,6}", word):
            return int(word[1:])
        elif re.fullmatch(r"[0-9]{1,6}", word):
            groups = self._words.menu(self.game, single[0])
            if 1 <= int(word) <= len(groups):
                return int(groups[int(word) - 1][0])
            extent = f"There is no choice {word}: the list goes from 1 to {len(groups)}."
            self._show(extent if groups else _NO_LIST)
        else:
            action: int | None = self._words.parse_action(self.game, single[0], line)
            if action is None:
                self._show(f"{line!r} means nothing here; h shows what you can type.")
            return action
        return None

    def _show_choices(self, single: States) -> None:
        """Show the game's own commands, and the menu with one line for each group."""
        game, state = self.game, single[0]
        groups = self._words.menu(game, state)
        lines = [f"  {line}" for line in self._words.how_to(game, state)]
        for number, group in enumerate(groups, 1):
            others = len({game.action_name(state, action) for action in group}) - 1
            more = f"   (or {others} other{'s' * (others > 1)} like it)" if others else ""
            lines.append(f"  {number:<5}   {game.action_name(state, group[0])}{more}")
        lines += [] if groups else [f"  {_NO_LIST}"]
        self._show("\n".join(lines))
        if self.hints:
            self._show_hints(single)

    def _show_all(self, single: States) -> None:
        """Show every action of every group of the menu, with its index in the action space."""
        groups = self._words.menu(self.game, single[0])
        actions = [action for group in groups for action in group]
        lines = [f"  #{action:<5}  {self.game.action_name(single[0], action)}" for action in actions]
        self._show("\n".join(lines) if lines else f"  {_NO_LIST}")

    def _show_help(self, single: States) -> None:
        self._show_choices(single)
        self._show(
            "  a number picks from the list\n"
            "  all     show everything that the list stands for; # with the number shown plays it\n"
            f"  hints   turn hints {'off' if self.hints else 'on'}: the exact values of the best actions\n"
            "  h or ?  this help\n"
            "  q       leave the game"
        )

    def _show_hints(self, single: States) -> None:
        """Show the best actions with their exact values, one action for each value."""
        values = self._values(single)
        if values is None:
            self._show(f"There are no hints: {self._unsolved}.")
            return
        from_menu = [group[0] for group in self._words.menu(self.game, single[0])]
        shown: dict[float, int] = {}
        for action in [*from_menu, *np.flatnonzero(~np.isnan(values)).tolist()]:
            shown.setdefault(round(float(values[action]), 9), action)
        lines = [
            f"  {value:8.5f}  {self.game.action_name(single[0], action)}"
            for value, action in sorted(shown.items(), reverse=True)[:_NUM_HINTS]
        ]
        self._show("\n".join(["Best, with the exact value of each:", *lines]))

    def _values(self, single: States) -> NDArray[np.float64] | None:
        """Return the exact value (A,) of every action, NaN where it is illegal; None if the game is not solved."""
        if self._solution is None and not self._unsolved:
            self._show("Looking up the exact solution, which may take a moment the first time.")
            try:
                self._solution = solve(self.game)
            except TrialeaError as error:
                self._unsolved = str(error)
        if self._solution is None:
            return None
        values: NDArray[np.float64] = self._solution.action_values(single)[0]
        return values
