"""`python -m trialea.benchmarks`: run all benchmarks and print their figures as JSON."""

import json

from trialea.benchmarks import run

if __name__ == "__main__":
    print(json.dumps(run(), indent=2))
