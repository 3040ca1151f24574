"""Windows found among kept events, one file per family; all keys at once."""
