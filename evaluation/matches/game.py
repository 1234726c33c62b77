"""Play one game between any agents and describe it line by line, as `trialea play` does."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from trialea.envs.agent import Agent
from trialea.envs.errors import OptionError
from trialea.envs.game import Game


def play_game(
    game: Game,
    seats: Sequence[Agent],
    seed: int = 0,
    show: Callable[[str], None] = print,
    first_player: int = 0,
) -> np.record:
    """Play one game to its end and describe each throw, action, score and ending.

    Args:
        game: the game.
        seats: the agent in each seat, in order.
        seed: the game's seed, from 0 to 2^64 - 1; the dice follow from it.
        show: called with each line of the description.
        first_player: the seat that begins.

    Returns:
        The state at the end, one record.

    Raises:
        OptionError: there isn't one agent for each seat.
        trialea.agents.human.GameQuit: a person at the terminal left the game.
    """
    if len(seats) != game.num_players:
        raise OptionError(f"seats must be {game.num_players} agents, one for each seat, got {len(seats)}")
    states = game.start([seed], first_player)
    state: np.record = states[0]
    names = [f"player_{seat} ({agent.name})" for seat, agent in enumerate(seats)]
    show(f"{game.name}: {', '.join(names)}. Seed {seed}; player_{state.mover} begins.")
    while not state.over:
        mover, before = int(state.mover), state.copy()
        number = f", throw {state.throws}" if state.throws else ""
        lying = f"{names[mover]}{number}: {game.words.throw_name(game, state)}"
        actions = seats[mover].act(states)
        show(f"{lying}  ->  {game.action_name(state, int(actions[0]))}")
        game.step(states, actions)
        for seat, name in enumerate(names):
            gained = int(state.scores[seat]) - int(before.scores[seat])
            if gained or (seat == mover and state.turns[seat] != before.turns[seat]):
                show(f"    {name} scores {gained}, in all {state.scores[seat]}")
            if state.finished[seat] and not before.finished[seat] and not state.over:
                show(f"    {name} is out")
    _tell_end(state, names, show)
    return state


def _tell_end(state: Any, names: Sequence[str], show: Callable[[str], None]) -> None:
    """Show the winners and all scores."""
    winners = [name for seat, name in enumerate(names) if state.share[seat] > 0]
    if len(winners) == 1:
        show(f"{winners[0]} wins.")
    else:
        show(f"{' and '.join(winners)} share the win." if winners else "Nobody wins.")
    show("Scores: " + ", ".join(f"{name} {state.scores[seat]}" for seat, name in enumerate(names)))
