"""Facts of every possible next move inside Triton kernels: the twin of ``model/moves.py``."""

from __future__ import annotations

import triton
import triton.language as tl

from spacevrp.decode.packing import FACT_OF_INSTANCE, FACT_OF_NODE
from spacevrp.inference import moves
from spacevrp.inference.config import MOVE_FACTS

FACTS = tl.constexpr(MOVE_FACTS)
# Which is which; see ``model/moves.py``.
WAITING, SLACK, ROOM, LENGTH, AWAY = (tl.constexpr(fact) for fact in range(MOVE_FACTS))
NEVER = tl.constexpr(moves.NEVER)
F_OPENING = tl.constexpr(FACT_OF_NODE.index("opening"))
F_CLOSING = tl.constexpr(FACT_OF_NODE.index("closing"))
F_GOODS = tl.constexpr(FACT_OF_NODE.index("goods"))
F_HOME = tl.constexpr(len(FACT_OF_NODE))
I_PER_HORIZON = tl.constexpr(FACT_OF_INSTANCE.index("per_horizon"))
I_PER_LENGTH = tl.constexpr(FACT_OF_INSTANCE.index("per_length"))
I_LIMITED = tl.constexpr(FACT_OF_INSTANCE.index("limited"))
I_LOAD_RULE = tl.constexpr(FACT_OF_INSTANCE.index("load_rule"))
F_INSTANCE = tl.constexpr(len(FACT_OF_INSTANCE))
# Columns of the gradient with respect to weights: as few as a product of matrices takes.
GRADIENT_COLUMNS = tl.constexpr(16)


@triton.jit
def weight_of(weights, signals, FACT: tl.constexpr):
    """What a fact weighs, (P,): by the first node, the last one and seven signals.

    ``weights`` are pointers to the rows of the first nodes (P,), of the last ones (P,), and to that
    of the first signal.
    """
    first, last, state = weights
    weight = tl.load(first + FACT) + tl.load(last + FACT)
    for number in tl.static_range(7):
        weight += signals[number] * tl.load(state + number * FACTS + FACT)
    return weight


@triton.jit
def room_after(used, credit, goods, load_rule):
    """Room for goods after each move, (P, N), for goods (N,), all in vehicle loads."""
    above = used[:, None] + goods[None, :]
    gathered = credit[:, None] + tl.maximum(-goods, 0.0)[None, :]
    single = tl.maximum(above, 0.0) + tl.maximum(credit[:, None] - goods[None, :], 0.0)
    mixed = tl.where(goods[None, :] > 0, above, tl.maximum(used[:, None], gathered))
    peak = tl.where(load_rule == 0, single, above)
    peak = tl.where(load_rule == 2, mixed, peak)
    peak = tl.where(load_rule == 3, used[:, None] - goods[None, :], peak)
    return share(1.0 - peak)


@triton.jit
def share(values):
    """Values cut off at 0 and 1."""
    return tl.minimum(tl.maximum(values, 0.0), 1.0)


@triton.jit
def counted_facts(weights, signals, node, own, homes, far, distances, durations, real):
    """What the facts of all moves add to their scores, (P, N).

    The seven signals are (P,). The others are pointers: to the rows of weights, as for
    ``weight_of``, to the tables of the instance, and, (P, N) or (1, N), to ways home and lengths
    from where the vehicles are.
    """
    cols = tl.arange(0, real.shape[0])
    per_horizon = tl.load(own + I_PER_HORIZON)
    per_length = tl.load(own + I_PER_LENGTH)
    load_rule = tl.load(own + I_LOAD_RULE).to(tl.int32)
    limited = tl.load(own + I_LIMITED).to(tl.int32)
    total = weight_of(weights, signals, AWAY)[:, None] * tl.load(far)
    if per_horizon > 0:
        rides = tl.load(durations, mask=real[None, :], other=0.0)
        arrival = signals[1][:, None] + rides * per_horizon
        opening = tl.load(node + F_OPENING * real.shape[0] + cols)
        closing = tl.load(node + F_CLOSING * real.shape[0] + cols)
        waits = weight_of(weights, signals, WAITING)
        slack = weight_of(weights, signals, SLACK)
        total += waits[:, None] * share(opening[None, :] - arrival)
        total += slack[:, None] * share(closing[None, :] - arrival)
    if limited > 0:
        goods = tl.load(node + F_GOODS * real.shape[0] + cols)
        room = weight_of(weights, signals, ROOM)
        total += room[:, None] * room_after(1.0 - signals[0], signals[2], goods, load_rule)
    if per_length > 0:
        ways = tl.load(distances, mask=real[None, :], other=0.0)
        length = weight_of(weights, signals, LENGTH)
        total += length[:, None] * share(signals[4][:, None] - ways * per_length - tl.load(homes))
    return total


