"""Saved state: what an engine writes down to go on later, in a format that outlives releases. No pickle."""
