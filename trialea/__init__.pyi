from .agents.solving import Solution as Solution, solve as solve
from .envs.agent import Agent as Agent, make_agent as make_agent
from .envs.errors import (
    IllegalActionError as IllegalActionError,
    MissingExtraError as MissingExtraError,
    NotResetError as NotResetError,
    OptionError as OptionError,
    TrialeaError as TrialeaError,
    UnknownNameError as UnknownNameError,
)
from .envs.game import Game as Game, States as States, make_game as make_game
from .envs.registration import register_variant as register_variant
from .envs.registry import GAMES as GAMES, GameSpec as GameSpec

__version__: str
