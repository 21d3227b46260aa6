"""The decision as a C library (core/include/edgeret.h), from Python. Knows nothing of what becomes of decisions."""
