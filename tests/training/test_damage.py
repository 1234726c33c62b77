"""Tests of damaged or edited run folders: resuming raises a one-line error with the remedy."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.training.runs import metrics, run, tiny
from trialea import OptionError
from trialea.agents.model_file import ModelFileError
from trialea.training.run import resume
from trialea.training.run_folder import newest_checkpoint


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a finished run."""
    folder = tmp_path_factory.mktemp("damage") / "run"
    assert run(tiny(), folder)
    return folder


@pytest.fixture
def unfinished(finished: Path, tmp_path: Path) -> Path:
    """Return a run whose last part is missing; its newest checkpoint is valid."""
    shutil.copytree(finished, tmp_path / "run")
    (tmp_path / "run" / "model.zip").unlink()
    return tmp_path / "run"


def test_unreadable_measurements_are_dropped(finished: Path, unfinished: Path) -> None:
    file = unfinished / "metrics.jsonl"
    first, _, *others = file.read_text().splitlines()
    file.write_text("\n".join([first, "", '{"fra', '{"seconds": 1}', "3", "garbage", *others, ""]))
    assert resume(unfinished, progress=False)
    frames = [measured["frames"] for measured in metrics(finished)]
    assert [measured["frames"] for measured in metrics(unfinished)] == [frames[0], *frames[2:]]


@pytest.mark.parametrize(
    ("change", "named"),
    [
        (("environments: ", "environments: 1"), "ppo"),
        (("past_selves: ", "past_selves: 1"), "past_selves"),
        (("frames: ", "frames: 1"), "frames"),
    ],
)
def test_run_with_an_edited_configuration_does_not_resume(
    change: tuple[str, str], named: str, unfinished: Path
) -> None:
    file = unfinished / "config.yaml"
    text = file.read_text()
    file.write_text(text.replace(*change))
    with pytest.raises(
        OptionError, match=rf"must be as at the start of the run, but {named} changed. Put back .*config\.yaml"
    ):
        resume(unfinished, progress=False)
    newest = newest_checkpoint(unfinished / "checkpoints")
    assert newest is not None
    shutil.copy(newest / "config.yaml", file)
    assert file.read_text() == text


@pytest.mark.parametrize("name", ["model.zip", "state.npz", "past.pt", "config.yaml"])
def test_damaged_checkpoint_error_says_how_to_continue(name: str, unfinished: Path) -> None:
    newest = newest_checkpoint(unfinished / "checkpoints")
    assert newest is not None
    content = (newest / name).read_bytes()
    (newest / name).write_bytes(b"{" if name == "config.yaml" else content[: len(content) // 2])
    with pytest.raises(
        ModelFileError, match=rf"{newest.name} is not a readable checkpoint.* Delete .*{newest.name} to continue"
    ):
        resume(unfinished, progress=False)
    shutil.rmtree(newest)
    assert resume(unfinished, progress=False)
