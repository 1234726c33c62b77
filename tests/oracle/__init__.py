"""Slow, independent oracles: each game written again from RULES.md in plain loops and exact rationals."""
