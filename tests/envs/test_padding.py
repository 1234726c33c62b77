"""Tests of `ObservationPadder`, which pads observations for policies that play with several numbers of players."""

from __future__ import annotations

import numpy as np
import pytest

from tests.helpers import game_of, player_counts, positions
from trialea import GAMES, OptionError
from trialea.envs.padding import ObservationPadder

every_game = pytest.mark.parametrize("name", GAMES)


@every_game
def test_entries_keep_their_place_and_the_rest_is_zero(name: str) -> None:
    most = max(player_counts(name))
    names = game_of(name, most).observation_names()
    for players in player_counts(name):
        game = game_of(name, players)
        states, view = positions(game, 30), ObservationPadder(game, most)
        padded = view.observe(states)
        assert padded.shape == (30, view.size) and padded.dtype == np.float32
        assert view.size == len(names) + most
        shown = dict(zip(names, padded.T, strict=False))
        for entry, values in zip(game.observation_names(), game.observe(states).T, strict=True):
            assert np.array_equal(shown.pop(entry), values)
        assert not any(values.any() for values in shown.values())
        assert np.array_equal(padded[:, len(names) :], np.tile(np.arange(most) < players, (30, 1)))


@every_game
def test_padded_observation_is_seen_from_the_given_seats(name: str) -> None:
    game = game_of(name)
    states, seats = positions(game, 30), np.arange(30) % game.num_players
    padded = ObservationPadder(game, max(player_counts(name))).observe(states, seats)
    assert np.array_equal(
        np.sort(padded[:, : -max(player_counts(name))], axis=1)[:, -3:],
        np.sort(game.observe(states, seats), axis=1)[:, -3:],
    )


@every_game
def test_without_padding_the_observation_is_unchanged(name: str) -> None:
    game = game_of(name)
    states = positions(game, 30)
    assert ObservationPadder(game).size == game.observation_size
    assert np.array_equal(ObservationPadder(game).observe(states), game.observe(states))


@every_game
def test_fewer_seats_than_players_raise(name: str) -> None:
    most = max(player_counts(name))
    with pytest.raises(OptionError, match=f"at most {most - 1} players for this policy"):
        ObservationPadder(game_of(name, most), most - 1)
