"""Words, numbers and values that readers should not meet, and some that they may."""

from __future__ import annotations

from typing import Any

# What stands where a number, a name or a keyword should.
TOKENS = (
    *("nan", "inf", "-inf", "-1", "-0", "0", "1", "2", "0.5", "1e308", "1e309", "1e-320", "1e100"),
    *("99e99", "1000000000000000000000000000000", "9" * 400, "9" * 5000, "4294967296", "1e9"),
    *("", " ", "x", "1_000", "0x10", "1,5", "1;2", "+3", "3.", ".5", "1e", "--1", "٣", "½"),
    *("\0", "\ufeff", "\u2028", "\x85", "\x0c", "\x1a", '"', "'", "é", "\U0001f69a", "\\", "\r"),
    *("null", "None", "true", "NaN", "EOF", "-1 -1", "1 1", ":", "Route #1:", "Cost 1", "#"),
    *("08:30", "24:61", "999:59", "2026-03-02T08:30", "0001-01-01T00:00+14:00", "0001-01-01T00:00"),
    *("9999-12-31T23:59:59-14:00", "2026-02-30T08:00", "2026-03-02T08:30Z", "2026-03-02", "yes"),
    *("DIMENSION : 1000000000", "DIMENSION : 2", "TYPE : TSP", "TYPE : VRPTW", "CAPACITY : 0"),
    *("EDGE_WEIGHT_TYPE : EXPLICIT", "EDGE_WEIGHT_FORMAT : UPPER_DIAG_COL", "EDGE_WEIGHT_SECTION"),
    *("NODE_COORD_SECTION", "DEMAND_SECTION", "BACKHAUL_SECTION", "TIME_WINDOW_SECTION", "VEHICLE"),
    *("CUSTOMER", "SERVICE_TIME : 1e99", "DISTANCE : -1", "DISTANCE : 1", "VEHICLES : 1", "NAME :"),
    *("EDGE_WEIGHT_TYPE : GEO", "EDGE_WEIGHT_TYPE : ATT", "EDGE_WEIGHT_TYPE : CEIL_2D"),
    *(" " * 20_000, "\t" * 3000, "a" * 20_000, "1 " * 5000, "(" * 3000, "Route" + " " * 5000),
    *("cost" + " " * 5000 + "1 2", "Route #" + "1" * 5000, "\n" * 3000),
)
# The names a table of stops or a document may use.
WORDS = (
    *("id", "x", "y", "lon", "lat", "depot", "demand", "delivery", "pickup", "open", "close"),
    *("service", "prize", "penalty", "pickup_id", "capacity", "max_length", "max_routes", "name"),
    *("min_prize", "speed_kmh", "vehicles", "locations", "matrix", "durations", "metric",
      "windows"),
    *("format", "version", "variant", "depots", "load_rule", "open_routes", "backhaul_last"),
    *("revealed_prize", "maximise_prize", "pairs", "ids", "places", "geographic", "time_unit"),
    *("clock", "geometry", "rounding", "origin", "unit", "form", "distance_matrix", "time_matrix"),
    *("num_vehicles", "starts", "ends", "demands", "vehicle_capacity", "time_windows", "jobs"),
    *("service_times", "pickups_deliveries", "sources", "destinations", "sources_to_targets"),
    *("shipments", "matrices", "costs", "profile", "skills", "breaks", "instances", "routes"),
    *("location", "location_index", "amount", "time_window", "speed_factor", "per_hour", "fixed"),
    *("count", "start", "end", "open_route", "fixed_cost", "window", "allowed", "forbidden"),
    *("pinned", "cost", "feasible", "seconds", "device", "code", "error", "message", "steps",
      "setup"),
)  # fmt: skip
# Values of a document. Text in «» stands raw in the file: not all of it is JSON.
VALUES: tuple[Any, ...] = (
    *(None, True, False, 0, 1, -1, 2, 0.5, -0.0, 3, 1e308, 1e100, 1e99, 5e-324, 10**30, -(10**30)),
    *("", "x", "nan", "0", "08:30", "2026-03-02T08:30", "0001-01-01T00:00+14:00", "\ud800", "\0"),
    *("0001-01-01T00:00", "9999-12-31T23:59-14:00", "a\nb", "single", "CVRP", "TSP", "OP", "ATSP"),
    *("AMDOCVRPBPLTW", "PDCVRP", "h", "min", "datetime", "number", "time of day", "iso", "geo"),
    *("manhattan", "up", "one-decimal", "é" * 100, "car", "separate", "paper"),
    *([], {}, [[]], [{}], [None], [0], [1, 2], [[0, 1]], [0, 0], [[1, 2], [3]], {"x": 1}, [[0]]),
    *([0] * 5, [1.5] * 4, [[0, 0]] * 3, [[0, 5], [5, 0]], [True], ["a"], [[None, None]] * 4),
    *("«NaN»", "«Infinity»", "«1e400»", "«-1e400»", "«1e-400»", "«01»", "«+1»", f"«{'7' * 5000}»"),
    *(f"«{'[' * 5000}{']' * 5000}»", f"«{'[' * 100_000}»", "«»", "«{}»", '«"»', "«0.1e1»", "«\0»"),
    "«" + '{"a":' * 3000 + "1" + "}" * 3000 + "»",
)

# What may stand in the place of a number or a text without being refused for its kind.
PLAIN_NUMBERS = (0, 1, 2, 3, 4, 7, 0.5, 2.25, -1, -2.5, 12, 40, 100, 1e-9, 1e9, 1e15, 1e50, 1e99)
PLAIN_TOKENS = tuple(f"{number:g}" for number in PLAIN_NUMBERS)
