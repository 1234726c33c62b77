"""The order of the packages: lower layers know nothing of higher ones, and no modules import each other in a circle.

The test reads the syntax trees, so it sees every import: inside functions, under `TYPE_CHECKING`, in the stubs of
packages, and modules that are named by a string, as in `"trialea.agents.random:RandomAgent"`.
"""

from __future__ import annotations

import ast
import re
import tomllib
from collections.abc import Iterator
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
# From the lowest to the highest; `trialea` is the package's face with the table of games.
LAYERS = ("envs", "agents", "configs", "evaluation", "training", "trialea", "benchmarks", "commands")
PLACE = re.compile(r"trialea(\.\w+)+(:\w+)?")


def module_files() -> dict[str, list[Path]]:
    """The files of every module: its source, and the stub of a package that has one."""
    with (ROOT / "pyproject.toml").open("rb") as file:
        folders: dict[str, str] = tomllib.load(file)["tool"]["setuptools"]["package-dir"]
    found: dict[str, list[Path]] = {}
    for package, folder in folders.items():
        for path in sorted((ROOT / folder).rglob("*.py*")):
            if path.suffix in (".py", ".pyi"):
                parts = path.relative_to(ROOT / folder).with_suffix("").parts
                name = ".".join([package, *(part for part in parts if part != "__init__")])
                found.setdefault(name, []).append(path)
    return found


MODULES = module_files()


def layer_of(module: str) -> str:
    if module == "trialea.__main__":
        return "commands"
    parts = module.split(".")
    return parts[1] if len(parts) > 1 and parts[1] in LAYERS else "trialea"


def module_at(place: str) -> str | None:
    """The module in which the dotted name `place` is found: itself, or the longest part that is a module."""
    while place and place not in MODULES:
        place = place.rpartition(".")[0]
    return place or None


def places_in(module: str, path: Path) -> Iterator[str]:
    """The dotted names that a file imports or names in a string."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    package = module if path.stem == "__init__" else module.rpartition(".")[0]
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = package.rsplit(".", node.level - 1)[0] if node.level else ""
            source = ".".join(part for part in (above, node.module) if part)
            yield from (f"{source}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and PLACE.fullmatch(node.value):
            place = node.value.replace(":", ".")
            yield from [place] if module_at(place) != "trialea" else []  # such as "trialea.json"


def import_graph() -> dict[str, set[str]]:
    """What each module imports of the others."""
    graph = {}
    for module, paths in MODULES.items():
        found = {module_at(place) for path in paths for place in places_in(module, path)}
        graph[module] = {imported for imported in found if imported} - {module}
    return graph


GRAPH = import_graph()


def test_the_graph_holds_what_is_known_of_it() -> None:
    """An import at the top, one in a function, one in a stub, one for types alone, and one by a string."""
    for module, imported in (
        ("trialea.envs.single", "trialea.envs.game"),
        ("trialea.agents.loading", "trialea.agents.model"),
        ("trialea.envs", "trialea.envs.aec"),
        ("trialea.envs.last_die.names", "trialea.envs.game"),
        ("trialea.games", "trialea.agents.random"),
    ):
        assert imported in GRAPH[module], (module, imported)


@pytest.mark.parametrize("layer", LAYERS)
def test_a_layer_imports_none_above_it(layer: str) -> None:
    assert [
        f"{module} imports {other}"
        for module, imported in GRAPH.items()
        for other in imported
        if layer_of(module) == layer and LAYERS.index(layer_of(other)) > LAYERS.index(layer)
    ] == []


@pytest.mark.parametrize("layer", LAYERS)
def test_no_modules_of_a_layer_import_each_other_in_a_circle(layer: str) -> None:
    """No circle can reach over several layers, as none imports a higher one. `prepare` raises if there is a circle."""
    own = {module for module in GRAPH if layer_of(module) == layer}
    TopologicalSorter({module: GRAPH[module] & own for module in own}).prepare()
