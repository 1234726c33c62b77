"""Matches between agents: the seats and dice of each game, and the play of the games."""
