"""Tournaments: every agent against every other, and the ratings that follow."""
