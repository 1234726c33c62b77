"""Poker Figures as a PettingZoo environment.

`env()` and `raw_env()` are the same function, since the checks are built in.
"""

from trialea.envs.aec import constructor

env = raw_env = constructor("poker_figures")
