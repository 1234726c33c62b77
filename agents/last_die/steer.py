"""A round of Last Die with `steer`: where somebody chooses, what follows on each choice, and what a policy is worth.

A *choice* is what lies before a thrower whose dice leave the hand: the dice in each hand, counted from the thrower to
the left and without those that leave; how many leave; and whether the thrower is still opening and has dice left to
throw. A *policy* (X, 7) says for each of X choices with what probability k dice are sent to the left. It is stationary
(it looks at nothing but the choice) and the same for everybody, wherever they sit. Given a policy, a round is a chain
like that of `trialea.agents.last_die.chain`, over the same positions.

Who opens the next round plays no part: points only add up, the rounds are as many as they are whatever is played, and
each begins afresh. So whoever wants the most points of the game wants the most points of each round.
"""

from __future__ import annotations

from functools import cache
from math import factorial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from trialea.agents.last_die.chain import (
    BASE,
    NUM_FACES,
    ROUND_OVER,
    Chain,
    Floats,
    Ints,
    after_throw,
    codes_of,
    make_chain,
    turned,
)
from trialea.envs.last_die.rules import NUM_DICE

ACTIONS = NUM_DICE + 1
NO_CHOICE = -1


class Choices(NamedTuple):
    """A round with `steer`: X choices, sorted by `codes`.

    Attributes:
        chain: the positions, and every way from one to another: E edges whose `chance` is without the policy's part.
        choice, action: (E,) int64, the choice that an edge passes through and what is chosen; `NO_CHOICE` and 0 where
            no dice leave the hand.
        codes: (X,) int64, see `choice_codes`.
        sent: (X,) int64, how many dice leave the hand.
        target, turn: (X, 7) int64, the position on each action and how many seats to the left its thrower sits;
            `ROUND_OVER` where there are not so many dice.
        level: (X,) int64, the level of those positions.
    """

    chain: Chain
    choice: Ints
    action: Ints
    codes: Ints
    sent: Ints
    target: Ints
    turn: Ints
    level: Ints

    @property
    def legal(self) -> NDArray[np.bool_]:
        """Which actions there are, (X, 7)."""
        legal: NDArray[np.bool_] = self.target != ROUND_OVER
        return legal

    def uniform(self) -> Floats:
        """The policy that gives every action the same chance."""
        policy: Floats = self.legal / self.legal.sum(axis=1, keepdims=True)
        return policy

    def under(self, policy: Floats) -> Chain:
        """The round as a chain when everybody plays by `policy`."""
        chosen = np.where(self.choice == NO_CHOICE, 1.0, policy[self.choice, self.action])
        return self.chain._replace(chance=self.chain.chance * chosen)

    def outcomes(self, values: Floats, choices: Ints) -> Floats:
        """What each seat may expect after each action in some choices, (G, 7, n); NaN where there is no such action.

        `values` (S, n) are the positions'; seats are counted from the chooser to the left.
        """
        target, turn = self.target[choices].ravel(), self.turn[choices].ravel()
        found = np.where((target == ROUND_OVER)[:, None], np.nan, turned(values[target], turn))
        return found.reshape(len(choices), ACTIONS, values.shape[1])


def choice_codes(hands: Ints, sent: Ints, opening: NDArray[np.bool_]) -> Ints:
    """The codes (B,) of choices: hands (B, n) from the chooser to the left, without the dice `sent` (B,)."""
    still = (opening & (hands[:, 0] > 0)).astype(np.int64)  # an empty hand ends the opening whatever is chosen
    codes: Ints = (still * ACTIONS + sent) * BASE ** hands.shape[1] + codes_of(hands)
    return codes


@cache
def make_choices(players: int, even_ends_round: bool) -> Choices:
    """The choices of a round at a table of so many players, under one reading of the last die's even face."""
    chain = make_chain(players, even_ends_round)
    rows: list[tuple[int, int, int, int, int, int]] = []  # source, target, turn, weight, code, action
    branches: dict[int, list[tuple[int, int]]] = {}
    for position, (hands, opening) in enumerate(zip(chain.hands.tolist(), chain.opening.tolist(), strict=True)):
        for sent, stay, ways in _throws_of(hands[0]):
            kept = [stay, *hands[1:]]
            if not sent:
                scores = sum(hands) == 1 and stay == 1
                ends = not any(kept) or (scores and even_ends_round)
                onward = (ROUND_OVER, 0) if ends else _position_after(chain, kept, opening)
                rows.append((position, *onward, ways, NO_CHOICE, 0))
                continue
            code = int(choice_codes(np.array([kept]), np.array([sent]), np.array([opening]))[0])
            if code not in branches:
                branches[code] = [
                    _position_after(chain, [stay, kept[1] + left, *kept[2:-1], kept[-1] + sent - left], opening)
                    for left in range(sent + 1)
                ]
            rows += [(position, *branch, ways, code, left) for left, branch in enumerate(branches[code])]
    source, target, turn, weight, through, action = np.array(rows, np.int64).T
    codes = np.array(sorted(branches), np.int64)
    targets, turns = np.full((len(codes), ACTIONS), ROUND_OVER), np.zeros((len(codes), ACTIONS), np.int64)
    for choice, key in enumerate(codes.tolist()):
        for left, branch in enumerate(branches[key]):
            targets[choice, left], turns[choice, left] = branch
    chance = weight / NUM_FACES ** chain.hands[source, 0]
    return Choices(
        chain=chain._replace(source=source, target=target, turn=turn, weight=weight, chance=chance),
        choice=np.where(through == NO_CHOICE, NO_CHOICE, np.searchsorted(codes, through)),
        action=action,
        codes=codes,
        sent=(targets != ROUND_OVER).sum(axis=1) - 1,
        target=targets,
        turn=turns,
        level=np.searchsorted(chain.levels, targets[:, 0], side="right"),
    )


def _throws_of(dice: int) -> list[tuple[int, int, int]]:
    """What a throw of so many dice may do: (leave the hand, stay, weight), a weight in 6^dice for each."""
    found = []
    for sent in range(dice + 1):
        for stay in range(dice + 1 - sent):
            out = dice - sent - stay
            ways = factorial(dice) // (factorial(sent) * factorial(stay) * factorial(out))
            found.append((sent, stay, ways * 2**sent * 3**stay))
    return found


def _position_after(chain: Chain, hands: list[int], opening: bool) -> tuple[int, int]:
    """The position in which the next throw is made, and how many seats to the left of the last thrower."""
    onward, still_opening, turn = after_throw(hands, opening)
    return chain.number(onward, still_opening), turn
