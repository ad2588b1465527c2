"""How hypothesis searches: `make test` tries the same examples every time, `make fuzz` new ones."""

from hypothesis import settings

settings.register_profile("test", derandomize=True, deadline=None)
settings.register_profile("fuzz", deadline=None, print_blob=True)  # by --hypothesis-profile
settings.load_profile("test")
