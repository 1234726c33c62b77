"""Reports: HTML pages of evaluations and tournaments."""
