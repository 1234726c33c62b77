from . import zoo as zoo
from .afterstate import AfterstateAgent as AfterstateAgent
from .human import GameQuit as GameQuit, HumanAgent as HumanAgent
from .loading import load_agent as load_agent
from .model import ModelAgent as ModelAgent, PolicyError as PolicyError
from .model_file import ModelFileError as ModelFileError
from .random import RandomAgent as RandomAgent
from .seats import SeatsAgent as SeatsAgent
from .solving import Solution as Solution, solve as solve, solver_settings as solver_settings
