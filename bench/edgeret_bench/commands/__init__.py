"""The benchmarks' commands, a module for each family: arguments, and text for people. The work is elsewhere."""
