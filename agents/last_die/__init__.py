"""Agents and exact solutions for Last Die."""
