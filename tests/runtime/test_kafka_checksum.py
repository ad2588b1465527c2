"""kafka-python sums every byte that it reads or writes: without compiled code that costs 0.13 us each."""

from __future__ import annotations

import crc32c
from kafka.record import util


def test_kafkas_checksums_are_computed_by_compiled_code() -> None:
    assert util.calc_crc32c.__defaults__ == (crc32c.crc32c,)
