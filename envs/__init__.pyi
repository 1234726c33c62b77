from . import last_die_v0 as last_die_v0, no_dice_v0 as no_dice_v0, poker_figures_v0 as poker_figures_v0
from .aec import MultiAgentEnv as MultiAgentEnv
from .agent import (
    ActionValues as ActionValues,
    Agent as Agent,
    AgentLike as AgentLike,
    HasProbabilities as HasProbabilities,
    is_deterministic as is_deterministic,
    make_agent as make_agent,
)
from .errors import (
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
from .game import Game as Game, Reward as Reward, States as States, make_game as make_game
from .learner import LearnerBatch as LearnerBatch, Seat as Seat
from .opponents import OpponentsLike as OpponentsLike
from .padding import ObservationPadder as ObservationPadder
from .registration import register_variant as register_variant
from .registry import GAMES as GAMES, GameSpec as GameSpec
from .single import SingleAgentEnv as SingleAgentEnv
from .vector import BatchedEnv as BatchedEnv
