"""The pace of the replay: so many seconds of event time in a second, and more after the surge."""

from hypothesis import given
from hypothesis import strategies as st

from examples.flights.replay_to_kafka import due

SPEEDS = st.floats(0.01, 100)


@given(st.floats(0, 1e5), SPEEDS, st.floats(0, 1e4), SPEEDS)
def test_event_time_passes_at_the_speed_and_then_at_the_surge(
    ahead: float, speed: float, after: float, surge: float
) -> None:
    at = due(ahead, speed, after, surge)
    slow, fast = min(at, after), max(0.0, at - after)
    assert abs(slow * speed + fast * speed * surge - ahead) <= 1e-6 * max(1.0, ahead)
