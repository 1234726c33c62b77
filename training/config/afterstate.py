"""The configuration of a training of an afterstate agent, see `trialea.training.afterstate`."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from trialea.configs.values import Whole
from trialea.training.config.base import Epochs, Measure, Ramp, Rows, RunSettings, Share, Times, Widths


class AfterstateConfig(RunSettings):
    """Everything that decides the training of an afterstate agent.

    Attributes:
        algorithm: always `"afterstate"`.
        games: games of self-play in the whole run.
        batch: games that are played together before each update.
        td_lambda: how far ahead the target of a position looks: from 0, the next position, to 1, the end of the game.
        epochs: the number of passes over each batch's positions.
        batch_size: positions in each step of Adam.
        learning_rate: the learning rate of Adam.
        hidden: the units of the network's hidden layers.
        checkpoints: the number of equal parts into which checkpoints divide the run.
        measure: the measurements during the run.
    """

    algorithm: Literal["afterstate"]
    games: Annotated[Whole, Field(ge=1, le=10**9)]
    batch: Annotated[Whole, Field(ge=1, le=10**6)] = 256
    td_lambda: Share = 0.8
    epochs: Epochs = 2
    batch_size: Rows = 1024
    learning_rate: Ramp = Ramp(start=1e-3, end=1e-5)
    hidden: Annotated[Widths, Field(min_length=1)] = (64, 32)
    checkpoints: Times = 10
    measure: Measure = Measure()
