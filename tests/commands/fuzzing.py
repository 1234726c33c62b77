"""Random command lines and files for the fuzz test: what is drawn, and the folder in which the commands run.

The commands and their options are read from the command line itself, so a new one is drawn without a change here. A
new option gets values of its type; add it to `GOOD` and `BAD` where other values are more interesting.
"""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import yaml
from hypothesis import strategies as st

from tests.helpers import SHORT, words_of
from trialea import GAMES
from trialea.commands.app import command
from trialea.commands.options import options_of

# Values ----------------------------------------------------------------------------------------------------------
# Numbers are so small that a command ends soon, or so large that they must be refused.

NUMBERS = ["0", "1", "2", "3", "7", "20", "-1", "2.5", "1e1", "1e30", "nan", "inf", "-inf", "010", "0x10", "1_0"]
NUMBERS += ["1:30", "", " ", "x", "²", "\uff11", "true", "null", "[", "9" * 25, "9" * 5000, "18446744073709551615"]
WORDS = ["", " ", "-", "--", "x", "é", "\U0001f3b2", "a b", "a\nb", "\x1b[31m", "\udcff", "%s {0} [red]", "x" * 300]
FILES = [
    *("file.txt", "link", "empty", "folder", "missing", "missing/deeper/file", "file.txt/below", "pipe"),
    *("link-to-pipe", "/dev/null/x", "/", ".", "..", "loop", "broken-link"),
    *("run", "run/model.zip", "run/config.yaml", "damaged-run", "damaged.zip", "half.zip", "other.zip", "x" * 300),
    *("\udcff", "é.yaml", "stopped", "half-run", "model.zip", "~", "$HOME", "file://x", "sqlite:///x.db"),
]
CONFIGS = ["train.yaml", "tournament.yaml", "tune.yaml", "fuzz.yaml", "fuzz.yaml", "demo.yaml", "list.yaml", "demo"]
AGENTS = ["random", "greedy", "solver", "reference", "human", "zoo:", "zoo:x", "zoo:../x", "nobody", "GREEDY", "run"]
GOOD = {
    "game": sorted(GAMES),
    "words": ["random", "random", "greedy", "solver", "model.zip", "run"],
    "against": ["random", "greedy", "solver", "model.zip"],
    "config": ["train.yaml", "tournament.yaml", "tune.yaml", "fuzz.yaml", "fuzz.yaml", "fuzz.yaml"],
    "out_folder": ["new", "runs/new", "folder/new", "empty-folder"],
    "resume": ["stopped", "run", "tournament"],
    "report": ["report.html", "new/report.html", "file.txt", "link"],
    "storage": ["sqlite:///study.db"],
    "state": ["0,0", "1,2", "6,0,0,0", "0,0,0"],
    "names": ["aec", "solver"],
    "players": ["2", "2", "3", "4"],
    "num_games": ["1", "2", "7", "20"],
}
BAD = {
    "game": ["no_dcie", "chess", "NO_DICE", "", "os"],
    "words": [*AGENTS, *FILES],
    "against": [*AGENTS, *FILES],
    "config": [*CONFIGS, *FILES],
    "out_folder": FILES,
    "resume": FILES,
    "report": FILES,
    "storage": ["sqlite:///missing/study.db", "mysql://x", "redis://localhost:1", *FILES],
    "state": ["-1,0", "1e1,0", ",", "1;2", "9" * 30, "0", f"0,{'9' * 30}", "3,0,0,0,0,0,0,0,0"],
    "names": ["sleep", "", "AEC"],
}
YAML_VALUES: list[Any] = [
    *(None, True, False, 0, 1, 2, 3, -1, 10**11, 10**25, 0.5, 1e-300, 1e308, float("nan"), float("inf"), "", "x", "1"),
    *("é", "a\0b", "a\nb", "greedy", "solver", "nobody", [], {}, [[]], [1], [0], ["x"], {"x": 1}, {"end": 1}, [10**13]),
]
RAW_FILES = [
    *(b"", b"[", b"{", b"a: b: c", b"- 1\n- 2\n", b"x", b"1", b"null", b"\0", b"\xff\xfe", b"\x80"),
    *(b"[" * 3000, b"{a: " * 3000, b"9" * 5000, b"game: " + b"9" * 5000, b"&a [*a]", b"a: &a [*a]"),
    *(b"!!python/object/apply:os.getcwd []", b"game: no_dice\ngame: no_dice\n", b"? [1]\n: 2\n", b"1: 2\n"),
    *(b'game: "\\uD800"\n', b"\xef\xbb\xbfgame: no_dice\n", b"--- 1\n--- 2\n"),
]

