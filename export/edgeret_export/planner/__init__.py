"""A planner's way into a bundle, what its word is worth, and how one is taught to search. Knows nothing of encoders."""
