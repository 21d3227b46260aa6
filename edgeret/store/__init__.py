"""Versions of a bundle side by side, one of them active, and the way from one to the next while others decide."""
