"""Last Die (*L'ultimo dado*): six dice wander round the table; who holds the last one in play throws for points."""

from trialea.envs.last_die import game, render, rules
from trialea.envs.last_die.names import action_name, observation_names, opening, why_illegal

__all__ = ["action_name", "game", "observation_names", "opening", "render", "rules", "why_illegal"]
