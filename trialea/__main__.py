"""Start the command line: `python -m trialea`."""

from trialea.commands.main import main

if __name__ == "__main__":
    main()