@triton.jit
def fact_gradient_kernel(
    match_ptr, signal_ptr, node_first_ptr, node_current_ptr, chosen_ptr, number_ptr,
    node_ptr, own_ptr, distance_ptr, duration_ptr, out_ptr, total, nodes,
    NODE_COUNT: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_R: tl.constexpr,
    SIGNALS: tl.constexpr, DEPOTS: tl.constexpr, SCALE: tl.constexpr,
):  # fmt: skip
    """Gradients with respect to the weights of facts, of some tiles of the listed decisions.

    ``match`` is the gradient with respect to scores, times ``SCALE``, as the replay left it.
    """
    b = tl.program_id(0).to(tl.int64)
    cols = tl.arange(0, BLOCK_N)
    real = cols < nodes
    node = node_ptr + b * NODE_COUNT * BLOCK_N
    own = own_ptr + b * F_INSTANCE
    per_horizon = tl.load(own + I_PER_HORIZON)
    per_length = tl.load(own + I_PER_LENGTH)
    load_rule = tl.load(own + I_LOAD_RULE).to(tl.int32)
    limited = tl.load(own + I_LIMITED).to(tl.int32)
    opening = tl.load(node + F_OPENING * BLOCK_N + cols)
    closing = tl.load(node + F_CLOSING * BLOCK_N + cols)
    goods = tl.load(node + F_GOODS * BLOCK_N + cols)
    if DEPOTS == 1:
        home = tl.load(node + F_HOME * BLOCK_N + cols)[None, :]
        far = tl.load(node + (F_HOME + 1) * BLOCK_N + cols)[None, :]

    number = tl.load(number_ptr + b)
    for tile in range(tl.program_id(1), tl.cdiv(number, BLOCK_R), tl.num_programs(1)):
        place = tile * BLOCK_R + tl.arange(0, BLOCK_R)
        valid = place < number
        row = tl.load(chosen_ptr + b * total + place, mask=valid, other=0)
        current = tl.load(node_current_ptr + b * total + row, mask=valid, other=0)
        rows = b * nodes * nodes + current[:, None] * nodes + cols[None, :]
        told = signal_ptr + (b * total + row) * SIGNALS
        grad = tl.load(
            match_ptr + (b * total + place)[:, None] * BLOCK_N + cols[None, :],
            mask=valid[:, None],
            other=0.0,
        )
        grad = grad.to(tl.float32) * (1.0 / SCALE)
        if DEPOTS > 1:
            # Without depots, whose routes begin anywhere, all rows are 0.
            first = tl.load(node_first_ptr + b * total + row, mask=valid, other=0)
            of_depot = node + (tl.minimum(first, DEPOTS - 1) + F_HOME)[:, None] * BLOCK_N
            home = tl.load(of_depot + cols[None, :])
            far = tl.load(of_depot + DEPOTS * BLOCK_N + cols[None, :])
        out = out_ptr + (b * total + place) * GRADIENT_COLUMNS
        zero = tl.zeros([BLOCK_R], dtype=tl.float32)
        waits = zero
        slack = zero
        room = zero
        length = zero
        if per_horizon > 0:
            rides = tl.load(duration_ptr + rows, mask=real[None, :], other=0.0)
            time = tl.load(told + 1, mask=valid, other=0.0)
            arrival = time[:, None] + rides * per_horizon
            waits = tl.sum(grad * share(opening[None, :] - arrival), axis=1)
            slack = tl.sum(grad * share(closing[None, :] - arrival), axis=1)
        if limited > 0:
            resource = tl.load(told, mask=valid, other=0.0)
            credit = tl.load(told + 2, mask=valid, other=0.0)
            room = tl.sum(grad * room_after(1.0 - resource, credit, goods, load_rule), axis=1)
        if per_length > 0:
            ways = tl.load(distance_ptr + rows, mask=real[None, :], other=0.0)
            reach = tl.load(told + 4, mask=valid, other=0.0)
            after = share(reach[:, None] - ways * per_length - home)
            length = tl.sum(grad * after, axis=1)
        tl.store(out, waits.to(out_ptr.dtype.element_ty), mask=valid)
        tl.store(out + 1, slack.to(out_ptr.dtype.element_ty), mask=valid)
        tl.store(out + 2, room.to(out_ptr.dtype.element_ty), mask=valid)
        tl.store(out + 3, length.to(out_ptr.dtype.element_ty), mask=valid)
        away = tl.sum(grad * far, axis=1)
        tl.store(out + 4, away.to(out_ptr.dtype.element_ty), mask=valid)
