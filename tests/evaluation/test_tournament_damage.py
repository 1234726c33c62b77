"""Property test of damaged run folders: a tournament resumes with the same results or raises one clear error."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from trialea.envs.errors import TrialeaError
from trialea.evaluation import Tournament, TournamentConfig, read_tournament, resume_tournament, run_tournament

FILES = ["config.yaml", "plan.json", "blocks/000000.npz", "blocks/000001.npz", "results.json"]


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Tournament]:
    """Return a finished tournament and its folder."""
    folder = tmp_path_factory.mktemp("runs") / "whole"
    config = TournamentConfig(
        game="no_dice",
        agents=["random", "greedy"],
        options={"target": 4},
        games=20,
        block=10,
        resamples=100,
        workers=1,
        regret=False,
        luck=False,
    )
    return folder, run_tournament(config, folder)


def damage(content: bytes, how: str, place: float, byte: int) -> bytes:
    """Return damaged content: cut short, with one byte changed or inserted, or replaced entirely."""
    at = int(place * max(len(content) - 1, 0))
    return {
        "cut": content[:at],
        "changed": content[:at] + bytes([byte]) + content[at + 1 :],
        "inserted": content[:at] + bytes([byte]) + content[at:],
        "replaced": [b"{}", b"[]", b"\x00" * 10, b"null", b"a: [1"][byte % 5],
    }[how]


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    file=st.sampled_from(FILES),
    how=st.sampled_from(["cut", "changed", "inserted", "replaced"]),
    place=st.floats(0, 1),
    byte=st.integers(0, 255),
)
def test_damaged_file_gives_the_same_results_or_one_error(
    finished: tuple[Path, Tournament], tmp_path: Path, file: str, how: str, place: float, byte: int
) -> None:
    whole, result = finished
    run = tmp_path / "run"
    shutil.rmtree(run, ignore_errors=True)
    shutil.copytree(whole, run)
    (run / file).write_bytes(damage((run / file).read_bytes(), how, place, byte))
    for again in (read_tournament, resume_tournament):
        try:
            found: Any = again(run)
        except TrialeaError as error:
            assert 0 < len(str(error)) < 1000
        else:
            assert found == result
