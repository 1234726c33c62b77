"""Matches between agents: who sits where with which dice, and how the games are played."""
