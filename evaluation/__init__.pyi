from .intervals import interval_of_mean as interval_of_mean, t_interval as t_interval, wilson as wilson
from .matches.game import play_game as play_game
from .matches.match import Decisions as Decisions, Match as Match, UnfinishedMatchError as UnfinishedMatchError
from .matches.play import play_match as play_match
from .measures.exact import (
    ExactEvaluation as ExactEvaluation,
    ExpectedRegretBin as ExpectedRegretBin,
    TabulatedPolicy as TabulatedPolicy,
    best_response as best_response,
    evaluate_exactly as evaluate_exactly,
    exact_value as exact_value,
    exploitability as exploitability,
    nash_conv as nash_conv,
    tabulate_policy as tabulate_policy,
)
from .measures.luck import (
    Luck as Luck,
    LuckMeter as LuckMeter,
    ValueFunction as ValueFunction,
    value_function_of as value_function_of,
)
from .measures.sample_size import games_needed as games_needed, units_needed as units_needed
from .reports.report import write_report as write_report, write_tournament_report as write_tournament_report
from .results import (
    AdjustedResult as AdjustedResult,
    AgentResult as AgentResult,
    Difference as Difference,
    Evaluation as Evaluation,
    GamesNeeded as GamesNeeded,
    Mistake as Mistake,
    PairResult as PairResult,
    Regret as Regret,
    RegretBin as RegretBin,
    SampleSize as SampleSize,
    SeatResult as SeatResult,
    WinRateBreakdown as WinRateBreakdown,
)
from .sampled import evaluate as evaluate
from .tournaments.config import TournamentConfig as TournamentConfig, load_tournament_config as load_tournament_config
from .tournaments.ratings import Lead as Lead, Ratings as Ratings
from .tournaments.standings import Tournament as Tournament
from .tournaments.tournament import (
    IncompleteTournamentError as IncompleteTournamentError,
    read_tournament as read_tournament,
    resume_tournament as resume_tournament,
    run_tournament as run_tournament,
)
