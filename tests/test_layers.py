"""Tests of the order of packages: no module imports a higher layer, and no modules import each other in a circle.

The tests read the syntax trees, so they see every import: inside functions, under `TYPE_CHECKING`, in stubs, and in
strings such as `"trialea.agents.random:RandomAgent"`.
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
# From the lowest to the highest; `trialea` is the public package with the table of games.
LAYERS = ("envs", "agents", "configs", "evaluation", "training", "trialea", "benchmarks", "commands")
PLACE = re.compile(r"trialea(\.\w+)+(:\w+)?")


def module_files() -> dict[str, list[Path]]:
    """Return the files of every module: its source, and the stub if there is one."""
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
    """Return the layer of a module."""
    if module == "trialea.__main__":
        return "commands"
    parts = module.split(".")
    return parts[1] if len(parts) > 1 and parts[1] in LAYERS else "trialea"


def module_at(place: str) -> str | None:
    """Return the module that contains a dotted name: itself, or its longest part that is a module."""
    while place and place not in MODULES:
        place = place.rpartition(".")[0]
    return place or None


def places_in(module: str, path: Path) -> Iterator[str]:
    """Yield the dotted names that a file imports or names in a string."""
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
    """Return the other modules that each module imports."""
    graph = {}
    for module, paths in MODULES.items():
        found = {module_at(place) for path in paths for place in places_in(module, path)}
        graph[module] = {imported for imported in found if imported} - {module}
    return graph


GRAPH = import_graph()


def test_graph_contains_all_kinds_of_imports() -> None:
    """An import at the top, in a function, in a stub, for types only, and by a string."""
    for module, imported in (
        ("trialea.envs.single", "trialea.envs.game"),
        ("trialea.agents.loading", "trialea.agents.model"),
        ("trialea.envs", "trialea.envs.aec"),
        ("trialea.envs.last_die.names", "trialea.envs.game"),
        ("trialea.games", "trialea.agents.random"),
    ):
        assert imported in GRAPH[module], (module, imported)


@pytest.mark.parametrize("layer", LAYERS)
def test_layer_imports_no_higher_layer(layer: str) -> None:
    assert [
        f"{module} imports {other}"
        for module, imported in GRAPH.items()
        for other in imported
        if layer_of(module) == layer and LAYERS.index(layer_of(other)) > LAYERS.index(layer)
    ] == []


@pytest.mark.parametrize("layer", LAYERS)
def test_modules_of_a_layer_have_no_circular_imports(layer: str) -> None:
    """No circle spans several layers, as none imports a higher one. `prepare` raises if there is a circle."""
    own = {module for module in GRAPH if layer_of(module) == layer}
    TopologicalSorter({module: GRAPH[module] & own for module in own}).prepare()
