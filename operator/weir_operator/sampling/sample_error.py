"""The error of a sample."""


class SampleError(ValueError):
    """A sample of which no stream can be made; the message says what would be right."""
