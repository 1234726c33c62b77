"""Speed against peers, each as a ratio measured in one run: `trialea bench`, or `python -m trialea.benchmarks`."""

from trialea.benchmarks.run import BENCHMARKS, run

__all__ = ["BENCHMARKS", "run"]
