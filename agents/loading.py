"""Load agents from the zoo, a model file or a run folder, for names that are not in a game's entry.

`trialea.games` registers `load_agent` as the loader that `make_agent` calls for such names.
"""

from __future__ import annotations

import os

from trialea.agents import zoo
from trialea.envs.agent import Agent
from trialea.envs.errors import UnknownNameError, did_you_mean
from trialea.envs.game import Game
from trialea.envs.registry import get_spec


def load_agent(name: str, game: Game) -> Agent:
    """Return the agent in the zoo if `name` is `zoo:NAME`, else the agent in the model file or run folder at `name`.

    Raises:
        UnknownNameError: the zoo has no such agent, or no file or folder has this path; lists the known names.
        ModelFileError: the file is damaged, or its model is for another game.
    """
    if name.startswith(zoo.PREFIX):
        agent = _load_model(str(zoo.file_of(game.name, name)), game)
        agent.name = name
        return agent
    if os.path.exists(name):
        return _load_model(name, game)
    players = game.num_players
    raise UnknownNameError(
        f"{game.name} has no agent {name!r} for {players} players, and no model or run folder has this path."
        f"{did_you_mean(name, [*get_spec(game.name).agents_for(players), *zoo.names(game.name)])}"
        f" Agents for {players} players: {', '.join(get_spec(game.name).agents_for(players))};"
        f" in the zoo: {', '.join(zoo.names(game.name)) or 'none'}; or give the path of a run folder or a model file"
    )


def _load_model(path: str, game: Game) -> Agent:
    """Return the agent in a model file or run folder, of whatever kind it is."""
    from trialea.agents.model import ModelAgent
    from trialea.agents.model_file import find_model, kind_of

    kind = kind_of(find_model(path))
    if kind == "afterstate":
        from trialea.agents.afterstate import AfterstateAgent

        return AfterstateAgent.load(path, game)
    if kind == "seats":
        from trialea.agents.seats import SeatsAgent

        return SeatsAgent.load(path, game)
    return ModelAgent.load(path, game)
