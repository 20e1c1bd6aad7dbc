"""One Triton kernel that decodes whole solutions.

A program owns a tile of trajectories of one instance. Keys, values and embeddings stay on the
multiprocessor while it takes every step: rules, readout, compatibility, choice, transition. It is
the twin of ``environment.mask``, ``decoder.logits``, ``choose`` and ``environment.step`` for
instances with at most one depot, and of ``look_ahead`` for those with several: there a vehicle at a
depot takes a round of the loop for each depot, while the others of its tile go on.

Customers that may no longer be visited, or not yet (deliveries whose pickup is still to come), are
marked in a tile (``closed``: 0 or very much).
"""

from __future__ import annotations

import triton
import triton.language as tl

from spacevrp.decode import fused_layout as row
from spacevrp.decode.depot_kernel import draw_depot, drawn, log_odds, store_signals
from spacevrp.decode.deviation_kernel import other_move
from spacevrp.decode.fused_layout import BIG
from spacevrp.decode.move_kernel import (
    AWAY,
    F_HOME,
    FACTS,
    LENGTH,
    NEVER,
    ROOM,
    SLACK,
    WAITING,
    share,
    weight_of,
)  # fmt: skip
from spacevrp.model.kernel_arithmetic import LEAST_SUM, by_rows, exponential, inverse, tanh


