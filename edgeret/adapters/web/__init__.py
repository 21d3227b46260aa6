"""What every server of ours on a port has in common: bounds for clients, who may ask, framing, refusals, a loop that
starts and ends in order. Knows HTTP, and nothing of tools and decisions."""
