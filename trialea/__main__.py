"""`python -m trialea`: the command line."""

from trialea.commands.app import main

if __name__ == "__main__":
    main()
