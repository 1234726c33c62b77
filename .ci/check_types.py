"""Reveal the types of every public name, as mypy and pyright see them on the installed package.

Usage: python check_types.py FOLDER, where the wheel is installed in FOLDER. Exits with a message if the type of a name
is unknown, or if a function returns `Any`.
"""

import re
import subprocess
import sys
from importlib import import_module
from pathlib import Path

PACKAGES = ("trialea", "trialea.envs", "trialea.agents", "trialea.evaluation", "trialea.training")
# What users do with the names: (expression, the type that it must have).
USES = (
    ('trialea.make_game("no_dice")', "trialea.envs.game.Game"),
    ('trialea.make_agent("random", trialea.make_game("no_dice"))', "trialea.envs.agent.Agent"),
    ('trialea.solve(trialea.make_game("no_dice"))', "trialea.agents.solving.Solution"),
    ('trialea.GAMES["no_dice"]', "trialea.envs.registry.GameSpec"),
    ('trialea.envs.SingleAgentEnv("no_dice")', "trialea.envs.single.SingleAgentEnv"),
    ("trialea.envs.no_dice_v0.env(target=20)", "trialea.envs.aec.MultiAgentEnv"),
)


def program() -> tuple[str, list[str]]:
    """Return a program that reveals one type in each line from the second on, and what each line reveals."""
    names = [f"{package}.{name}" for package in PACKAGES for name in import_module(package).__all__]
    shown = names + [expression for expression, _ in USES]
    lines = [f"import {', '.join(PACKAGES)}", *(f"reveal_type({expression})" for expression in shown)]
    return "\n".join(lines) + "\n", shown


def revealed(command: list[str], pattern: str, folder: Path) -> dict[int, str]:
    """Return the type that a checker reveals in each line."""
    done = subprocess.run(command, capture_output=True, text=True, cwd=folder)
    found = {int(line): kind for line, kind in re.findall(pattern, done.stdout, re.MULTILINE)}
    if not found:
        sys.exit(f"{' '.join(command)} revealed nothing:\n{done.stdout}{done.stderr}")
    return found


def main() -> None:
    """Exit with a message if a checker sees a name whose type is unknown."""
    folder = Path(sys.argv[1]).resolve()
    sys.path.insert(0, str(folder))
    text, shown = program()
    (folder / "reveal.py").write_text(text, encoding="utf-8")
    bin_folder = Path(sys.executable).parent
    checkers = {
        "mypy": revealed(
            [str(bin_folder / "mypy"), "--strict", "--no-error-summary", "reveal.py"],
            r'^reveal\.py:(\d+): note: Revealed type is "(.*)"$',
            folder,
        ),
        "pyright": revealed(
            [str(bin_folder / "basedpyright"), "--pythonpath", sys.executable, "reveal.py"],
            r"reveal\.py:(\d+):\d+ - information: Type of .* is \"(.*)\"$",
            folder,
        ),
    }
    problems = []
    for checker, kinds in checkers.items():
        for line, name in enumerate(shown, 2):
            kind = kinds.get(line, "nothing")
            if kind in ("nothing", "Any", "Unknown") or re.search(r"-> (Any|Unknown)$", kind):
                problems.append(f"{checker} sees {kind} as the type of {name}")
        for line, (expression, wanted) in enumerate(USES, len(shown) - len(USES) + 2):
            if kinds.get(line, "").rpartition(".")[2] != wanted.rpartition(".")[2]:
                problems.append(f"{checker} sees {kinds.get(line)}, not {wanted}, as the type of {expression}")
    if problems:
        sys.exit("\n".join(problems))
    print(f"mypy and pyright know the types of {len(shown)} public names and uses")


if __name__ == "__main__":
    main()