TRAIN: dict[str, Any] = {
    "game": "last_die",
    "options": {"rounds_each": 1},
    "seed": 1,
    "threads": 1,
    "frames": 64,
    "checkpoints": 1,
    "opponents": {"random": 1.0},
    "ppo": {
        "environments": 4,
        "n_steps": 8,
        "batch_size": 16,
        "n_epochs": 1,
        "net_arch": [4],
        "learning_rate": {"start": 1e-3, "end": 1e-4},
        "gamma": 1.0,
    },
    "measure": {"times": 1, "games": 4, "opponents": ["random"]},
}
TOURNAMENT: dict[str, Any] = {
    "game": "no_dice",
    "options": {"target": 2},
    "agents": ["greedy", "random"],
    "games": 4,
    "seed": 1,
    "resamples": 100,
    "workers": 1,
    "block": 4,
    "regret": True,
    "luck": True,
    "worst": 1,
}
TUNE: dict[str, Any] = {
    "study": "some",
    "config": "train.yaml",
    "trials": 1,
    "sampler": "random",
    "seed": 1,
    "metric": "win_rate",
    "space": {"ppo.gamma": [0.9, 1.0]},
}
BASES = [TRAIN, TOURNAMENT, TUNE]


def _keys(config: dict[str, Any], above: str = "") -> Iterator[str]:
    for key, value in config.items():
        yield above + key
        if isinstance(value, dict):
            yield from _keys(value, f"{above}{key}.")


KEYS = sorted({key for base in BASES for key in _keys(base)})
KEYS += ["", ".", "nothing", "ppo.", ".ppo", "ppo..gamma", "algorithm"]
KEYS += ["players", "stages", "judge", "tables", "anchor", "confidence", "backend", "past_selves", "pruner"]


# What is drawn ---------------------------------------------------------------------------------------------------


class Example(NamedTuple):
    """A command line with what it finds.

    Attributes:
        words: the command line.
        config: the content of fuzz.yaml.
        stdin: what is typed.
        cache: the folder of tables.
        columns: the width of the terminal.
    """

    words: list[str]
    config: bytes
    stdin: str
    cache: str
    columns: int


@st.composite
def yaml_files(draw: st.DrawFn, bases: list[dict[str, Any]]) -> bytes:
    """Draw the content of a configuration: one of `bases` with some values changed, or anything else."""
    if draw(st.integers(0, 3)) == 0:
        return draw(st.sampled_from(RAW_FILES))
    config = yaml.safe_load(yaml.safe_dump(draw(st.sampled_from(bases))))
    for key in draw(st.lists(st.sampled_from(KEYS), max_size=3)):
        place = config
        *parents, last = key.split(".")
        for parent in parents:
            if not isinstance(place.get(parent), dict):
                place[parent] = {}
            place = place[parent]
        if draw(st.booleans()):
            place[last] = draw(st.sampled_from(YAML_VALUES))
        else:
            place.pop(last, None)
    return yaml.safe_dump(config, allow_unicode=False).encode()


def changes() -> st.SearchStrategy[str]:
    """Draw the value of --set."""
    written = [yaml.safe_dump(value, default_flow_style=True).strip() for value in YAML_VALUES]
    values = st.sampled_from([*NUMBERS, *WORDS, *written])
    return st.one_of(st.sampled_from(WORDS), st.builds("{}={}".format, st.sampled_from(KEYS), values))


