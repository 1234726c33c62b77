"""No Dice (*Dadorik ez!*): five odd dice; make an expression as near to zero as you can; at the target you are out."""

from trialea.envs.no_dice import game, names, render, rules

__all__ = ["game", "names", "render", "rules"]
