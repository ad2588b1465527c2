"""Why a process ends before its query runs, other than by an error."""


class Stopped(Exception):
    """SIGTERM came."""


class Left(Exception):
    """The lease went to another epoch."""
