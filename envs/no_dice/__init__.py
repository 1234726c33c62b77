"""No Dice (*Dadorik ez!*): five odd dice; make an expression as near to zero as you can; at the target you are out."""

from trialea.envs.no_dice import game, render, rules
from trialea.envs.no_dice.names import action_name, observation_names, opening, why_illegal

__all__ = ["action_name", "game", "observation_names", "opening", "render", "rules", "why_illegal"]
