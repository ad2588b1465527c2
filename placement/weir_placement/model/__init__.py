"""Small frozen types under every algorithm; units are in names or docstrings."""
