"""Agents and exact solutions for No Dice. Start reading in `solver.py`."""
