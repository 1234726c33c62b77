"""Tests of `needs_extra`, which turns a failed import into an error that names the missing extra."""

from __future__ import annotations

import pytest

from trialea.envs.errors import MissingExtraError, needs_extra


@pytest.mark.parametrize("name", ["torch", "torch.nn"])
def test_missing_module_error_names_its_extra(name: str) -> None:
    with (
        pytest.raises(MissingExtraError, match=r"training needs 'torch'.*'trialea\[train\]'") as caught,
        needs_extra("train", "training", "torch", "stable_baselines3"),
    ):
        raise ModuleNotFoundError(f"No module named {name!r}", name=name)
    assert isinstance(caught.value.__cause__, ModuleNotFoundError)


@pytest.mark.parametrize(
    "fault",
    [
        ModuleNotFoundError("No module named 'trialea.training.nothing'", name="trialea.training.nothing"),
        ImportError("cannot import name 'Nothing' from 'torch'", name="torch"),
        ImportError("libcudart.so.12: cannot open shared object file"),
    ],
    ids=str,
)
def test_other_import_errors_pass_through_unchanged(fault: ImportError) -> None:
    with pytest.raises(ImportError) as caught, needs_extra("train", "training", "torch"):
        raise fault
    assert caught.value is fault
