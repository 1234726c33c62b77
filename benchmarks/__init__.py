"""Speed compared with peers, as ratios from one run: `trialea bench`, or `python -m trialea.benchmarks`."""

from trialea.benchmarks.run import BENCHMARKS, run

__all__ = ["BENCHMARKS", "run"]
