"""Compare a wheel with the tree: every file of the mapped folders is in it, and nothing else is.

Usage: python .ci/check_wheel.py dist/trialea-….whl
"""

import sys
import tomllib
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def expected_files() -> set[str]:
    """Names inside the wheel of all files that the mapped folders hold, caches left out."""
    with (ROOT / "pyproject.toml").open("rb") as file:
        mapping: dict[str, str] = tomllib.load(file)["tool"]["setuptools"]["package-dir"]
    names = set()
    for package, folder in mapping.items():
        for path in (ROOT / folder).rglob("*"):
            if path.is_file() and path.parent.name != "__pycache__" and not path.name.startswith("."):
                inside = path.relative_to(ROOT / folder).as_posix()
                names.add(f"{package.replace('.', '/')}/{inside}")
    return names


def main() -> None:
    """Exit with a message if the wheel lacks a file or has one too many."""
    with zipfile.ZipFile(sys.argv[1]) as wheel:
        found = {name for name in wheel.namelist() if ".dist-info/" not in name}
    expected = expected_files() | {"trialea/py.typed"}
    problems = [f"not in the wheel: {name}" for name in sorted(expected - found)]
    problems += [f"in the wheel, not in the tree: {name}" for name in sorted(found - expected)]
    if problems:
        hint = "A new package needs a line in [tool.setuptools] packages, a data file one in package-data."
        sys.exit("\n".join([*problems, hint]))
    print(f"{Path(sys.argv[1]).name} is complete: {len(found)} files")


if __name__ == "__main__":
    main()
