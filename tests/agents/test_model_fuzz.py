"""Property tests of damaged files: a model either plays legally or raises an error, and damaged tables are detected."""

from __future__ import annotations

import io
import json
import os
import warnings
import zipfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import HealthCheck, given, settings, strategies as st

from tests.helpers import game_of, positions
from trialea import OptionError, make_agent
from trialea.agents import ModelAgent, ModelFileError
from trialea.agents.afterstate import make_network, save_network
from trialea.agents.cache import DamagedTableWarning, cached_array
from trialea.agents.model_file import write_policy
from trialea.agents.seats import write_seats
from trialea.envs.game import Game, States

KINDS = ("policy", "stock", "seats", "afterstate")
GAME = game_of("no_dice", target=3)
quick = settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


def policy_weights(game: Game, seed: int = 0) -> dict[str, torch.Tensor]:
    """Return small random weights of a policy."""
    generator = torch.Generator().manual_seed(seed)
    shapes = {"mlp_extractor.policy_net.0": (3, game.observation_size), "action_net": (game.num_actions, 3)}
    weights = {}
    for name, shape in shapes.items():
        weights[f"{name}.weight"] = torch.randn(shape, generator=generator)
        weights[f"{name}.bias"] = torch.randn(shape[0], generator=generator)
    return weights


def write_valid(kind: str, file: Path) -> None:
    """Write a small valid model file of this kind."""
    if kind == "seats":
        write_seats(file, GAME, [policy_weights(GAME, seat) for seat in range(2)], "tanh")
    elif kind == "afterstate":
        save_network(make_network(GAME, (4, 3)), file, GAME)
    else:
        write_policy(file, GAME.description(), policy_weights(GAME), "tanh")
    if kind == "stock":
        contents = members_of(file)
        del contents["trialea.json"]
        data = {"policy_kwargs": {"activation_fn": "<class 'torch.nn.modules.activation.Tanh'>"}, "_last_obs": None}
        file.write_bytes(zipped({**contents, "data": json.dumps(data).encode()}))


def members_of(file: Path) -> dict[str, bytes]:
    """Return the contents of a zip archive by name."""
    with zipfile.ZipFile(file) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def zipped(members: dict[str, bytes], compression: int = zipfile.ZIP_STORED) -> bytes:
    """Return a zip archive as bytes."""
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", compression) as archive:
        for name, member in members.items():
            archive.writestr(name, member)
    return content.getvalue()


@cache
def valid(kind: str, folder: Path) -> tuple[bytes, dict[str, bytes]]:
    """Return a valid model file, and its members."""
    file = folder / f"{kind}.zip"
    write_valid(kind, file)
    return file.read_bytes(), members_of(file)


@cache
def states() -> States:
    """Return states on which loaded models play."""
    return positions(GAME, 20)


