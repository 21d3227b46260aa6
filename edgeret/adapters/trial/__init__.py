"""Requests tried at a terminal: decided while they are typed, accepted, corrected, learned and written down. Asks the
facade alone; the terminal is textual's."""
