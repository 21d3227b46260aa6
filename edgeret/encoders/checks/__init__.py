"""Structure and cost of an encoder's files, proved before a native parser sees them. Knows nothing of bundles."""
