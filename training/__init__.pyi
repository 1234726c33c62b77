from .config import (
    AfterstateConfig as AfterstateConfig,
    Measure as Measure,
    Ppo as Ppo,
    Ramp as Ramp,
    Range as Range,
    RllibConfig as RllibConfig,
    RllibPpo as RllibPpo,
    RunConfig as RunConfig,
    Stage as Stage,
    TrainConfig as TrainConfig,
    TuneConfig as TuneConfig,
    load_config as load_config,
    load_tuning_config as load_tuning_config,
    shipped_configs as shipped_configs,
    shipped_tuning_configs as shipped_tuning_configs,
)
from .policy import masked_ppo as masked_ppo
from .run import resume as resume, train as train
from .tuning import SearchResult as SearchResult, TrialResult as TrialResult, tune as tune
from .vec_env import GamesVecEnv as GamesVecEnv
