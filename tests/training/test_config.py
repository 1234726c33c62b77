"""Training configurations: typed, changed by `key=value`, and refused where anything does not fit."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from trialea import GAMES, OptionError, UnknownNameError
from trialea.training.config import Ramp, TrainConfig, load_config, shipped_configs

MINIMAL = {"game": "no_dice", "frames": 1000}


def written(folder: Path, content: Any) -> Path:
    file = folder / "some.yaml"
    file.write_text(content if isinstance(content, str) else yaml.safe_dump(content), encoding="utf-8")
    return file


# What ships ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", shipped_configs())
def test_every_shipped_configuration_loads_from_anywhere(
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


def test_each_game_has_a_configuration_of_its_own_name_and_there_is_a_demo() -> None:
    assert {*(f"configs/{name}.yaml" for name in GAMES), "configs/demo.yaml"} <= set(shipped_configs())


@pytest.mark.parametrize("path", ["nothing.yaml", "configs/nothing.yaml", "elsewhere/demo.yaml", "/demo.yaml", "."])
def test_a_missing_file_is_an_error_that_lists_ours(path: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(OptionError, match="no configuration lies at") as caught:
        load_config(path)
    assert path in str(caught.value)
    for ours in shipped_configs():
        assert ours in str(caught.value)


def test_a_file_of_ones_own_goes_before_ours(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "demo.yaml").write_text("game: no_dice\nframes: 77\n")
    assert load_config("demo.yaml").frames == 77
    assert load_config("configs/demo.yaml").frames != 77


# Files -----------------------------------------------------------------------------------------------------------


def test_what_is_left_out_has_its_default(tmp_path: Path) -> None:
    config = load_config(written(tmp_path, MINIMAL))
    assert config == TrainConfig(game="no_dice", frames=1000)
    assert config.stages[-1].until == 1.0


def test_a_configuration_comes_back_from_its_own_dump(tmp_path: Path) -> None:
    config = load_config("configs/demo.yaml", ["options.target=20", "ppo.net_arch=[8, 4]", "seat=1"])
    assert load_config(written(tmp_path, config.model_dump(mode="json"))) == config


@pytest.mark.parametrize("text", ["a: [1", "a: b: c", "\tx", "game: 'no_dice", "ppo: {n_steps: 3, n_steps: 4}"])
def test_what_is_no_yaml_is_an_error_of_one_line_that_names_the_file(text: str, tmp_path: Path) -> None:
    file = written(tmp_path, text)
    with pytest.raises(OptionError, match="some.yaml is not valid YAML") as caught:
        load_config(file)
    assert "\n" not in str(caught.value)


def test_a_file_that_is_no_text_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "picture.yaml").write_bytes(b"\x89PNG\xff\xfe\x00")
    with pytest.raises(OptionError, match="picture.yaml"):
        load_config(tmp_path / "picture.yaml")


@pytest.mark.parametrize("text", ["", "- 1\n- 2\n", "words", "7"])
def test_a_file_without_keys_is_an_error(text: str, tmp_path: Path) -> None:
    with pytest.raises(OptionError, match=r"some\.yaml must hold a mapping"):
        load_config(written(tmp_path, text))


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
def test_an_unknown_key_is_refused_by_name(content: dict[str, Any], named: str, tmp_path: Path) -> None:
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
        ("seat=left", "seat: Input should be a valid integer, or Input should be 'random' or 'rotate'$"),
        ("players=[2]", "players: .*integer, or several numbers of players are given as a rising list"),
        ("opponents={past: .inf}", "opponents.past"),
        ("opponents={}", "config: opponents need weights that are not all 0, not {}"),
        ("opponents={greedy: 0}", "config: opponents need weights that are not all 0, not {'greedy': 0.0}"),
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
        ("players=9", "2 to 8, not 9"),
        ("options.target=0", "target"),
        ("options.target=ten", "target"),
        ("options=none", "options"),
    ],
)
def test_a_value_out_of_range_is_refused_naming_its_key(change: str, named: str) -> None:
    with pytest.raises(OptionError, match=named):
        load_config("configs/demo.yaml", [change])


@pytest.mark.parametrize("missing", MINIMAL)
def test_a_key_that_must_be_there_is_named(missing: str, tmp_path: Path) -> None:
    with pytest.raises(OptionError, match=missing):
        load_config(written(tmp_path, {key: value for key, value in MINIMAL.items() if key != missing}))


def test_an_unknown_game_is_refused_with_those_that_exist() -> None:
    with pytest.raises(UnknownNameError, match=rf"'chess'; there are: {', '.join(GAMES)}"):
        load_config("configs/demo.yaml", ["game=chess"])


# Changes ---------------------------------------------------------------------------------------------------------


def test_set_changes_keys_however_deep() -> None:
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


def test_of_two_changes_of_a_key_the_last_counts() -> None:
    assert load_config("configs/demo.yaml", ["seed=3", "seed=4"]).seed == 4


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ("frames", "key=value, not 'frames'"),
        ("=3", "key=value, not '=3'"),
        ("frames.x=3", "frames holds no keys"),
        ("stages.0.until=1", "stages holds no keys"),
        ("frames=[", "frames=.* is not valid YAML"),
        ("no_such_key=1", "no_such_key"),
        ("ppo.no_such_key=1", "ppo.no_such_key"),
    ],
)
def test_a_change_that_makes_no_sense_is_refused(change: str, words: str) -> None:
    with pytest.raises(OptionError, match=words):
        load_config("configs/demo.yaml", [change])


# Stages and ramps ------------------------------------------------------------------------------------------------


def stages(*ends: float) -> list[dict[str, Any]]:
    return [{"until": end, "reward": "score", "horizon": "turn"} for end in ends]


@pytest.mark.parametrize("ends", [(), (0.5,), (0.5, 0.9), (1.0, 0.5), (0.5, 0.5, 1.0), (1.0, 1.0)])
def test_stages_must_rise_to_the_end_of_the_run(ends: tuple[float, ...], tmp_path: Path) -> None:
    with pytest.raises(OptionError, match="stages must end at rising shares"):
        load_config(written(tmp_path, {**MINIMAL, "stages": stages(*ends)}))


@pytest.mark.parametrize("key", ["until", "reward", "horizon"])
def test_a_stage_with_a_value_that_does_not_exist_is_refused(key: str, tmp_path: Path) -> None:
    with pytest.raises(OptionError, match=rf"stages\.0\.{key}"):
        load_config(written(tmp_path, {**MINIMAL, "stages": [{**stages(1.0)[0], key: "x"}]}))


def test_stage_at_says_which_part_of_the_run_it_is() -> None:
    parts = [{"until": 0.25, "reward": "score", "horizon": "turn"}, {"until": 1, "reward": "win", "horizon": "game"}]
    config = TrainConfig.model_validate({**MINIMAL, "stages": parts})
    assert [config.stage_at(frames).reward for frames in (0, 249, 250, 999, 1000, 5000)] == ["score"] * 2 + ["win"] * 4


def test_a_ramp_goes_straight_and_stays_at_its_ends() -> None:
    ramp = Ramp(start=4.0, end=2.0)
    assert [ramp.at(done) for done in (-1.0, 0.0, 0.25, 1.0, 1.5)] == [4.0, 4.0, 3.5, 2.0, 2.0]


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        (["ppo.environments=13", "ppo.n_steps=5", "ppo.batch_size=64"], "single decision"),
        (["opponents={human: 1.0}"], "person"),
        (["measure.opponents=[human]"], "person"),
        (["seat=true"], "seat"),
    ],
)
def test_what_could_not_be_trained_is_refused(changes: list[str], named: str) -> None:
    with pytest.raises(OptionError, match=named):
        load_config("configs/demo.yaml", changes)
