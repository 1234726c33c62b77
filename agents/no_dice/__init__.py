"""Agents and exact solutions for No Dice. `solver.py` is the way in; the others are its parts."""
