"""How hypothesis searches: `make test` tries the same examples every time, `make fuzz` new ones."""

from hypothesis import settings

# Named, since where CI is set hypothesis begins with another profile, which has no random examples.
DEFAULT = settings.get_profile("default")
settings.register_profile("test", DEFAULT, derandomize=True, deadline=None)
settings.register_profile("fuzz", DEFAULT, deadline=None, print_blob=True)  # by --hypothesis-profile
settings.load_profile("test")
settings.load_profile("test")
