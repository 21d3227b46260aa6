"""What the three command lines share: parsers, one-line errors, tables, whole files, progress. Knows no command."""
