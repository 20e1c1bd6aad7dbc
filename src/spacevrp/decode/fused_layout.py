"""Where the rollout kernel finds the rows of its two tables (see ``packing``)."""

from __future__ import annotations

import triton.language as tl

from spacevrp.decode.packing import INSTANCE_ROWS, NODE_ROWS

_N = {name: index for index, name in enumerate(NODE_ROWS)}
_I = {name: index for index, name in enumerate(INSTANCE_ROWS)}

CUSTOMER = tl.constexpr(_N["customer"])
DEMAND = tl.constexpr(_N["demand"])
OPENING = tl.constexpr(_N["opening"])
CLOSING = tl.constexpr(_N["closing"])
SERVICE = tl.constexpr(_N["service"])
PRIZE = tl.constexpr(_N["prize"])
PENALTY = tl.constexpr(_N["penalty"])
COMPULSORY = tl.constexpr(_N["compulsory"])
DELIVERY = tl.constexpr(_N["delivery"])
PAIRED_STEP = tl.constexpr(_N["paired_step"])
PARTNER = tl.constexpr(_N["partner"])

I_CAPACITY = tl.constexpr(_I["capacity"])
I_LIMITED = tl.constexpr(_I["limited"])
I_LOAD_TOLERANCE = tl.constexpr(_I["load_tolerance"])
I_LOAD_RULE = tl.constexpr(_I["load_rule"])
I_MAX_LENGTH = tl.constexpr(_I["max_length"])
I_BOUNDED = tl.constexpr(_I["bounded"])
I_WINDOWED = tl.constexpr(_I["windowed"])
I_PER_HORIZON = tl.constexpr(_I["per_horizon"])
I_MIN_PRIZE = tl.constexpr(_I["min_prize"])
I_MAX_ROUTES = tl.constexpr(_I["max_routes"])
I_OPEN = tl.constexpr(_I["open_routes"])
I_BACKHAUL_LAST = tl.constexpr(_I["backhaul_last"])
I_DEPOTS = tl.constexpr(_I["depots"])
I_ORIENTEERING = tl.constexpr(_I["orienteering"])
I_PRIZE_COLLECTING = tl.constexpr(_I["prize_collecting"])
I_READ = tl.constexpr(_I["read_weight"])
I_MATCH = tl.constexpr(_I["match_weight"])
I_CUSTOMERS = tl.constexpr(_I["customers"])
I_COMPULSORY = tl.constexpr(_I["compulsory"])
I_LINEHAULS = tl.constexpr(_I["linehauls"])
I_PENALTY = tl.constexpr(_I["penalty"])

BIG = tl.constexpr(1e30)
