"""Files of recorded requests: with the calls that solved them, the tools that fit them, or turn by turn. Reads and
checks them for builds and measurements; a device reads none."""
