"""Agents and solved parts of Poker Figures."""
