"""How often decisions, plans and searches are right. Knows nothing of clocks and pages."""
