"""Last Die (*L'ultimo dado*): six dice wander round the table; who holds the last one in play throws for points."""

from trialea.envs.last_die import game, names, render, rules

__all__ = ["game", "names", "render", "rules"]
