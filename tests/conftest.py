"""No test needs a screen, and none more than a core."""

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")  # the tests run in as many processes as there are cores
os.environ.setdefault("MPLBACKEND", "Agg")
os.environ.setdefault("SDL_VIDEODRIVER", "dummy")
os.environ.setdefault("PYGAME_HIDE_SUPPORT_PROMPT", "1")
