"""Matches, regret and reports."""
