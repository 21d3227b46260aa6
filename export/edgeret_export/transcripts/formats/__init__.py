"""Other people's records to conversations, one file a format. Knows nothing of files, requests and each other."""
