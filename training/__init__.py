"""Training with stable-baselines3 on the batched engine."""
