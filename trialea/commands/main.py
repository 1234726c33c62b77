"""Run the command line. Every error ends in one line on standard error and an exit status.

| status | meaning |
| --- | --- |
| 0 | done |
| 1 | the reader of standard output has closed it, as `head` does |
| 2 | refused: the input is wrong, or a file can't be read or written |
| 70 | a bug in trialea |
| 130 | stopped by Ctrl-C |

With `TRIALEA_TRACEBACK=1` the traceback of an error is printed before its line. The commands are imported inside `run`,
so that Ctrl-C and errors during the imports end in the same way.
"""

from __future__ import annotations

import os
import sys
import traceback
import warnings
from collections.abc import Sequence
from typing import Any

DONE, CLOSED, REFUSED, BUG, STOPPED = 0, 1, 2, 70, 130


def main() -> None:
    """Run the command that `sys.argv` holds, and exit with its status."""
    status = run(sys.argv[1:])
    try:
        sys.stdout.flush()
    except (AttributeError, OSError):  # closed by its reader; Python would complain when it flushes again at exit
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    sys.exit(status)


def run(words: Sequence[str]) -> int:
    """Run a command and return its exit status.

    Args:
        words: the words after `trialea` on the command line.
    """
    try:
        return _run(words)
    except KeyboardInterrupt as stop:
        return _complain(str(stop) or "stopped", STOPPED)


def _run(words: Sequence[str]) -> int:
    from typer import Exit
    from typer.exceptions import TyperException

    from trialea.commands.app import command
    from trialea.commands.console import accept_any_text, telling_of_compiling
    from trialea.envs.errors import TrialeaError

    accept_any_text()
    with warnings.catch_warnings(), telling_of_compiling():
        warnings.showwarning = _show_warning
        try:
            with command.make_context("trialea", list(words)) as context:
                command.invoke(context)
            if sys.stdout is not None:
                sys.stdout.flush()
            return DONE
        except Exit as done:
            return done.exit_code
        except BrokenPipeError:
            return CLOSED
        except TyperException as error:
            return _complain(_usage(error), REFUSED)
        except TrialeaError as error:
            return _complain(str(error), REFUSED)
        except OSError as error:
            return _complain(_of_system(error), REFUSED)
        except MemoryError as error:
            reason = f": {error}" if str(error) else ""
            return _complain(f"there is not enough memory{reason}. Ask for less, or for smaller games", REFUSED)
        except Exception as error:
            remedy = "This is a bug in trialea; please report it. TRIALEA_TRACEBACK=1 shows where it is"
            return _complain(f"{type(error).__name__}: {error}. {remedy}", BUG)


def _usage(error: Any) -> str:
    """Return an error about the words of a command as one sentence, with a pointer to the help."""
    message = error.format_message().strip()
    context = getattr(error, "ctx", None)
    end = "" if message.endswith((".", "?")) else "."
    where = f"{end} See {context.command_path} --help" if context else ""
    return f"{message[:1].lower()}{message[1:]}{where}"


def _of_system(error: OSError) -> str:
    """Return an error of the operating system, starting with the file that it is about."""
    if error.strerror is None:
        return str(error)
    files = [os.fsdecode(file) for file in (error.filename, error.filename2) if isinstance(file, (str, bytes))]
    return ": ".join([*files, error.strerror[:1].lower() + error.strerror[1:]])


def _complain(message: str, status: int) -> int:
    """Print an error as one line on standard error, and return the exit status."""
    from trialea.commands.console import on_one_line, tell

    if os.environ.get("TRIALEA_TRACEBACK"):
        traceback.print_exc()
    try:
        tell(f"trialea: {on_one_line(message)}", "red")
    except OSError:  # standard error can't be written either
        pass
    return status


def _show_warning(message: Warning | str, *_: Any, **__: Any) -> None:
    from trialea.commands.console import on_one_line, tell

    tell(f"trialea: warning: {on_one_line(str(message))}", "yellow")
