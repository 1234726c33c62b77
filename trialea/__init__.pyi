from .agents.solving import Solution as Solution, solve as solve
from .envs.agent import Agent as Agent, make_agent as make_agent
from .envs.errors import (
    AgentError as AgentError,
    DisplayError as DisplayError,
    FileError as FileError,
    IllegalActionError as IllegalActionError,
    InUseError as InUseError,
    MissingExtraError as MissingExtraError,
    NotResetError as NotResetError,
    OptionError as OptionError,
    TrialeaError as TrialeaError,
    UnknownNameError as UnknownNameError,
    UnknownOptionError as UnknownOptionError,
)
from .envs.game import Game as Game, States as States, make_game as make_game
from .envs.registration import register_variant as register_variant
from .envs.registry import GAMES as GAMES, GameSpec as GameSpec

__version__: str
