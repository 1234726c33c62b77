"""Poker Figures: five poker dice and a sheet of figures; fill rows before the others; all rows but one, and it ends."""

from trialea.envs.poker_figures import game, names, render, rules

__all__ = ["game", "names", "render", "rules"]
