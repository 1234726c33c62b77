"""Poker Figures as a PettingZoo environment: `env()`, and `raw_env()`, which is the same, its checks being built in."""

from trialea.envs.aec import constructor

env = raw_env = constructor("poker_figures")
