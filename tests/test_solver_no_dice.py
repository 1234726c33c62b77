"""The exact solution of No Dice: against exact rationals, against play, and its table on disk."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import trialea
from tests.helpers import game_of, positions, run_python
from tests.oracle import no_dice as oracle
from trialea import OptionError
from trialea.agents import cache as table_cache
from trialea.agents.cache import DamagedTableWarning, cached_array, digest_of
from trialea.agents.no_dice import turn
from trialea.agents.no_dice.greedy import GreedyAgent
from trialea.agents.no_dice.solver import Solution, SolverAgent, compute, solve
from trialea.envs.game import Game, States
from trialea.envs.no_dice import rules

READINGS: tuple[oracle.Intermediates, ...] = ("any", "natural")


@cache
def solved(**options: Any) -> Solution:
    """A solution worked out here, not read from the disk."""
    game = game_of("no_dice", 2, **options)
    values, facts = compute(game)
    return Solution(game, values, facts["residual"], facts["seconds"])


# --- Against exact rationals -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("target", "throws", "reading"),
    [
        (2, 1, "any"),
        (2, 2, "any"),
        (2, 2, "natural"),
        (3, 1, "any"),
        (3, 2, "any"),
        pytest.param(2, 3, "any", marks=pytest.mark.slow),
        pytest.param(3, 3, "any", marks=pytest.mark.slow),
        pytest.param(5, 3, "natural", marks=pytest.mark.slow),
    ],
)
def test_values_are_the_exact_rationals(target: int, throws: int, reading: oracle.Intermediates) -> None:
    solution = solved(target=target, throws=throws, intermediates=reading)
    exact = oracle.solve_two_players(target, throws, reading)
    assert len(exact) == target * target
    for (mover, other), value in exact.items():
        assert solution.value(mover, other) == pytest.approx(float(value), abs=1e-12)


@pytest.mark.parametrize("reading", READINGS)
@pytest.mark.parametrize("throws", [1, 2, 3, 5])
def test_least_expected_scores_are_exact(throws: int, reading: oracle.Intermediates) -> None:
    exact = -oracle.turn_value(lambda score: Fraction(-score), throws, reading)
    assert turn.least_expected_score(throws, reading) == pytest.approx(float(exact), abs=1e-12)


def test_the_published_least_expected_score_of_three_throws() -> None:
    assert round(turn.least_expected_score(3), 4) == 1.2536


@pytest.mark.parametrize("payoff", [lambda s: float(s == 0), lambda s: 1 / (1 + s), lambda s: float(s % 3)])
def test_a_turn_is_solved_exactly_for_any_payoff(payoff: Callable[[int], float]) -> None:
    payoffs = np.array([payoff(score) for score in range(turn.MAX_SCORE + 1)])
    exact = oracle.turn_value(lambda score: Fraction(payoffs[score]), 2)
    assert turn.turn_value(payoffs, 2, turn.make_turn("any")) == pytest.approx(float(exact), abs=1e-12)


def test_no_score_is_beyond_the_payoffs() -> None:
    for reading in READINGS:
        scores = rules.tables(rules.Options(intermediates=reading)).scores
        assert scores[scores != rules.ILLEGAL].max() <= turn.MAX_SCORE


# --- Consistent with itself ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"throws": 1},
        {"throws": 2},
        {"throws": 4},
        {"throws": 5, "intermediates": "natural"},
        {"target": 1},
        pytest.param({"target": 100}, marks=pytest.mark.slow),
    ],
    ids=str,
)
def test_the_bellman_error_is_below_1e_12(options: dict[str, Any]) -> None:
    solution = solved(**options)
    assert solution.residual < 1e-12
    assert np.isfinite(solution.values).all()
    assert ((solution.values > 0) & (solution.values < 1)).all()


def test_more_points_are_never_better_and_the_others_never_worse() -> None:
    values = solved().values
    assert (np.diff(values, axis=0) <= 1e-12).all()
    assert (np.diff(values, axis=1) >= -1e-12).all()


def on_the_table(game: Game, throws: int, mover: int, totals: tuple[int, int]) -> States:
    """All 7,776 throws, the mover having `totals[0]` and the other `totals[1]`."""
    states = game.start(np.zeros(rules.NUM_OUTCOMES), first_player=mover)
    states.dice = [rules.outcome_faces(outcome) for outcome in range(rules.NUM_OUTCOMES)]
    states.throws = throws
    states.scores[:, mover], states.scores[:, 1 - mover] = totals
    return states


@pytest.mark.parametrize("totals", [(0, 0), (12, 25), (29, 3)])
@pytest.mark.parametrize("mover", [0, 1])
def test_the_best_actions_after_the_first_throw_are_worth_the_position(mover: int, totals: tuple[int, int]) -> None:
    solution = solved()
    states = on_the_table(solution.game, 1, mover, totals)
    best = np.nanmax(solution.action_values(states), axis=1)
    assert best.mean() == pytest.approx(solution.value(*totals), abs=1e-12)


def test_each_action_is_worth_what_follows_it() -> None:
    """Stopping: what the other player then has. Throwing again: the mean over `chance_outcomes` of the best."""
    solution = solved()
    game = solution.game
    states = positions(game, 60, seed=1)
    values = solution.action_values(states)
    assert (np.isfinite(values) == (game.masks(states) != 0)).all()
    rng = np.random.default_rng(0)
    for i in range(len(states)):
        actions = np.flatnonzero(np.isfinite(values[i]))
        for action in {*rng.choice(actions, 2).tolist(), actions[-1]}:
            after = game.choose(states[i : i + 1], [action])
            mover, other = int(states.mover[i]), 1 - int(states.mover[i])
            if after.over[0]:
                expected = float(after.share[0, mover])
            elif after.mover[0] != mover:
                expected = 1 - solution.value(int(after.scores[0, other]), int(after.scores[0, mover]))
            else:
                outcomes, chances = zip(*game.chance_outcomes(after[0]), strict=True)
                best = np.nanmax(solution.action_values(np.concatenate(outcomes).view(np.recarray)), axis=1)
                expected = float(best @ np.array(chances))
            assert values[i, action] == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("options", [{}, {"throws": 2, "intermediates": "natural", "target": 12}], ids=str)
def test_the_solver_plays_a_best_action_everywhere(options: dict[str, Any]) -> None:
    agent = SolverAgent(game_of("no_dice", 2, **options))
    states = positions(agent.solution.game, 3000, seed=2)
    values = agent.solution.action_values(states)
    chosen = values[np.arange(len(states)), agent.act(states)]
    assert (chosen >= np.nanmax(values, axis=1) - 1e-11).all()


def test_the_solver_answers_a_batch_as_it_answers_one() -> None:
    game = game_of("no_dice")
    states = positions(game, 50, seed=3)
    together = SolverAgent(game).act(states)
    agent = SolverAgent(game)
    assert together.tolist() == [int(agent.act(states[i : i + 1])[0]) for i in range(len(states))]


# --- Against play ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("reading", READINGS)
@pytest.mark.parametrize("throws", [1, 2, 3])
def test_greedy_scores_what_it_should_in_a_turn(throws: int, reading: oracle.Intermediates) -> None:
    game = game_of("no_dice", 2, throws=throws, intermediates=reading, target=1000)
    agent = GreedyAgent(game)
    states = game.start(range(100_000))
    while True:
        playing = np.flatnonzero(states.turns[:, 0] == 0)
        if not len(playing):
            break
        game.step(states, agent.act(states[playing]), playing)
    scores = states.scores[:, 0]
    error = scores.std() / len(scores) ** 0.5
    assert abs(scores.mean() - turn.least_expected_score(throws, reading)) < 4.5 * error


def test_the_solver_wins_against_itself_as_often_as_it_says() -> None:
    game = game_of("no_dice")
    agent = SolverAgent(game)
    states = game.start(range(20_000))
    playing = np.arange(len(states))
    while len(playing):
        game.step(states, agent.act(states[playing]), playing)
        playing = playing[states.over[playing] == 0]
    expected = agent.solution.value(0, 0)
    error = (expected * (1 - expected) / len(states)) ** 0.5
    assert abs(states.share[:, 0].mean() - expected) < 4.5 * error


# --- What can be asked -----------------------------------------------------------------------------------


def test_what_cannot_be_solved_is_refused() -> None:
    with pytest.raises(OptionError, match="2 players"):
        solve(game_of("no_dice", 3))
    with pytest.raises(OptionError, match="up to 100"):
        solve(game_of("no_dice", 2, target=101))
    for totals in ((-1, 0), (0, 30), (30, 0)):
        with pytest.raises(OptionError, match="from 0 to 29"):
            solved().value(*totals)


def test_progress_rises_to_one() -> None:
    shares: list[float] = []
    compute(game_of("no_dice", 2, target=4), shares.append)
    assert shares == sorted(shares)
    assert shares[-1] == 1


def test_the_summary_has_the_documented_keys() -> None:
    summary = solved().summary()
    assert list(summary) == [
        *("game", "players", "options", "value", "residual", "seconds", "table_sha256", "turn_score")
    ]
    assert sum(summary["value"]) == 1
    assert summary["table_sha256"] == digest_of(solved().values)
    assert list(summary["turn_score"]) == ["1", "2", "3"]


# --- The table on disk -----------------------------------------------------------------------------------

SMALL = {"target": 4, "throws": 2}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.setenv("TRIALEA_CACHE_DIR", str(tmp_path / "tables"))
    yield tmp_path / "tables"


def small() -> Solution:
    return solve(trialea.make_game("no_dice", 2, **SMALL))


def test_a_table_is_kept_and_read(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = small()
    [file] = folder.iterdir()
    monkeypatch.setattr("trialea.agents.no_dice.solver.compute", None)
    again = small()
    assert again.values.tobytes() == first.values.tobytes()
    assert (again.residual, again.seconds) == (first.residual, first.seconds)
    assert file.suffix == ".npz"


def test_other_options_have_other_tables(folder: Path) -> None:
    for options in (
        SMALL,
        {**SMALL, "throws": 1},
        {**SMALL, "target": 3},
        {**SMALL, "intermediates": "natural"},
    ):
        solution = solve(trialea.make_game("no_dice", 2, **options))
        assert solution.values.shape == (options["target"],) * 2
    assert len(list(folder.iterdir())) == 4


def _flip(content: bytes, place: int) -> bytes:
    return content[:place] + bytes([content[place] ^ 1]) + content[place + 1 :]


DAMAGES: dict[str, Callable[[bytes], bytes]] = {
    "emptied": lambda content: b"",
    "cut": lambda content: content[: len(content) // 2],
    "a value's bit flipped": lambda content: _flip(content, 200),
    "a late bit flipped": lambda content: _flip(content, len(content) - 30),
    "text": lambda content: b"not a table",
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_table_is_rebuilt_with_a_warning(folder: Path, damage: str) -> None:
    first = small()
    [file] = folder.iterdir()
    file.write_bytes(DAMAGES[damage](file.read_bytes()))
    with pytest.warns(DamagedTableWarning, match="is damaged .*computing it again"):
        assert small().values.tobytes() == first.values.tobytes()
    assert small().values.tobytes() == first.values.tobytes()  # without a warning: it is whole again
    assert list(folder.iterdir()) == [file]


def test_a_table_whose_values_do_not_match_its_digest_is_damaged(folder: Path) -> None:
    """The file itself is sound."""
    first = small()
    [file] = folder.iterdir()
    with np.load(file) as stored:
        np.savez(file, array=stored["array"] + 1e-9, header=stored["header"])
    with pytest.warns(DamagedTableWarning, match="digest"):
        assert small().values.tobytes() == first.values.tobytes()


def test_a_table_of_something_else_is_damaged(folder: Path) -> None:
    first = small()
    [file] = folder.iterdir()
    solve(trialea.make_game("no_dice", 2, target=5, throws=2))
    [other] = set(folder.iterdir()) - {file}
    file.write_bytes(other.read_bytes())
    with pytest.warns(DamagedTableWarning, match="something else"):
        assert small().values.tobytes() == first.values.tobytes()


def test_a_table_is_written_whole_or_not_at_all(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def disk_full(file: Any, **arrays: Any) -> None:
        file.write(b"half of it")
        raise OSError("no space left on device")

    monkeypatch.setattr(np, "savez", disk_full)
    assert small().residual < 1e-12
    assert list(folder.iterdir()) == []


def test_a_table_appears_by_a_rename(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Until it is complete there is nothing under its name."""
    seen: list[list[str]] = []
    savez = np.savez

    def watched(file: Any, **arrays: Any) -> None:
        savez(file, **arrays)
        seen.append([path.suffix for path in folder.iterdir()])

    monkeypatch.setattr(np, "savez", watched)
    small()
    assert seen == [[".tmp"]]
    assert [path.suffix for path in folder.iterdir()] == [".npz"]


