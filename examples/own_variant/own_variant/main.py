"""Train an agent for Quick No Dice, play it against the exact solution, and compute exactly how good it is."""

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import trialea
from own_variant import make_game
from trialea.evaluation import evaluate
from trialea.evaluation.measures.exact import evaluate_exactly
from trialea.training import load_config, train

CONFIG = Path(__file__).with_name("training.yaml")


def run(folder: str, changes: Sequence[str] = (), games: int = 3000) -> dict[str, Any]:
    """Train an agent in a run folder, with changes to the configuration, and measure it.

    Returns:
        `win_rate` and `interval` against two solvers, and `regret` per decision (thousandths of a win), from `games`
        games. Exactly: `value`, the probability of winning against two solvers (1/3 is perfect), and `exploitability`,
        how much more than 1/3 a best response to two copies of the agent wins.
    """
    train(load_config(CONFIG, changes), folder)
    game = make_game()
    played = evaluate(game, [folder, "solver", "solver"], num_games=games, seed=1)
    exact = evaluate_exactly(game, folder)
    agent = next(iter(played.agents.values()))
    assert agent.regret is not None and exact.value_vs_equilibrium is not None
    return {
        "win_rate": agent.win_rate,
        "interval": agent.interval,
        "regret": agent.regret.per_decision,
        "value": exact.value_vs_equilibrium,
        "exploitability": exact.exploitability,
    }


def main() -> None:
    """Run the command `own-variant`."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", default="runs/quick_no_dice", help="the run folder")
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="change the training")
    given = parser.parse_args()
    first = trialea.solve(make_game()).value(0, 0, 0)
    print(f"The first player wins {first:.2%} of the games if everybody plays perfectly.")
    found = run(given.out, given.set)
    low, high = found["interval"]
    print(f"Against two solvers the agent wins {found['win_rate']:.1%} of the games ({low:.1%} to {high:.1%}),")
    print(f"exactly {found['value']:.4f}; 1/3 would be perfect. Regret per decision: {found['regret']:.2f} milli-wins.")
    print(f"Exploitability: {found['exploitability']:.4f}.")


if __name__ == "__main__":
    main()
