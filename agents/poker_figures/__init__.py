"""Agents and exact solutions for Poker Figures. `solver.py` is the way in."""
