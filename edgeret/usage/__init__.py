"""What a runtime did all day: who is told of it, a log of it, and what a log says. Knows nothing of how anything is
decided."""
