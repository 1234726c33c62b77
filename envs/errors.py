"""The errors that the library raises on purpose. Each message names what is wrong, the value, and the remedy."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from difflib import get_close_matches


class TrialeaError(Exception):
    """Base class of every error that `trialea` raises on purpose."""


class IllegalActionError(TrialeaError, ValueError):
    """An action that the rules do not allow in the position, is out of range, or is not a whole number.

    Nothing has changed: a legal action may follow.
    """


class AgentError(TrialeaError):
    """An agent raised an exception when it was asked for actions, or chose an illegal one as an environment's opponent.

    The first exception is the `__cause__`.
    """


class DisplayError(TrialeaError, RuntimeError):
    """A window could not be opened."""


class OptionError(TrialeaError, ValueError):
    """An unknown option, or a value outside its range."""


class UnknownOptionError(OptionError, TypeError):
    """A keyword that the game or environment does not take; a `TypeError` as well, as for any Python function."""


class UnknownNameError(TrialeaError, ValueError):
    """A name that is not registered; the message lists the names that are."""


class NotResetError(TrialeaError, RuntimeError):
    """A method was called before `reset`, or after the episode's end."""


class FileError(TrialeaError, OSError):
    """A file or folder that can't be written; the message names it, and what to do."""


class InUseError(TrialeaError, RuntimeError):
    """A folder or file in which another process writes; the message names the process."""


class MissingExtraError(TrialeaError, ImportError):
    """An optional dependency is missing. The message names the extra to install."""


@contextmanager
def needs_extra(extra: str, purpose: str, *modules: str) -> Iterator[None]:
    """Turn a failed import of one of these modules into an error that names the extra to install.

    Any other failed import passes unchanged: it is a fault in the code or the installation, and no extra would help.

    Args:
        extra: the extra of `trialea` that installs the modules.
        purpose: the work that needs the modules, in words.
        modules: top-level modules.

    Raises:
        MissingExtraError: one of the modules is not installed.
    """
    try:
        yield
    except ModuleNotFoundError as error:
        missing = (error.name or "").partition(".")[0]
        if missing not in modules:
            raise
        raise MissingExtraError(
            f"{purpose} needs {missing!r}, which is not installed. Install it with: pip install 'trialea[{extra}]'"
        ) from error


def did_you_mean(name: object, known: Iterable[str]) -> str:
    """Return a sentence with the known name nearest to a mistyped one, after a space; empty if no name is near."""
    near = get_close_matches(str(name), known, n=1)
    return f" Did you mean {near[0]!r}?" if near else ""
