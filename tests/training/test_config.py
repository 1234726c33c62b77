"""Tests of training configurations: defaults, changes by `key=value`, and errors."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from trialea import GAMES, OptionError, UnknownNameError
from trialea.training.config import (
    Measure,
    Ramp,
    RllibConfig,
    RllibPpo,
    TrainConfig,
    load_config,
    shipped_configs,
)

MINIMAL = {"game": "no_dice", "frames": 1000}


def written(folder: Path, content: Any) -> Path:
    """Write a configuration file."""
    file = folder / "some.yaml"
    file.write_text(content if isinstance(content, str) else yaml.safe_dump(content), encoding="utf-8")
    return file


# Shipped configurations ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", shipped_configs())
def test_shipped_configuration_loads_from_any_folder(
    path: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    config = load_config(path)
    assert config == load_config(Path(path).name)
    assert config.game in GAMES
    counts = config.players if isinstance(config.players, tuple) else (config.players,)
    assert counts in ((None,), tuple(game.num_players for game in config.make_games()))
    if isinstance(config, TrainConfig):
        assert (config.ppo.environments * config.ppo.n_steps) % config.ppo.batch_size == 0


def test_each_game_and_the_demo_have_a_shipped_configuration() -> None:
    assert {*(f"configs/{name}.yaml" for name in GAMES), "configs/demo.yaml"} <= set(shipped_configs())


@pytest.mark.parametrize("path", ["nothing.yaml", "configs/nothing.yaml", "elsewhere/demo.yaml", "/demo.yaml"])
def test_missing_file_error_lists_the_shipped_configurations(
    path: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(OptionError, match="there is no configuration") as caught:
        load_config(path)
    assert path in str(caught.value)
    for ours in shipped_configs():
        assert ours in str(caught.value)


def test_own_file_takes_precedence_over_a_shipped_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "demo.yaml").write_text("game: no_dice\nframes: 77\n")
    assert load_config("demo.yaml").frames == 77
    assert load_config("configs/demo.yaml").frames != 77


# Files -----------------------------------------------------------------------------------------------------------


def test_missing_keys_have_defaults(tmp_path: Path) -> None:
    config = load_config(written(tmp_path, MINIMAL))
    assert config == TrainConfig(game="no_dice", frames=1000)
    assert config.stages[-1].until == 1.0


def test_configuration_survives_dump_and_load(tmp_path: Path) -> None:
    config = load_config("configs/demo.yaml", ["options.target=20", "ppo.net_arch=[8, 4]", "seat=1"])
    assert load_config(written(tmp_path, config.model_dump(mode="json"))) == config


@pytest.mark.parametrize("text", ["a: [1", "a: b: c", "\tx", "game: 'no_dice", "ppo: {n_steps: 3, n_steps: 4}"])
def test_invalid_yaml_raises_a_one_line_error_naming_the_file(text: str, tmp_path: Path) -> None:
    file = written(tmp_path, text)
    with pytest.raises(OptionError, match="some.yaml is not valid YAML") as caught:
        load_config(file)
    assert "\n" not in str(caught.value)


def test_binary_file_raises(tmp_path: Path) -> None:
    (tmp_path / "picture.yaml").write_bytes(b"\x89PNG\xff\xfe\x00")
    with pytest.raises(OptionError, match="picture.yaml"):
        load_config(tmp_path / "picture.yaml")


@pytest.mark.parametrize("text", ["", "- 1\n- 2\n", "words", "7"])
def test_file_that_is_not_a_mapping_raises(text: str, tmp_path: Path) -> None:
    with pytest.raises(OptionError, match=r"some\.yaml must hold a mapping"):
        load_config(written(tmp_path, text))


def test_folders_and_files_too_large_raise(tmp_path: Path) -> None:
    with pytest.raises(OptionError, match="must be a YAML file, got the folder"):
        load_config(tmp_path)
    with pytest.raises(OptionError, match=r"some\.yaml is not valid YAML: it must have at most 1,048,576 bytes"):
        load_config(written(tmp_path, "#" * 2**21))
    with pytest.raises(OptionError, match="there is no configuration"):
        load_config("x" * 5000)


# Keys and values -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("content", "named"),
    [
        ({**MINIMAL, "frmaes": 1}, "frmaes"),
        ({**MINIMAL, "ppo": {"learning_rte": 1}}, "ppo.learning_rte"),
        ({**MINIMAL, "ppo": {"entropy": {"start": 1, "end": 0, "middle": 2}}}, "ppo.entropy.middle"),
        ({**MINIMAL, "measure": {"time": 3}}, "measure.time"),
        ({**MINIMAL, "stages": [{"until": 1, "reward": "win", "horizon": "game", "x": 1}]}, "stages.0.x"),
        ({**MINIMAL, "options": {"goal": 20}}, "goal"),
    ],
    ids=str,
)
def test_unknown_key_raises_and_is_named(content: dict[str, Any], named: str, tmp_path: Path) -> None:
    with pytest.raises(OptionError, match=named):
        load_config(written(tmp_path, content))


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ("frames=0", "frames"),
        ("frames=many", "frames"),
        ("frames=1.5", "frames"),
        ("seed=-1", "seed"),
        ("seed=2147483648", "seed"),
        ("threads=0", "threads"),
        ("seat=left", "seat must be a whole number or 'random' or 'rotate', got left$"),
        ("players=[2]", "players must be a whole number or a rising list of two or more numbers of players, got"),
        ("opponents={past: .inf}", "opponents.past"),
        ("opponents={}", "opponents must have a weight above 0, got {}"),
        ("opponents={greedy: 0}", "opponents must have a weight above 0, got {'greedy': 0.0}"),
        ("opponents.random=-1", "opponents.random"),
        ("opponents={random: much}", "opponents.random"),
        ("ppo.gamma=1.1", "ppo.gamma"),
        ("ppo.gamma=0", "ppo.gamma"),
        ("ppo.gae_lambda=-0.1", "ppo.gae_lambda"),
        ("ppo.clip_range=0", "ppo.clip_range"),
        ("ppo.n_steps=0", "ppo.n_steps"),
        ("ppo.net_arch=[0]", "ppo.net_arch.0"),
        ("ppo.activation=gelu", "ppo.activation"),
        ("ppo.learning_rate=0.001", "ppo.learning_rate"),
        ("ppo.learning_rate.start=-1", "ppo.learning_rate.start"),
        ("measure.games=0", "measure.games"),
        ("checkpoints=0", "checkpoints"),
        ("players=9", "2 to 8, got 9"),
        ("options.target=0", "target"),
        ("options.target=ten", "target"),
        ("options=none", "options"),
    ],
)
def test_value_out_of_range_raises_and_names_its_key(change: str, named: str) -> None:
    with pytest.raises(OptionError, match=named):
        load_config("configs/demo.yaml", [change])


@pytest.mark.parametrize("missing", MINIMAL)
def test_missing_required_key_is_named(missing: str, tmp_path: Path) -> None:
    with pytest.raises(OptionError, match=missing):
        load_config(written(tmp_path, {key: value for key, value in MINIMAL.items() if key != missing}))


def test_unknown_game_raises_and_names_the_games() -> None:
    with pytest.raises(UnknownNameError, match=rf"'chess'. The games are {', '.join(GAMES)}"):
        load_config("configs/demo.yaml", ["game=chess"])


# Changes ---------------------------------------------------------------------------------------------------------


def test_set_changes_keys_at_any_depth() -> None:
    config = load_config(
        "configs/demo.yaml",
        [
            "frames=123",
            "options.target=20",
            "opponents={random: 0.25, past: 0.75}",
            "ppo.n_steps=64",
            "ppo.learning_rate.end=0.5",
            "ppo.net_arch=[16]",
            "measure.opponents=[greedy]",
            "seat=1",
        ],
    )
    assert (config.frames, config.seat, config.ppo.n_steps, config.ppo.net_arch) == (123, 1, 64, (16,))
    assert config.make_game().options.target == 20
    assert config.opponents == {"random": 0.25, "past": 0.75}
    assert config.ppo.learning_rate == Ramp(start=load_config("configs/demo.yaml").ppo.learning_rate.start, end=0.5)
    assert config.measure.opponents == ("greedy",)
    assert config.ppo.environments == load_config("configs/demo.yaml").ppo.environments


def test_last_of_two_changes_of_a_key_wins() -> None:
    assert load_config("configs/demo.yaml", ["seed=3", "seed=4"]).seed == 4


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ("frames", "key=value, got frames"),
        ("=3", "key=value, got =3"),
        ("frames.x=3", "frames has no nested keys"),
        ("stages.0.until=1", "stages has no nested keys"),
        ("frames=[", "frames=.* is not valid YAML"),
        ("no_such_key=1", "no_such_key"),
        ("ppo.no_such_key=1", "ppo.no_such_key"),
    ],
)
def test_invalid_change_raises(change: str, words: str) -> None:
    with pytest.raises(OptionError, match=words):
        load_config("configs/demo.yaml", [change])


def test_nested_change_keeps_the_other_defaults(tmp_path: Path) -> None:
    """Keys that neither the change nor the file names keep their defaults."""
    file = written(tmp_path, {**MINIMAL, "ppo": {"n_steps": 8}})
    config = load_config(file, ["ppo.learning_rate.start=0.5", "opponents.random=2", "measure.times=3"])
    assert isinstance(config, TrainConfig)
    assert config.ppo.learning_rate == Ramp(start=0.5, end=TrainConfig(**MINIMAL).ppo.learning_rate.end)
    assert config.ppo.n_steps == 8
    assert config.opponents == {"past": 1.0, "random": 2.0}
    assert config.measure == Measure(times=3)
    assert TrainConfig(**MINIMAL).opponents == {"past": 1.0}


def test_defaults_are_those_of_the_chosen_algorithm(tmp_path: Path) -> None:
    config = load_config(written(tmp_path, MINIMAL), ["ppo.entropy.end=0", "algorithm=rllib"])
    assert isinstance(config, RllibConfig)
    assert config.ppo == RllibPpo(entropy=Ramp(start=RllibPpo().entropy.start, end=0))


# Numbers ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("written_as", "frames"), [("1e6", 10**6), ("3e3", 3000), ("010", 10), ("5.0", 5), ("0x10", 16), ("+7", 7)]
)
def test_whole_number_can_be_written_in_any_notation(written_as: str, frames: int, tmp_path: Path) -> None:
    assert load_config("configs/demo.yaml", [f"frames={written_as}"]).frames == frames  # type: ignore[union-attr]
    assert load_config(written(tmp_path, f"game: no_dice\nframes: {written_as}")).frames == frames  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ("frames=yes", "frames must be a whole number, got yes"),
        ("frames=true", "frames must be a whole number, got true"),
        ("seed=1:30", "seed must be a whole number, got 1:30"),
        ("seed=2001-01-01", "seed must be a whole number, got 2001-01-01"),
        ("frames='3000'", "frames must be a whole number, got '3000'. Leave out the quotes"),
        ("frames=1e400", "frames must be a whole number, got .inf"),
        ("frames=.nan", "frames must be a whole number, got .nan"),
        ("frames=1_000", "frames must be a whole number, got 1_000"),
        ("ppo.gamma=true", "ppo.gamma must be a number, got true"),
        ("ppo.gamma='1'", "ppo.gamma must be a number, got '1'. Leave out the quotes"),
        ("judge=3", "judge must be text, got 3. Put it in quotes"),
        ("options.target=1.5", "target must be a whole number"),
    ],
)
def test_value_of_another_type_is_not_read_as_a_number(change: str, words: str) -> None:
    with pytest.raises(OptionError, match=re.escape(words)):
        load_config("configs/demo.yaml", [change])


def test_game_options_accept_whole_numbers_in_any_notation() -> None:
    assert load_config("configs/demo.yaml", ["options.target=2e1"]).make_game().options.target == 20


@pytest.mark.parametrize(
    ("change", "bound"),
    [
        ("frames=1e12", 10**11),
        ("threads=100000", 512),
        ("past_selves=1e9", 10**4),
        ("snapshots=1e9", 10**4),
        ("checkpoints=1e9", 10**4),
        ("measure.games=1e9", 10**6),
        ("measure.times=1e9", 10**4),
        ("ppo.environments=1000000000", 10**6),
        ("ppo.n_steps=1000000000", 10**6),
        ("ppo.batch_size=1e10", 10**9),
        ("ppo.n_epochs=1e9", 10**4),
        ("ppo.net_arch=[1000000000000]", 10**6),
    ],
)
def test_value_that_is_far_too_large_raises_and_names_the_limit(change: str, bound: int) -> None:
    with pytest.raises(OptionError, match=f"{change.split('=')[0]}.* must be at most {bound}, got"):
        load_config("configs/demo.yaml", [change])


# Stages and ramps ------------------------------------------------------------------------------------------------


def stages(*ends: float) -> list[dict[str, Any]]:
    """Return stages that end at these shares of the run."""
    return [{"until": end, "reward": "score", "horizon": "turn"} for end in ends]


@pytest.mark.parametrize("ends", [(), (0.5,), (0.5, 0.9), (1.0, 0.5), (0.5, 0.5, 1.0), (1.0, 1.0)])
def test_stages_must_end_at_increasing_shares_up_to_1(ends: tuple[float, ...], tmp_path: Path) -> None:
    with pytest.raises(OptionError, match="stages must end at rising shares"):
        load_config(written(tmp_path, {**MINIMAL, "stages": stages(*ends)}))


@pytest.mark.parametrize("key", ["until", "reward", "horizon"])
def test_stage_with_an_unknown_value_raises(key: str, tmp_path: Path) -> None:
    with pytest.raises(OptionError, match=rf"stages\.0\.{key}"):
        load_config(written(tmp_path, {**MINIMAL, "stages": [{**stages(1.0)[0], key: "x"}]}))


def test_stage_at_returns_the_stage_of_a_frame() -> None:
    parts = [{"until": 0.25, "reward": "score", "horizon": "turn"}, {"until": 1, "reward": "win", "horizon": "game"}]
    config = TrainConfig.model_validate({**MINIMAL, "stages": parts})
    assert [config.stage_at(frames).reward for frames in (0, 249, 250, 999, 1000, 5000)] == ["score"] * 2 + ["win"] * 4


def test_ramp_is_linear_and_constant_beyond_its_ends() -> None:
    ramp = Ramp(start=4.0, end=2.0)
    assert [ramp.at(done) for done in (-1.0, 0.0, 0.25, 1.0, 1.5)] == [4.0, 4.0, 3.5, 2.0, 2.0]


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        (["ppo.environments=13", "ppo.n_steps=5", "ppo.batch_size=64"], "no minibatch of a single decision"),
        (["opponents={human: 1.0}"], "person"),
        (["measure.opponents=[human]"], "person"),
        (["seat=true"], "seat"),
    ],
)
def test_configuration_that_cannot_be_trained_raises(changes: list[str], named: str) -> None:
    with pytest.raises(OptionError, match=named):
        load_config("configs/demo.yaml", changes)
