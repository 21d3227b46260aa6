"""What the C library computes, in plain Python and numpy, along docs/FORMAT.md: heads are fitted with it, experiments
vary a part of it, and the library is judged by it. Nothing on a device imports it; it knows nothing of builds."""