@st.composite
def command_lines(draw: st.DrawFn) -> list[str]:
    """Draw the words of a command line: mostly a valid command with some options, sometimes anything."""
    names = sorted(command.commands)
    name = draw(st.sampled_from([*names, *names, *names, "nonsense", "--help", "--version", "--nonsense"]))
    if name not in command.commands:
        return [name, *draw(st.lists(st.sampled_from(WORDS), max_size=2))]
    parameters = command.commands[name].params
    words: list[str] = []
    game = draw(st.sampled_from(sorted(GAMES)))
    if name in ("train", "tournament") and draw(st.integers(0, 3)) == 0:
        return [name, "--resume", draw(st.sampled_from([*GOOD["resume"], *BAD["resume"]]))]
    for parameter in parameters:
        if parameter.param_type_name == "argument" and draw(_mostly):
            if parameter.name == "game" and draw(_mostly):
                words.append(game)
            elif parameter.name == "config" and draw(_mostly):
                words.append(draw(st.sampled_from([f"{name}.yaml", "fuzz.yaml"])))
            else:
                several = parameter.nargs == -1 and name != "exploit"
                size = draw(st.sampled_from([2, 2, 2, 3, 1])) if several else 1
                words += [draw(_value_of(parameter)) for _ in range(size)]
    some = [parameter for parameter in parameters if parameter.param_type_name == "option"]
    for parameter in draw(st.lists(st.sampled_from(some), max_size=4, unique_by=id)):
        words.append(draw(st.sampled_from([*parameter.opts, *parameter.secondary_opts])))
        if not parameter.is_flag and draw(_mostly):
            words.append(draw(_value_of(parameter)))
    if name in ("solve", "evaluate", "exploit", "play"):
        words += words_of(SHORT[game]) if draw(_mostly) else []
        for option in draw(st.lists(st.sampled_from([*options_of(game), "turns", "parallel", "nonsense"]), max_size=1)):
            value = draw(st.sampled_from([*NUMBERS, "any", "AD", "fixed", "false"]))
            dashed = f"--{option.replace('_', '-')}"
            words += draw(st.sampled_from([[dashed, value], [f"{dashed}={value}"], [dashed]]))
    if not draw(_mostly):
        words.append(draw(st.sampled_from(WORDS)))
    return [name, *words]


_mostly = st.sampled_from([True] * 15 + [False])


def _value_of(parameter: Any) -> st.SearchStrategy[str]:
    """Draw the value of an argument or an option, mostly a good one."""
    if parameter.multiple:
        return changes()
    numbers = parameter.type_descriptor.annotation in (int, int | None, float)
    good = st.sampled_from(GOOD.get(parameter.name, ["0", "1", "2", "3"] if numbers else WORDS))
    bad = st.sampled_from(BAD.get(parameter.name, NUMBERS if numbers else WORDS))
    return st.one_of(*[good] * 10, bad, bad, st.sampled_from([*NUMBERS, *WORDS]))


@st.composite
def examples(draw: st.DrawFn) -> Example:
    """Draw everything that a command meets."""
    typed = ["1", "#0", "#9999", "r 0 3", "h", "all", "hints", "é", "", "\udcff", "9" * 99]
    lines = st.lists(st.sampled_from(typed), max_size=5)
    words = draw(command_lines())
    base = {"train": TRAIN, "tournament": TOURNAMENT, "tune": TUNE}.get(words[0])
    return Example(
        words=words,
        config=draw(yaml_files([base] if base else BASES)),
        stdin="\n".join(draw(lines)),
        cache=draw(st.sampled_from([*["cache"] * 4, "file.txt", "file.txt/x", "/dev/null", "bad-cache"])),
        columns=draw(st.sampled_from([80, 40, 20, 1, 200])),
    )


# The folder ------------------------------------------------------------------------------------------------------


