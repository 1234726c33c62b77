"""Tests of schedules: who plays whom in which seats, and that all agents are treated equally."""

from __future__ import annotations

from itertools import combinations
from math import comb

import numpy as np
import pytest

from trialea.envs.errors import OptionError
from trialea.evaluation.matches.schedule import balanced_tables, make_schedule, make_seatings, rotations


def meetings(tables: np.ndarray, agents: int) -> np.ndarray:
    """Return how often each two agents meet."""
    met = np.zeros((agents, agents), int)
    for table in tables.tolist():
        for a, b in combinations(table, 2):
            met[a, b] += 1
    return met[np.triu_indices(agents, 1)]


@pytest.mark.parametrize(("agents", "seats", "least"), [(7, 3, 7), (9, 2, 9), (10, 4, 30), (13, 6, 20), (40, 6, 200)])
def test_balanced_tables_are_fair_and_let_all_agents_meet(agents: int, seats: int, least: int) -> None:
    tables = balanced_tables(agents, seats, least)
    assert len(tables) >= least
    assert len({tuple(sorted(table)) for table in tables.tolist()}) == len(tables)
    assert all(len(set(table)) == seats for table in tables.tolist())
    assert len(set(np.bincount(tables.ravel(), minlength=agents).tolist())) == 1
    met = meetings(tables, agents)
    assert met.min() >= 1
    assert met.max() - met.min() <= max(2, met.mean())
    assert (tables == balanced_tables(agents, seats, least)).all()


def test_seven_agents_at_seven_tables_of_three_meet_once_each() -> None:
    """The tables are then the lines of the Fano plane."""
    assert meetings(balanced_tables(7, 3, 7), 7).tolist() == [1] * 21


@pytest.mark.parametrize("least", [35, 36, 1000])
def test_all_tables_play_when_that_many_are_requested(least: int) -> None:
    assert len(balanced_tables(7, 3, least)) == comb(7, 3)
    assert len(balanced_tables(4, 2, 6)) == 6


def test_rotations_put_each_agent_of_a_table_in_each_seat() -> None:
    seatings = rotations(np.array([[0, 2, 5], [1, 3, 4]]))
    assert seatings.tolist() == [[0, 2, 5], [2, 5, 0], [5, 0, 2], [1, 3, 4], [3, 4, 1], [4, 1, 3]]
    assert (make_seatings(6, 3)[:3] == [[0, 1, 2], [1, 2, 0], [2, 0, 1]]).all()


@pytest.mark.parametrize("duplicate", [True, False])
def test_dice_of_a_game_depend_only_on_its_number(duplicate: bool) -> None:
    schedule = make_schedule(make_seatings(3, 2), 20, 5, duplicate)
    every = np.arange(schedule.games)
    assert schedule.games == 24
    assert schedule.num_units == (4 if duplicate else 24)
    seeds = schedule.seeds(every)
    assert len(np.unique(seeds)) == schedule.num_units
    assert (schedule.seeds(every[10:13]) == seeds[10:13]).all()
    assert (schedule.units(every[10:13]) == schedule.units(every)[10:13]).all()
    other = make_schedule(make_seatings(3, 2), 20, 6, duplicate)
    assert not set(other.seeds(every).tolist()) & set(seeds.tolist())


def test_too_many_tables_raise() -> None:
    with pytest.raises(OptionError, match="at most 1,000,000 tables, got 847,660,528 from 40 agents in 10 seats"):
        make_seatings(40, 10)
