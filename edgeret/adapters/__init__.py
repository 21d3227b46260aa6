"""Other people's shapes to edgeret's facade and back; uses what `import edgeret` offers and knows nothing of what lies
behind it."""
