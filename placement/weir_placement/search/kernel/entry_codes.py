"""Numbers of the commands of `entry.run`."""

EVALUATE, SCATTER, ANNEAL, CLIMB, TABU, REACTIVE, EXHAUST, PLACE, COUNT, POLISH, BOUND, SETTLE, PACK = range(
    13
)
