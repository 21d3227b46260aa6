"""A planner's way into a bundle, and what its word is worth. Knows nothing of encoders."""