@pytest.fixture(scope="session")
def originals(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder for the valid files."""
    return tmp_path_factory.mktemp("originals")


def assert_plays_or_raises(file: Path) -> bool:
    """Load a model and let it play; return False if it is rejected with an error."""
    try:
        agent = make_agent(str(file), GAME)
    except (ModelFileError, OptionError) as error:
        assert str(error)
        return False
    assert GAME.masks(states())[np.arange(len(states())), agent.act(states())].all()
    return True


# Mutations -------------------------------------------------------------------------------------------------------

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=5,
)


@st.composite
def flipped(draw: st.DrawFn, content: bytes) -> bytes:
    """Change some bytes, and perhaps cut off the end."""
    changed = bytearray(content)
    for _ in range(draw(st.integers(1, 4))):
        changed[draw(st.integers(0, len(changed) - 1))] = draw(st.integers(0, 255))
    return bytes(changed[: draw(st.integers(0, len(changed)) | st.just(len(changed)))])


def places_in(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Return the path of every value in nested JSON."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path, *(place for key, part in inner for place in places_in(part, (*path, key)))]


@st.composite
def changed_json(draw: st.DrawFn, content: bytes) -> bytes:
    """Replace one value at any depth by another value of any type."""
    value = json.loads(content)
    *before, last = draw(st.sampled_from(places_in(value)[1:]))
    parent = value
    for key in before:
        parent = parent[key]
    parent[last] = draw(json_values)
    return json.dumps(value).encode()


@st.composite
def changed_weights(draw: st.DrawFn, content: bytes) -> bytes:
    """Give one tensor another shape, type, layout, value or name."""
    weights = dict(torch.load(io.BytesIO(content), weights_only=True))
    name = draw(st.sampled_from([*weights]))
    weight = weights.pop(name)
    edits: list[Callable[[], Any]] = [
        lambda: weight * torch.nan,
        lambda: weight.double(),
        lambda: weight.to(torch.complex64),
        lambda: weight.to(torch.bfloat16),
        lambda: weight.to_sparse(),
        lambda: weight.to("meta"),
        lambda: weight[..., :0],
        lambda: weight[..., :-1].clone(),
        lambda: torch.zeros(()),
        lambda: torch.zeros(1).expand(10**6, 10**6),
        lambda: weight.tolist(),
        lambda: weight.t() if weight.ndim == 2 else weight[None],
    ]
    key = draw(st.just(name) | st.sampled_from([*weights]) | st.text(max_size=5).map(lambda text: name + text))
    weights[key] = draw(st.sampled_from(edits))()
    out = io.BytesIO()
    torch.save(weights, out)
    return out.getvalue()


@st.composite
def damaged(draw: st.DrawFn, kind: str, folder: Path) -> bytes:
    """Return a model file with one change, which can be harmless."""
    content, members = valid(kind, folder)
    how = draw(st.sampled_from(["bytes", "drop", "member", "pickle", "json", "json", "weights", "weights"]))
    if how == "bytes":
        return draw(flipped(content))
    name = draw(st.sampled_from([*members]))
    if how == "drop":
        return zipped({other: member for other, member in members.items() if other != name})
    if how == "member":
        return zipped({**members, name: draw(flipped(members[name]) | st.binary(max_size=50))})
    text = next(name for name in members if not name.endswith(".pth"))
    tensors = next(name for name in members if name.endswith(".pth"))
    if how == "json":
        return zipped({**members, text: draw(changed_json(members[text]))})
    if how == "weights":
        return zipped({**members, tensors: draw(changed_weights(members[tensors]))})
    with zipfile.ZipFile(io.BytesIO(members[tensors])) as archive:
        inner = {name: archive.read(name) for name in archive.namelist()}
    name = draw(st.sampled_from([*inner]))
    return zipped({**members, tensors: zipped({**inner, name: draw(flipped(inner[name] or b"0"))})})


@pytest.mark.parametrize("kind", KINDS)
def test_damaged_model_file_plays_legally_or_raises(kind: str, originals: Path, tmp_path: Path) -> None:
    @quick
    @given(damaged(kind, originals))
    def check(content: bytes) -> None:
        file = tmp_path / "model.zip"
        file.write_bytes(content)
        assert_plays_or_raises(file)

    (tmp_path / "whole.zip").write_bytes(valid(kind, originals)[0])
    assert assert_plays_or_raises(tmp_path / "whole.zip")
    check()


# Special cases ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["policy.pth", "trialea.json"])
def test_zip_bomb_is_rejected_before_it_is_read(
    name: str, originals: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("trialea.agents.model_file.MOST_WEIGHTS", 2**20)
    monkeypatch.setattr("trialea.agents.model_file.MOST_TEXT", 2**20)
    content = zipped({**valid("policy", originals)[1], name: bytes(2**22)}, zipfile.ZIP_DEFLATED)
    assert len(content) < 2**16
    (tmp_path / "model.zip").write_bytes(content)
    with pytest.raises(ModelFileError, match=f"{name} must have at most 1048576 bytes, got 4194304"):
        make_agent(str(tmp_path / "model.zip"), GAME)


@pytest.mark.parametrize("hidden", [[10**12], [1] * 10**5, [10**6, 10**6], [0], [True], [], "4", None, [4.0, 3]])
def test_declared_layer_sizes_are_checked_before_allocation(hidden: Any, originals: Path, tmp_path: Path) -> None:
    members = valid("afterstate", originals)[1]
    facts = json.loads(members["trialea.json"])
    content = zipped({**members, "trialea.json": json.dumps({**facts, "hidden": hidden}).encode()})
    (tmp_path / "model.zip").write_bytes(content)
    assert not assert_plays_or_raises(tmp_path / "model.zip")


@pytest.mark.parametrize("text", [b"\xff\xfe", b"[" * 10**5, b"1" * 10**5, b"", b'["\\ud800"]'])
@pytest.mark.parametrize("kind", KINDS)
def test_unreadable_json_raises(kind: str, text: bytes, originals: Path, tmp_path: Path) -> None:
    members = valid(kind, originals)[1]
    name = "data" if kind == "stock" else "trialea.json"
    (tmp_path / "model.zip").write_bytes(zipped({**members, name: text}))
    assert not assert_plays_or_raises(tmp_path / "model.zip")


def test_duplicate_member_raises(originals: Path, tmp_path: Path) -> None:
    file = tmp_path / "model.zip"
    file.write_bytes(valid("policy", originals)[0])
    with warnings.catch_warnings(), zipfile.ZipFile(file, "a") as archive:
        warnings.simplefilter("ignore")
        archive.writestr("policy.pth", b"")
    assert not assert_plays_or_raises(file)


def test_only_regular_files_are_opened(originals: Path, tmp_path: Path) -> None:
    (tmp_path / "link.zip").symlink_to(originals / "policy.zip")
    valid("policy", originals)
    assert assert_plays_or_raises(tmp_path / "link.zip")
    os.mkfifo(tmp_path / "pipe.zip")
    with pytest.raises(ModelFileError, match="a regular file or a run folder, but .*pipe.zip is neither"):
        make_agent(str(tmp_path / "pipe.zip"), GAME)
    (tmp_path / "run" / "checkpoints" / "1").mkdir(parents=True)
    os.mkfifo(tmp_path / "run" / "model.zip")
    (tmp_path / "run" / "checkpoints" / "1" / "model.zip").mkdir()
    with pytest.raises(ModelFileError, match=r"holds no model\.zip and no checkpoint"):
        make_agent(str(tmp_path / "run"), GAME)
    (tmp_path / "loop.zip").symlink_to(tmp_path / "loop.zip")
    for path in (tmp_path / "loop.zip", tmp_path / ("x" * 5000)):
        with pytest.raises(ModelFileError, match="there is no model at"):
            ModelAgent.load(path, GAME)


# Cached tables ---------------------------------------------------------------------------------------------------


def test_damaged_table_is_computed_again(tmp_path: Path) -> None:
    table = np.arange(60.0).reshape(3, 4, 5)

    def read() -> tuple[np.ndarray, dict[str, Any]]:
        return cached_array({"table": "fuzz"}, lambda: (table.copy(), {"seconds": 1.0}), tmp_path)

    read()
    (file,) = (path for path in tmp_path.iterdir() if path.suffix == ".npz")
    content = file.read_bytes()
    with zipfile.ZipFile(file) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}

    @quick
    @given(st.data())
    def check(data: st.DataObject) -> None:
        if data.draw(st.booleans()):
            file.write_bytes(data.draw(flipped(content)))
        else:
            name = data.draw(st.sampled_from([*members]))
            file.write_bytes(zipped({**members, name: data.draw(flipped(members[name]) | st.binary(max_size=30))}))
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            warnings.simplefilter("ignore", DamagedTableWarning)
            found, facts = read()
        assert np.array_equal(found, table) and found.dtype == table.dtype and facts["seconds"] is not None

    check()
