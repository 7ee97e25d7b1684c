"""What a provider's answers mean: errors, refusals, and what asking again can heal."""
