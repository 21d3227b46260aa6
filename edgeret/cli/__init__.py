"""Arguments and printing. Knows nothing of how anything is done."""
