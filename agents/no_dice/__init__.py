"""Agents and exact solutions for No Dice."""
