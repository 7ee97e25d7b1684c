"""A monitor under fire: scorers and broker are killed at random moments, then all is counted."""