class World:
    """A folder with everything that a command line can name, put back as it was after each command.

    Args:
        pristine: the folder as it is to be; a copy of it is the working folder.
        folder: where the copy is made.
    """

    def __init__(self, pristine: Path, folder: Path) -> None:
        self.pristine = pristine
        self.folder = folder
        self._restore()

    def _restore(self) -> None:
        shutil.rmtree(self.folder, ignore_errors=True)
        shutil.copytree(self.pristine, self.folder, symlinks=True, ignore=shutil.ignore_patterns("pipe"))
        os.mkfifo(self.folder / "pipe")
        self._before = self._snapshot()

    def _snapshot(self) -> dict[str, tuple[Any, ...]]:
        """Return what is at each path: its kind and content."""
        found: dict[str, tuple[Any, ...]] = {}
        for path in self.folder.rglob("*"):
            mode = path.lstat().st_mode
            content = None
            if stat.S_ISREG(mode):
                content = path.read_bytes()
            elif stat.S_ISLNK(mode):
                content = os.fsencode(os.readlink(path))
            found[str(path.relative_to(self.folder))] = (stat.S_IFMT(mode), content)
        return found

    def write(self, config: bytes) -> None:
        (self.folder / "fuzz.yaml").write_bytes(config)
        self._before["fuzz.yaml"] = (stat.S_IFREG, config)

    def check(self, words: list[str]) -> None:
        """Assert that nothing changed but what the command was told to write, and put everything back."""
        after = self._snapshot()
        given = [os.path.normpath(word.partition("=")[2] or word) for word in words]
        resumed = given if "--resume" in words else []
        reports = given if "--report" in words else []
        rewritable = {os.path.relpath(os.path.realpath(self.folder / word), self.folder) for word in reports}
        for name, was in self._before.items():
            if after.get(name) == was or _is_in(name, ["cache", "bad-cache", *resumed]):
                continue
            regular = name in after and after[name][0] == was[0] == stat.S_IFREG
            assert regular and name in rewritable, f"{words} changed {name}"
        for name in after.keys() - self._before.keys():
            above = any(word.startswith(f"{name}/") for word in given)
            assert above or _is_in(name, ["runs", "cache", "bad-cache", *given, *rewritable]), f"{words} made {name}"
        if after != self._before:
            self._restore()


def _is_in(name: str, folders: Iterable[str]) -> bool:
    return any(name == folder or name.startswith(f"{folder}/") for folder in folders)


def make_pristine(folder: Path, run: Path, stopped: Path, tournament: Path, cache: Path) -> None:
    """Fill a folder with files, folders, configurations, runs, models and tables, good and damaged.

    Args:
        folder: an empty folder.
        run: the folder of a run that is complete.
        stopped: the folder of one that was stopped.
        tournament: the folder of a tournament.
        cache: a folder of tables.
    """
    for name, config in (("train", TRAIN), ("tournament", TOURNAMENT), ("tune", TUNE)):
        (folder / f"{name}.yaml").write_text(yaml.safe_dump(config))
    (folder / "list.yaml").write_text("- 1\n")
    (folder / "é.yaml").write_text("game: no_dice\n")
    (folder / "file.txt").write_text("precious")
    (folder / "empty").touch()
    (folder / "folder").mkdir()
    (folder / "folder" / "file.txt").write_text("precious too")
    (folder / "cache").mkdir()
    for link, target in (("link", "file.txt"), ("link-to-pipe", "pipe"), ("loop", "loop"), ("broken-link", "nowhere")):
        (folder / link).symlink_to(target)
    (folder / "empty-folder").mkdir()
    shutil.copytree(tournament, folder / "tournament")
    shutil.copytree(run, folder / "run")
    shutil.copytree(stopped, folder / "stopped")
    shutil.copytree(stopped, folder / "half-run")
    shutil.copytree(cache, folder / "bad-cache")
    for path in (*(folder / "half-run").rglob("*"), *(folder / "bad-cache").rglob("*")):
        if path.is_file():
            path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    shutil.copytree(run, folder / "damaged-run")
    for path in (folder / "damaged-run").rglob("*"):
        if path.is_file():
            path.write_bytes(b"garbage")
    model = (run / "model.zip").read_bytes()
    (folder / "model.zip").write_bytes(model)
    (folder / "half.zip").write_bytes(model[: len(model) // 2])
    (folder / "damaged.zip").write_bytes(bytes([*model[:300], *(byte ^ 0x55 for byte in model[300:900]), *model[900:]]))
    shutil.make_archive(str(folder / "other"), "zip", folder / "folder")
