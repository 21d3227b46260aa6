"""Result files, side by side and on one page. Knows nothing of how anything was measured."""
