"""`python -m trialea`: the command line."""

from trialea.cli import main

if __name__ == "__main__":
    main()