@triton.jit
def rollout_kernel(
    # The decoder's tables, the instance, and where the trajectories begin.
    embedding_ptr, keyed_ptr, first_ptr, last_ptr, state_ptr, zscore_ptr,
    distance_ptr, duration_ptr, node_ptr, instance_ptr, home_ptr, home_ride_ptr,
    start_ptr, origin_ptr, legal_ptr, keys_ptr,
    # Plans that are followed first, and facts of moves.
    plan_ptr, turn_ptr, rank_ptr,
    move_first_ptr, move_last_ptr, move_state_ptr, fact_node_ptr,
    # What is written: moves, choices of depots, and what they come to.
    action_ptr, signal_ptr, allowed_ptr, likeliest_ptr, depot_ptr,
    choice_step_ptr, choice_depot_ptr, choice_odds_ptr, choice_customer_ptr, choice_signal_ptr,
    choice_allowed_ptr,
    cost_ptr, steps_ptr,
    trajectories, max_steps, nodes,
    WIDTH: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_P: tl.constexpr,
    NODE_COUNT: tl.constexpr, INSTANCE_COUNT: tl.constexpr,
    DEPOTS: tl.constexpr, BLOCK_K: tl.constexpr, DEPOT_TEMPERATURE: tl.constexpr,
    RANKS: tl.constexpr, SIGNALS: tl.constexpr, MOVES: tl.constexpr,
    TOLERANCE: tl.constexpr, CLIPPING: tl.constexpr, SCALE: tl.constexpr,
    SAMPLE: tl.constexpr, GREEDY: tl.constexpr, RECORD: tl.constexpr,
    SAME_DURATION: tl.constexpr, MISSING_ARCS: tl.constexpr, FAST: tl.constexpr,
):  # fmt: skip
    """Decode a tile of trajectories of one instance, from their starts to their ends."""
    b = tl.program_id(0).to(tl.int64)
    p = tl.program_id(1) * BLOCK_P + tl.arange(0, BLOCK_P)  # (P,)
    exists = p < trajectories
    if SAMPLE:
        keys = tl.load(keys_ptr + b * trajectories + p, mask=exists, other=0)  # (P,)
    if RANKS > 0:  # plans are followed first, see decode/deviation.py
        turn = tl.load(turn_ptr + b * trajectories + p, mask=exists, other=0).to(tl.int32)
        rank = tl.load(rank_ptr + b * trajectories + p, mask=exists, other=0).to(tl.int32)
    cols = tl.arange(0, BLOCK_N)  # (N,)
    dims = tl.arange(0, WIDTH)  # (D,)
    real = cols < nodes

    keyed = keyed_ptr + b * nodes * 2 * WIDTH + cols[:, None] * 2 * WIDTH + dims[None, :]
    value_sum = tl.load(keyed, mask=real[:, None], other=0.0)  # (N, D)
    key_sum = tl.load(keyed + WIDTH, mask=real[:, None], other=0.0)  # (N, D)
    embedding = tl.load(
        embedding_ptr + b * nodes * WIDTH + cols[None, :] * WIDTH + dims[:, None],
        mask=real[None, :],
        other=0.0,
    )  # (D, N)
    state = state_ptr + b * SIGNALS * WIDTH + dims  # (D,) for the first signal

    inst = instance_ptr + b * INSTANCE_COUNT
    capacity = tl.load(inst + row.I_CAPACITY)
    load_slack = tl.load(inst + row.I_LOAD_TOLERANCE)
    # Flags become integers before they are compared: scalars and tiles of truth values then mix.
    load_rule = tl.load(inst + row.I_LOAD_RULE).to(tl.int32)
    max_length = tl.load(inst + row.I_MAX_LENGTH)
    windowed = tl.load(inst + row.I_WINDOWED).to(tl.int32)
    per_horizon = tl.load(inst + row.I_PER_HORIZON)
    customers = tl.load(inst + row.I_CUSTOMERS)
    bounded = tl.load(inst + row.I_BOUNDED).to(tl.int32)
    min_prize = tl.load(inst + row.I_MIN_PRIZE)
    max_routes = tl.load(inst + row.I_MAX_ROUTES)
    is_open = tl.load(inst + row.I_OPEN).to(tl.int32) > 0
    backhaul_last = tl.load(inst + row.I_BACKHAUL_LAST).to(tl.int32) > 0
    depots = tl.load(inst + row.I_DEPOTS).to(tl.int32)
    has_depot = depots > 0
    orienteering = tl.load(inst + row.I_ORIENTEERING).to(tl.int32) > 0
    prize_collecting = tl.load(inst + row.I_PRIZE_COLLECTING).to(tl.int32) > 0
    read_weight = tl.load(inst + row.I_READ)
    match_weight = tl.load(inst + row.I_MATCH)
    is_single = load_rule == 0
    is_paper = load_rule == 1
    is_separate = load_rule == 2
    is_paired = load_rule == 3
    free_return = is_open | (has_depot == 0)
    limited = tl.load(inst + row.I_LIMITED).to(tl.int32) > 0

    node = node_ptr + b * NODE_COUNT * BLOCK_N
    home = home_ptr + b * DEPOTS * BLOCK_N
    home_ride = home_ride_ptr + b * DEPOTS * BLOCK_N
    # Of the rows of facts only the last are read here: normalised ways to each depot.
    far = fact_node_ptr + (b * (F_HOME + 2 * DEPOTS) + F_HOME + DEPOTS) * BLOCK_N
    # What belongs to a node is read where it is needed: held across the loop, it would take the
    # registers that the products need.
    customer = tl.load(node + row.CUSTOMER * BLOCK_N + cols)
    delivery = tl.load(node + row.DELIVERY * BLOCK_N + cols)

    # Closed at the start: whatever is no customer, and deliveries before their pickup.
    at_first = tl.where((customer > 0) & (delivery == 0), 0.0, BIG)
    closed = tl.zeros([BLOCK_P, BLOCK_N], dtype=tl.float32) + at_first[None, :]
    has_pairs = tl.max(delivery, axis=0) > 0
    zero_i = tl.zeros([BLOCK_P], dtype=tl.int32)
    zero = tl.zeros([BLOCK_P], dtype=tl.float32)

    start = tl.load(start_ptr + b * trajectories + p, mask=exists, other=0).to(tl.int32)
    # The depot of the running route; without depots, the first node.
    origin = tl.load(origin_ptr + b * trajectories + p, mask=exists, other=0).to(tl.int32)
    queries = b * nodes * WIDTH + dims[None, :]
    query_first = tl.load(first_ptr + queries + origin[:, None] * WIDTH)  # (P, D)
    current = origin
    left = zero + customers
    owed = zero + tl.load(inst + row.I_COMPULSORY)
    linehauls = zero + tl.load(inst + row.I_LINEHAULS)
    skipped = zero + tl.load(inst + row.I_PENALTY)
    used = tl.where(is_paper & limited & (linehauls == 0), capacity, zero)
    credit = zero
    clock = tl.load(node + row.OPENING * BLOCK_N + origin)
    length = zero
    collected = zero
    pending = zero
    backhauled = zero_i
    routes = zero
    travelled = zero
    switched = zero_i
    stuck = zero_i
    done = tl.where(exists, zero_i, zero_i + 1)
    # A start that no rule allows is no solution.
    start_is_legal = tl.load(legal_ptr + b * trajectories + p, mask=exists, other=1).to(tl.int32)
    steps = zero_i

    action = start
    # Every round first makes the move chosen before (at first, the given start), then chooses.
    t = 0
    rounds = max_steps
    if DEPOTS > 1:
        rounds = (max_steps + 1) * DEPOTS
        moving = zero_i + 1  # whether a move was chosen in the round before
        compared = zero_i  # depots that a vehicle at one of them has looked at
        best = zero - BIG
        best_depot = zero_i
        if DEPOT_TEMPERATURE > 0:  # depots are drawn: what is known of each (P, K)
            depot_cols = tl.arange(0, BLOCK_K)[None, :]
            odds = tl.zeros([BLOCK_P, BLOCK_K], dtype=tl.float32) - BIG
            choices = (max_steps + 1) // 2
    remaining = tl.sum(1 - done, axis=0)
    while (t <= rounds) & (remaining > 0):
        # ------------------------------------------------------------------ transition
        active = done == 0
        if DEPOTS > 1:
            active = active & (moving > 0)
        at_node = node + action
        to_depot = action < depots
        from_depot = current < depots
        # Who stands still at a customer is idle, except at the start without depots.
        serves = active & (to_depot == 0) & ((action != current) | (zero_i + t == 0))
        stays = active & (serves == 0) & (action == current)
        enough = (collected >= min_prize * (1.0 - TOLERANCE)) | (left == 0)
        finishing = (owed == 0) & enough
        stuck = tl.where(stays & ((from_depot & finishing) == 0), 1, stuck)
        arc = b * nodes * nodes + current * nodes + action
        leg = tl.load(distance_ptr + arc)
        if SAME_DURATION:
            ride = leg
        else:
            ride = tl.load(duration_ptr + arc)
        free = (from_depot & to_depot) | (is_open & to_depot) | stays | (active == 0)
        travelled += tl.where(free, 0.0, leg)

        load = tl.load(at_node + row.DEMAND * BLOCK_N)
        above = used + load
        gathered = credit + tl.maximum(-load, 0.0)
        mixed = tl.where(load > 0, above, tl.maximum(used, gathered))
        next_used = tl.where(is_single, tl.maximum(above, 0.0), above)
        next_used = tl.where(is_separate, mixed, next_used)
        next_used = tl.where(is_paired, used - load, next_used)
        next_credit = tl.where(
            is_single, tl.maximum(credit - load, 0.0), tl.where(is_separate, gathered, credit)
        )
        opens = tl.load(at_node + row.OPENING * BLOCK_N)
        ready = tl.maximum(clock + ride, opens)
        ready += tl.load(at_node + row.SERVICE * BLOCK_N)
        pair_step = tl.load(at_node + row.PAIRED_STEP * BLOCK_N)  # 1 pickup, -1 delivery, 0 neither
        partner = tl.load(at_node + row.PARTNER * BLOCK_N).to(tl.int32)

        used = tl.where(serves, next_used, used)
        credit = tl.where(serves, next_credit, credit)
        clock = tl.where(serves, ready, clock)
        length = tl.where(serves, length + leg, length)
        collected += tl.where(serves, tl.load(at_node + row.PRIZE * BLOCK_N), 0.0)
        skipped -= tl.where(serves, tl.load(at_node + row.PENALTY * BLOCK_N), 0.0)
        owed -= tl.where(serves, tl.load(at_node + row.COMPULSORY * BLOCK_N), 0.0)
        left -= tl.where(serves, 1.0, 0.0)
        linehauls -= tl.where(serves & (load > 0), 1.0, 0.0)
        pending += tl.where(serves, pair_step, 0.0)
        backhauled = tl.where(serves & (load < 0), 1, backhauled)
        routes += tl.where(serves & from_depot, 1.0, 0.0)
        served = tl.where(serves, action, BLOCK_N)
        closed = tl.where(cols[None, :] == served[:, None], BIG, closed)
        if has_pairs:
            unlocked = tl.where(serves & (pair_step > 0), partner, BLOCK_N)
            closed = tl.where(cols[None, :] == unlocked[:, None], 0.0, closed)
        if DEPOTS > 1:
            switches = tl.where(from_depot & to_depot & (stays == 0), 1, 0)
            switched = tl.where(active, switches, switched)
        current = tl.where(active, action, current)

        at_home = active & to_depot
        origin = tl.where(at_home, action, origin)
        fresh_used = tl.where(is_paper & limited & (linehauls == 0), capacity, zero)
        used = tl.where(at_home, fresh_used, used)
        credit = tl.where(at_home, 0.0, credit)
        clock = tl.where(at_home, opens, clock)
        length = tl.where(at_home, 0.0, length)
        backhauled = tl.where(at_home, 0, backhauled)
        closes = active & (has_depot == 0) & (left == 0)
        last_leg = tl.load(distance_ptr + b * nodes * nodes + current * nodes + origin)
        travelled += tl.where(closes, last_leg, 0.0)
        for_good = at_home & ((left == 0) | (routes >= max_routes))
        done = tl.where(stays | for_good | closes, 1, done)
        fails = exists & (start_is_legal == 0)
        done = tl.where(fails, 1, done)
        stuck = tl.where(fails, 1, stuck)

        at_depot = current < depots
        enough = (collected >= min_prize * (1.0 - TOLERANCE)) | (left == 0)
        finishing = (owed == 0) & enough
        home_leg = tl.load(distance_ptr + b * nodes * nodes + current * nodes + origin)
        goes_home = (
            (at_depot == 0)
            & (pending == 0)
            & ((routes < max_routes) | finishing)
            & ((tl.abs(home_leg) < BIG) | is_open)
        )
        depot_move = has_depot & (goes_home | (at_depot & finishing))
        vehicle = (at_depot == 0) | (routes < max_routes)
        spare = (capacity - used) / tl.where(limited, capacity, 1.0)
        wanted = tl.maximum(min_prize - collected, 0.0) / tl.maximum(min_prize, 1e-6)
        signal = tl.where(prize_collecting, wanted, zero)
        signal = tl.where(orienteering, (max_length - length) / max_length, signal)
        signal = tl.where(limited, spare, signal)
        here, base, ready_at = current, origin, clock
        if DEPOTS > 1:
            # Rounds and moves differ: each vehicle counts its own.
            history = (b * max_steps + steps) * trajectories + p
            # At one of several depots it looks ahead and asks as if it stood at each of them, here
            # last: then it is known whether it starts from here, and with what choice.
            looks = at_depot & (done == 0) & (switched == 0) & (left > 0) & (zero_i + depots > 1)
            asked = current + 1 + compared
            asked = tl.where(asked >= depots, asked - depots, asked)
            here = tl.where(looks, asked, current)
            base = tl.where(looks, asked, origin)
            ready_at = tl.where(looks, tl.load(node + row.OPENING * BLOCK_N + here), clock)
            decides = (looks == 0) | (compared + 1 >= depots)
            recorded = exists & (done == 0) & decides & (steps < max_steps)
        else:
            history = (b * max_steps + t) * trajectories + p
            recorded = exists & (zero_i + t < max_steps)
        signals = (
            signal,
            ready_at * per_horizon,
            # The load that no pickup to come can use, and customers to come, as shares.
            tl.where(limited, credit / tl.where(limited, capacity, 1.0), 0.0),
            left / tl.maximum(customers, 1.0),
            # What is left of the length limit, a backhaul in this route, and pairs on board.
            tl.where(bounded > 0, (max_length - length) / max_length, 0.0),
            backhauled.to(tl.float32),
            2.0 * pending / tl.maximum(customers, 1.0),
        )
        # -------------------------------------------------------------------- rules
        rows = b * nodes * nodes + here[:, None] * nodes + cols[None, :]  # (P, N)
        # Rows of the ways home; all trajectories share one where there is one depot.
        if DEPOTS > 1:
            homes = tl.where(has_depot, base, 0)[:, None] * BLOCK_N + cols[None, :]
        else:
            homes = cols[None, :]
        # By how much a move breaks a rule, at most; it is legal where this is not above 0.
        # Sums and maxima of numbers are cheaper than logic on truth values.
        excess = closed + tl.where(vehicle, 0.0, BIG)[:, None]
        if MOVES:
            # Facts of moves are what rules leave room for: they are counted where rules are read.
            weights = (
                move_first_ptr + (b * nodes + base) * FACTS,
                move_last_ptr + (b * nodes + here) * FACTS,
                move_state_ptr + b * SIGNALS * FACTS,
            )
            counted = weight_of(weights, signals, AWAY)[:, None] * tl.load(far + homes)
        # Rules that an instance does not need are skipped as a whole.
        if limited:
            goods = tl.load(node + row.DEMAND * BLOCK_N + cols)[None, :]
            above_n = used[:, None] + goods
            if load_rule == 0:
                below = tl.maximum(credit[:, None] - goods, 0.0)
                peak = tl.maximum(above_n, 0.0) + below
            else:
                gathered_n = credit[:, None] + tl.maximum(-goods, 0.0)
                mixed_n = tl.where(goods > 0, above_n, tl.maximum(used[:, None], gathered_n))
                peak = tl.where(is_separate, mixed_n, above_n)
                peak = tl.where(is_paired, used[:, None] - goods, peak)
            if MOVES:
                room = share(1.0 - peak * (1.0 / capacity))
                counted += weight_of(weights, signals, ROOM)[:, None] * room
            if is_paper:
                peak = tl.where(above_n < -load_slack, BIG, peak)
            excess = tl.maximum(excess, peak - (capacity + load_slack))
            if backhaul_last:
                barred = tl.where(backhauled > 0, BIG, 0.0)
                excess = tl.maximum(excess, tl.where(goods > 0, barred[:, None], 0.0))
        if windowed > 0:
            opening = tl.load(node + row.OPENING * BLOCK_N + cols)
            closing = tl.load(node + row.CLOSING * BLOCK_N + cols)
            service = tl.load(node + row.SERVICE * BLOCK_N + cols)
            home_by = tl.load(node + row.CLOSING * BLOCK_N + base) + TOLERANCE
            home_by = tl.where(free_return, float("inf"), home_by)
            rides = tl.load(duration_ptr + rows, mask=real[None, :], other=0.0)
            arrival = ready_at[:, None] + rides
            begin = tl.maximum(arrival, opening[None, :])
            back = begin + service[None, :] + tl.load(home_ride + homes)
            excess = tl.maximum(excess, arrival - (closing + TOLERANCE)[None, :])
            excess = tl.maximum(excess, back - home_by[:, None])
            if MOVES:
                # Later than any arrival where there is no end.
                until = tl.minimum(closing, NEVER)[None, :]
                waits = share((opening[None, :] - arrival) * per_horizon)
                slack = share((until - arrival) * per_horizon)
                counted += weight_of(weights, signals, WAITING)[:, None] * waits
                counted += weight_of(weights, signals, SLACK)[:, None] * slack
        if bounded > 0:
            drow = tl.load(distance_ptr + rows, mask=real[None, :], other=0.0)
            way_home = tl.where(free_return, 0.0, tl.load(home + homes))
            whole = length[:, None] + drow + way_home
            excess = tl.maximum(excess, whole - (max_length + TOLERANCE))
            if MOVES:
                after = share((max_length - whole) * (1.0 / max_length))
                counted += weight_of(weights, signals, LENGTH)[:, None] * after
        if MISSING_ARCS:
            drow = tl.load(distance_ptr + rows, mask=real[None, :], other=0.0)
            rides = tl.load(duration_ptr + rows, mask=real[None, :], other=0.0)
            way_back = tl.load(home + homes)
            ride_back = tl.load(home_ride + homes)
            has_way = (tl.abs(way_back) < BIG) & (tl.abs(ride_back) < BIG)
            there = (tl.abs(drow) < BIG) & (tl.abs(rides) < BIG)
            excess = tl.where(there & (has_way | free_return), excess, BIG)
        # Returning, or staying at the depot for good, obeys rules of its own.
        if DEPOTS > 1:
            decided = tl.where(depot_move & (looks == 0), base, -1)
        else:
            decided = tl.where(depot_move, base, -1)
        excess = tl.where(cols[None, :] == decided[:, None], 0.0, excess)
        moves = excess <= 0.0

        # ------------------------------------------------------------------- logits
        zrow = tl.load(zscore_ptr + rows, mask=real[None, :], other=0.0)
        bias = tl.where(moves, -read_weight * zrow, -BIG)
        told = -match_weight * zrow
        if MOVES:
            told += counted
        highest = tl.max(bias, axis=1)
        # A vehicle that has finished, or has no legal move, stays.
        idle = (done == 1) | (highest <= -BIG)
        weight = exponential(bias - highest[:, None], FAST)
        # Legal moves weigh more than nothing: the weights tell them from illegal ones.
        weight = tl.where(moves, tl.maximum(weight, 1e-30), 0.0).to(value_sum.dtype)
        if RECORD:
            store_signals(signal_ptr + history * SIGNALS, signals, recorded, SIGNALS)
            if DEPOTS == 1:
                tl.store(
                    allowed_ptr + history[:, None] * nodes + cols[None, :],
                    (moves | (idle[:, None] & (cols[None, :] == current[:, None]))).to(tl.int8),
                    mask=recorded[:, None] & real[None, :],
                )
        numerator = tl.dot(weight, value_sum)  # (P, D)
        denominator = tl.dot(weight, key_sum)
        if DEPOTS > 1:
            query_first = tl.load(first_ptr + queries + base[:, None] * WIDTH)
        query = query_first + tl.load(last_ptr + queries + here[:, None] * WIDTH)
        for number in tl.static_range(SIGNALS):
            query += signals[number][:, None] * tl.load(state + number * WIDTH)[None, :]
        # The gate and the ratio in one division: n / d / (1 + exp(-q)).
        gate = 1.0 + exponential(tl.minimum(-query, 20.0), FAST)
        bottom = tl.maximum(denominator, LEAST_SUM) * gate
        context = numerator * inverse(bottom, FAST)
        # Half precision ends at 65504.
        context = tl.clamp(context, -60000.0, 60000.0).to(embedding.dtype)
        match = tl.dot(context, embedding)  # (P, N)
        if BLOCK_N <= 128:
            match = by_rows(match, FAST)
        legal = weight > 0
        match = match * SCALE + told
        score = CLIPPING * tanh(match, FAST)
        score = tl.where(legal, score, -BIG)

        # ------------------------------------------------------------------- choice
        number = zero_i + t
        if DEPOTS > 1:
            number = steps
        if DEPOTS > 1 or GREEDY:
            likeliest_node = tl.argmax(score, axis=1)
        # Scores lie between -CLIPPING and CLIPPING: their exponentials need no shift.
        if SAMPLE or RECORD:
            chance = exponential(score, FAST)
            everything = tl.sum(chance, axis=1)
        if RECORD:
            chance_of_top = tl.max(chance, axis=1) / tl.maximum(everything, 1e-30)
            if DEPOTS == 1:
                tl.store(likeliest_ptr + history, chance_of_top, mask=recorded)
        if SAMPLE:
            total = tl.cumsum(chance, axis=1)
            level = tl.maximum(drawn(keys, number), 1e-7) * everything
            # The last legal node whose share begins below the level, whatever the rounding.
            before = legal & (total - chance < level[:, None])
            pick = tl.max(tl.where(before, cols[None, :], 0), axis=1)
            if GREEDY:
                pick = tl.where(keys < 0, likeliest_node, pick)
        else:
            pick = likeliest_node
        if RANKS > 0:
            planned = tl.load(
                plan_ptr + (b * max_steps + number) * trajectories + p,
                mask=exists & (number < max_steps),
                other=0,
            )
            pick = tl.where(number == turn, other_move(score, planned, rank, RANKS), pick)
        choice = tl.where(idle, current, pick.to(tl.int32))
        running = (done == 0) & exists
        decides_now = running
        if DEPOTS > 1:
            # Rounded as in the twins: a depot is as good as sure of its move where the others
            # add nothing to its score, and of several such depots the first one wins.
            top = tl.max(score, axis=1)
            others = tl.sum(exponential(score - top[:, None], FAST), axis=1)
            sure = top - (top + tl.log(others))
            ahead = (sure > best) | ((sure == best) & (here < best_depot))
            better = looks & (idle == 0) & ahead
            best = tl.where(better, sure, best)
            best_depot = tl.where(better, here, best_depot)
            compares = looks & (best > -BIG)
            chosen_depot = best_depot
            if DEPOT_TEMPERATURE > 0:
                asks = looks & (idle == 0)
                own_odds = log_odds(score, likeliest_node, top, FAST)
                asked_now = asks[:, None] & (depot_cols == here[:, None])
                odds = tl.where(asked_now, own_odds[:, None], odds)
                chosen_depot, chance_of_move = draw_depot(
                    odds, best_depot, current, keys, steps, tl.where(idle, 0.0, chance_of_top),
                    DEPOT_TEMPERATURE, BLOCK_K, FAST,
                )  # fmt: skip
                # One choice before two moves: between two there is always a customer.
                choice_number = b * choices + steps // 2
                of_depot = (choice_number * DEPOTS + here) * trajectories + p
                kept = exists & asks & (steps < max_steps)
                tl.store(choice_odds_ptr + of_depot, own_odds, mask=kept)
                tl.store(choice_customer_ptr + of_depot, likeliest_node.to(tl.int32), mask=kept)
                store_signals(choice_signal_ptr + of_depot * SIGNALS, signals, kept, SIGNALS)
                tl.store(
                    choice_allowed_ptr + of_depot[:, None] * nodes + cols[None, :],
                    legal.to(tl.int8),
                    mask=kept[:, None] & real[None, :],
                )
                made = recorded & compares
                choice_at = choice_number * trajectories + p
                tl.store(choice_step_ptr + choice_at, steps, mask=made)
                tl.store(choice_depot_ptr + choice_at, chosen_depot, mask=made)
                odds = tl.where(decides[:, None], -BIG, odds)
            leaves = compares & (chosen_depot != current)
            choice = tl.where(leaves, chosen_depot, choice)
            decides_now = running & decides
            if RECORD:
                # Before a switch there is one move: the depot, if it is drawn, is recorded above.
                forced = tl.where(leaves | idle, choice, -1)
                open_moves = legal & (leaves == 0)[:, None]
                tl.store(
                    allowed_ptr + history[:, None] * nodes + cols[None, :],
                    (open_moves | (cols[None, :] == forced[:, None])).to(tl.int8),
                    mask=recorded[:, None] & real[None, :],
                )
                if DEPOT_TEMPERATURE > 0:
                    surety = tl.where(compares, chance_of_move, chance_of_top)
                else:
                    surety = tl.where(leaves, 1.0, chance_of_top)
                tl.store(likeliest_ptr + history, surety, mask=recorded)
                tl.store(depot_ptr + history, origin, mask=recorded)
            steps += tl.where(running & decides, 1, 0)
            moving = tl.where(decides & (steps <= max_steps), 1, 0)
            compared = tl.where(decides, 0, compared + 1)
            best = tl.where(decides, -BIG, best)
            unfinished = (done == 0) & (steps <= max_steps)
        else:
            steps += tl.where(running, 1, 0)
            unfinished = done == 0
        if RANKS > 0:
            choice = tl.where((number < turn) & running, planned, choice)
            switches_now = (current < depots) & (choice < depots) & (choice != current)
            same = (choice == planned) | switches_now
            stuck = tl.where((number == turn) & decides_now & same, 1, stuck)
        tl.store(action_ptr + history, choice, mask=recorded)
        action = choice
        remaining = tl.sum(tl.where(unfinished, 1, 0), axis=0)
        t += 1

    cost = tl.where(orienteering, -collected, travelled + skipped)
    failed = (stuck == 1) | (done == 0)
    if RANKS > 0:
        failed = failed | (steps <= turn)
    cost = tl.where(failed, float("inf"), cost)
    tl.store(cost_ptr + b * trajectories + p, cost, mask=exists)
    tl.store(steps_ptr + b * trajectories + p, tl.minimum(steps, max_steps), mask=exists)
