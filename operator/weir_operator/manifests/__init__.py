"""From files, or from the API server's objects, to one planning problem; every error told at once."""
