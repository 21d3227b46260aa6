"""Demonstrations that builds alone check: whether their calls fit the tools, and in which orders they may stand."""
