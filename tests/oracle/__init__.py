"""Slow, independent oracles: each game implemented a second time from the rules in its page of the docs, with plain
loops and exact fractions.
"""
