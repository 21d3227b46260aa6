"""One request, and the life of a tool set: load, decide, plan. Knows nothing of formats and frameworks."""
