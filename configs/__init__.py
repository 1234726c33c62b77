"""Configurations that ship with the package, one file for each job."""