def test_interrupted_writing_leaves_nothing_behind(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(file: Any, **arrays: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(np, "savez", interrupted)
    with pytest.raises(KeyboardInterrupt):
        small()
    assert list(folder.iterdir()) == []


def test_a_folder_that_cannot_be_made_is_done_without(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a_file").touch()
    monkeypatch.setenv("TRIALEA_CACHE_DIR", str(tmp_path / "a_file" / "tables"))
    assert small().residual < 1e-12
    assert [path.name for path in tmp_path.iterdir()] == ["a_file"]


def test_a_table_that_may_not_be_read_is_done_without(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Somebody else's folder: that is no damage, so there is no warning."""
    first = small()

    def forbidden(*_: Any, **__: Any) -> None:
        raise PermissionError(13, "Permission denied")

    for look in ("open", "exists", "stat"):
        monkeypatch.setattr(Path, look, forbidden)
    assert small().values.tobytes() == first.values.tobytes()


CACHE_USER = """
import trialea
from trialea.agents.no_dice.solver import solve
print(solve(trialea.make_game("no_dice", 2, target=4, throws=2)).summary()["table_sha256"])
"""


def test_two_processes_may_solve_at_once(folder: Path) -> None:
    with ThreadPoolExecutor(2) as threads:
        printed = set(threads.map(lambda _: run_python(CACHE_USER), range(2)))
    assert printed == {small().summary()["table_sha256"] + "\n"}
    assert [path.suffix for path in folder.iterdir()] == [".npz"]


WRITER = """
import numpy as np
from trialea.agents.cache import cache_folder, cached_array
for _ in range(100):
    for path in cache_folder().iterdir():
        path.unlink(missing_ok=True)
    cached_array({"table": "test"}, lambda: (np.arange(40_000.0), {}))
"""


def test_a_reader_never_meets_half_a_table(folder: Path) -> None:
    """While another process deletes the table and writes it anew, over and over, no reader finds it damaged."""
    expected = np.arange(40_000.0)
    cached_array({"table": "test"}, lambda: (expected, {}))
    with ThreadPoolExecutor(1) as thread:
        writing = thread.submit(run_python, WRITER)
        while not writing.done():
            array, _ = cached_array({"table": "test"}, lambda: (expected, {}))
            assert array.tobytes() == expected.tobytes()
        assert writing.result() == ""


def test_the_folder_is_the_users_cache_unless_said_otherwise(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TRIALEA_CACHE_DIR", raising=False)
    assert table_cache.cache_folder().name == "trialea"
    monkeypatch.setenv("TRIALEA_CACHE_DIR", "somewhere/else")
    assert table_cache.cache_folder() == Path("somewhere/else")
