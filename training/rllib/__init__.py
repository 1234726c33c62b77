"""Training on one machine or many with RLlib: PPO with action masks, every seat a learner."""
