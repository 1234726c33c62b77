"""Poker Figures: five poker dice and a sheet of figures; fill rows before the others; all rows but one, and it ends."""

from trialea.envs.poker_figures import game, render, rules
from trialea.envs.poker_figures.names import action_name, observation_names, opening, why_illegal

__all__ = ["action_name", "game", "observation_names", "opening", "render", "rules", "why_illegal"]
