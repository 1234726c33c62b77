"""Measures of play: regret, luck, exact values, and the intervals round them."""
