"""How long decisions take, and what they cost. Knows nothing of what is right."""
