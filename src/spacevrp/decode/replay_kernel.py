"""Triton kernels for the policy gradient at recorded decisions.

The first lists the decisions that count, as most do not: their outcome was certain, or there was
none. For these the second computes the forward pass of the decoder again and, because the gradient
of ``coefficient * log probability`` is known in closed form, the whole backward pass with it. What
remains are sums over decisions: factors of matrix products, which the other two kernels multiply.
"""

from __future__ import annotations

import triton
import triton.language as tl

from spacevrp.decode.move_kernel import F_HOME, F_INSTANCE, FACTS, counted_facts
from spacevrp.model.kernel_arithmetic import LEAST_SUM, exponential, inverse, tanh

BIG = tl.constexpr(1e30)


@triton.jit
def list_kernel(coefficient_ptr, chosen_ptr, number_ptr, total, BLOCK: tl.constexpr):
    """Number the decisions of one instance, of ``total``, whose coefficient is not 0."""
    b = tl.program_id(0).to(tl.int64)
    number = 0
    for begin in range(0, total, BLOCK):
        row = begin + tl.arange(0, BLOCK)
        valid = row < total
        coefficient = tl.load(coefficient_ptr + b * total + row, mask=valid, other=0.0)
        counts = coefficient != 0.0
        place = number + tl.cumsum(counts.to(tl.int32), axis=0) - 1
        tl.store(chosen_ptr + b * total + place, row, mask=counts)
        number += tl.sum(counts.to(tl.int32), axis=0)
    tl.store(number_ptr + b, number)


@triton.jit
def replay_kernel(
    # The decoder's tables, and the decisions.
    embedding_ptr, keyed_ptr, first_ptr, last_ptr, state_ptr, zscore_ptr, weights_ptr,
    node_first_ptr, node_current_ptr, action_ptr, signal_ptr, allowed_ptr, coefficient_ptr,
    chosen_ptr, number_ptr,
    # Facts of moves.
    move_first_ptr, move_last_ptr, move_state_ptr, fact_node_ptr, fact_own_ptr,
    distance_ptr, duration_ptr,
    # Factors of the gradients.
    out_weight_ptr, out_sums_ptr, out_match_ptr, out_context_ptr, out_query_ptr, out_scalars_ptr,
    total, nodes,
    WIDTH: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_R: tl.constexpr, HELD: tl.constexpr,
    SIGNALS: tl.constexpr, MOVES: tl.constexpr, DEPOTS: tl.constexpr, ODDS: tl.constexpr,
    CLIPPING: tl.constexpr, SCALE: tl.constexpr, FAST: tl.constexpr,
):  # fmt: skip
    """Gradients of some tiles of the listed decisions of one instance."""
    b = tl.program_id(0).to(tl.int64)
    cols = tl.arange(0, BLOCK_N)
    dims = tl.arange(0, WIDTH)
    real = cols < nodes

    inside_table = real[:, None]
    value_at = keyed_ptr + b * nodes * 2 * WIDTH + cols[:, None] * 2 * WIDTH + dims[None, :]
    key_at = value_at + WIDTH
    embedding_at = embedding_ptr + b * nodes * WIDTH + cols[:, None] * WIDTH + dims[None, :]
    if HELD:  # tables stay on the multiprocessor, others are read again for each product
        value_sum = tl.load(value_at, mask=inside_table, other=0.0)  # (N, D)
        key_sum = tl.load(key_at, mask=inside_table, other=0.0)  # (N, D)
        embedding = tl.load(embedding_at, mask=inside_table, other=0.0)  # (N, D)
    state = state_ptr + b * SIGNALS * WIDTH + dims  # (D,) for the first signal
    read_weight = tl.load(weights_ptr + b * 2)
    match_weight = tl.load(weights_ptr + b * 2 + 1)

    # Kept as tiles and summed once at the end: sums across warps make them wait for each other.
    grad_read = tl.zeros([BLOCK_R, BLOCK_N], dtype=tl.float32)
    grad_match = tl.zeros([BLOCK_R, BLOCK_N], dtype=tl.float32)

    number = tl.load(number_ptr + b)
    for tile in range(tl.program_id(1), tl.cdiv(number, BLOCK_R), tl.num_programs(1)):
        place = tile * BLOCK_R + tl.arange(0, BLOCK_R)
        valid = place < number
        row = tl.load(chosen_ptr + b * total + place, mask=valid, other=0)
        out = (b * total + place)[:, None]
        inside = valid[:, None]
        weight_out = out_weight_ptr + out * BLOCK_N + cols[None, :]
        match_out = out_match_ptr + out * BLOCK_N + cols[None, :]
        sums_out = out_sums_ptr + out * 2 * WIDTH + dims[None, :]
        context_out = out_context_ptr + out * WIDTH + dims[None, :]
        query_out = out_query_ptr + out * WIDTH + dims[None, :]
        action = tl.load(action_ptr + b * total + row, mask=valid, other=0)
        first = tl.load(node_first_ptr + b * total + row, mask=valid, other=0)
        current = tl.load(node_current_ptr + b * total + row, mask=valid, other=0)
        told = signal_ptr + (b * total + row) * SIGNALS
        coefficient = tl.load(coefficient_ptr + b * total + row, mask=valid, other=0.0)
        moves = tl.load(
            allowed_ptr + (b * total + row)[:, None] * nodes + cols[None, :],
            mask=valid[:, None] & real[None, :],
            other=0,
        ).to(tl.int32)
        # Rows beyond the last are computed too, over all nodes, and weigh nothing.
        moves = tl.where(valid[:, None], moves, real[None, :].to(tl.int32)) > 0

        zrows = zscore_ptr + b * nodes * nodes + current[:, None] * nodes + cols[None, :]
        zrow = tl.load(zrows, mask=real[None, :], other=0.0)
        bias = tl.where(moves, -read_weight * zrow, -BIG)
        weight = exponential(bias - tl.max(bias, axis=1)[:, None], FAST)
        weight = tl.where(moves, tl.maximum(weight, 1e-30), 0.0).to(keyed_ptr.dtype.element_ty)
        told_of = -match_weight * zrow
        if MOVES:
            # Rows of facts: those of nodes, then ways to each depot, then the same normalised.
            fact = fact_node_ptr + b * (F_HOME + 2 * DEPOTS) * BLOCK_N
            ways = cols[None, :] + F_HOME * BLOCK_N
            if DEPOTS > 1:
                # Without depots, whose routes begin anywhere, all rows are 0.
                ways = ways + tl.minimum(first, DEPOTS - 1)[:, None] * BLOCK_N
            rows = b * nodes * nodes + current[:, None] * nodes + cols[None, :]
            signals = (
                tl.load(told, mask=valid, other=0.0), tl.load(told + 1, mask=valid, other=0.0),
                tl.load(told + 2, mask=valid, other=0.0), tl.load(told + 3, mask=valid, other=0.0),
                tl.load(told + 4, mask=valid, other=0.0), tl.load(told + 5, mask=valid, other=0.0),
                tl.load(told + 6, mask=valid, other=0.0),
            )  # fmt: skip
            weights = (
                move_first_ptr + (b * nodes + first) * FACTS,
                move_last_ptr + (b * nodes + current) * FACTS,
                move_state_ptr + b * SIGNALS * FACTS,
            )
            told_of += counted_facts(
                weights, signals, fact, fact_own_ptr + b * F_INSTANCE, fact + ways,
                fact + ways + DEPOTS * BLOCK_N, distance_ptr + rows, duration_ptr + rows, real,
            )  # fmt: skip
        tl.store(weight_out, weight, mask=inside)
        if not HELD:
            value_sum = tl.load(value_at, mask=inside_table, other=0.0)
            key_sum = tl.load(key_at, mask=inside_table, other=0.0)
        numerator = tl.dot(weight, value_sum)
        denominator = tl.dot(weight, key_sum)
        scale = inverse(tl.maximum(denominator, LEAST_SUM), FAST)
        ratio = numerator * scale
        firsts = first_ptr + b * nodes * WIDTH + first[:, None] * WIDTH + dims[None, :]
        lasts = last_ptr + b * nodes * WIDTH + current[:, None] * WIDTH + dims[None, :]
        query = tl.load(firsts) + tl.load(lasts)
        for number_of in tl.static_range(SIGNALS):
            signal = tl.load(told + number_of, mask=valid, other=0.0)
            query += signal[:, None] * tl.load(state + number_of * WIDTH)[None, :]
        gate = inverse(1.0 + exponential(tl.minimum(-query, 20.0), FAST), FAST)
        context = gate * ratio
        tl.store(context_out, context.to(keyed_ptr.dtype.element_ty), mask=inside)
        if not HELD:
            embedding = tl.load(embedding_at, mask=inside_table, other=0.0)
        context = tl.clamp(context, -60000.0, 60000.0).to(embedding.dtype)  # half precision
        match = tl.dot(context, tl.trans(embedding))
        match = match * SCALE + told_of
        bent = tanh(match, FAST)
        legal = weight > 0
        score = tl.where(legal, CLIPPING * bent, -BIG)
        # Scores lie between -CLIPPING and CLIPPING: their exponentials need no shift.
        chance = exponential(score, FAST)
        taken = cols[None, :] == action[:, None]
        if ODDS:  # of the others alone
            chance = tl.where(taken, 0.0, chance)
        total_chance = tl.sum(chance, axis=1)

        # Backward: d(coefficient * log chance) / d(score), then step by step to the inputs.
        grad = tl.where(taken, 1.0, 0.0) - chance * (1.0 / total_chance)[:, None]
        grad = tl.where(legal, grad * (CLIPPING * (1.0 - bent * bent)), 0.0)
        # The coefficient, far below 1, comes in after the product: half precision ends at 6e-8.
        if not HELD:
            embedding = tl.load(embedding_at, mask=inside_table, other=0.0)
        grad_context = tl.dot((grad * SCALE).to(embedding.dtype), embedding)  # (R, D)
        grad *= coefficient[:, None]
        grad_match -= grad * zrow
        tl.store(match_out, (grad * SCALE).to(keyed_ptr.dtype.element_ty), mask=inside)
        grad_ratio = grad_context * coefficient[:, None] * gate
        grad_query = grad_ratio * ratio * (1.0 - gate)
        tl.store(query_out, grad_query.to(keyed_ptr.dtype.element_ty), mask=inside)
        grad_ratio *= scale
        grad_numerator = grad_ratio.to(keyed_ptr.dtype.element_ty)
        grad_denominator = (-grad_ratio * ratio).to(keyed_ptr.dtype.element_ty)
        tl.store(sums_out, grad_numerator, mask=inside)
        tl.store(sums_out + WIDTH, grad_denominator, mask=inside)
        if not HELD:
            value_sum = tl.load(value_at, mask=inside_table, other=0.0)
            key_sum = tl.load(key_at, mask=inside_table, other=0.0)
        grad_weight = tl.dot(grad_numerator, tl.trans(value_sum))
        grad_weight = tl.dot(grad_denominator, tl.trans(key_sum), grad_weight)
        grad_read -= grad_weight * weight.to(tl.float32) * zrow

    tl.atomic_add(out_scalars_ptr + b * 2, tl.sum(tl.sum(grad_read, axis=1), axis=0))
    tl.atomic_add(out_scalars_ptr + b * 2 + 1, tl.sum(tl.sum(grad_match, axis=1), axis=0))


@triton.jit
def product_kernel(
    left_ptr, right_ptr, number_ptr, out_ptr, rows, nodes, columns,
    WIDTH: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_R: tl.constexpr,
):  # fmt: skip
    """``left^T right`` over the listed decisions of one instance, for some of right's columns."""
    b = tl.program_id(0).to(tl.int64)
    cols = tl.arange(0, BLOCK_N)
    dims = tl.program_id(1) * WIDTH + tl.arange(0, WIDTH)
    number = tl.load(number_ptr + b)
    acc = tl.zeros([BLOCK_N, WIDTH], dtype=tl.float32)
    for begin in range(0, number, BLOCK_R):
        place = begin + tl.arange(0, BLOCK_R)
        inside = (place < number)[:, None]
        row = (b * rows + place)[:, None]
        left = tl.load(left_ptr + row * BLOCK_N + cols[None, :], mask=inside, other=0.0)
        right = tl.load(right_ptr + row * columns + dims[None, :], mask=inside, other=0.0)
        acc = tl.dot(tl.trans(left), right, acc)
    out = out_ptr + b * nodes * columns + cols[:, None] * columns + dims[None, :]
    tl.store(out, acc, mask=(cols < nodes)[:, None])


@triton.jit
def scatter_kernel(
    query_ptr, fact_ptr, signal_ptr, node_first_ptr, node_current_ptr, chosen_ptr, number_ptr,
    out_ptr, out_fact_ptr, total, summed,
    WIDTH: tl.constexpr, FACT_WIDTH: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_R: tl.constexpr,
    SIGNALS: tl.constexpr, MOVES: tl.constexpr,
):  # fmt: skip
    """Sum rows of queries, and of facts, by the node the route began at, or the vehicle was at.

    Programs 0 and 1, as a product with one-hot rows. Program 2 weighs rows by each signal instead.
    Several programs of each kind share the rows, and each leaves a sum of its own, of as many rows
    as nodes or signals need.
    """
    b = tl.program_id(0).to(tl.int64)
    cols = tl.arange(0, BLOCK_N)
    dims = tl.arange(0, WIDTH)
    facts = tl.arange(0, FACT_WIDTH)
    number = tl.load(number_ptr + b)
    acc = tl.zeros([BLOCK_N, WIDTH], dtype=tl.float32)
    acc_facts = tl.zeros([BLOCK_N, FACT_WIDTH], dtype=tl.float32)
    node_ptr = node_current_ptr
    if tl.program_id(1) == 0:
        node_ptr = node_first_ptr
    # Rows and nodes are asked for one tile ahead: each tile would wait for both.
    place = tl.program_id(2) * BLOCK_R + tl.arange(0, BLOCK_R)
    row = tl.load(chosen_ptr + b * total + place, mask=place < number, other=0)
    node = tl.load(node_ptr + b * total + row)
    for _ in range(tl.program_id(2), tl.cdiv(number, BLOCK_R), tl.num_programs(2)):
        valid = place < number
        later = place + BLOCK_R * tl.num_programs(2)
        row_later = tl.load(chosen_ptr + b * total + later, mask=later < number, other=0)
        values = tl.load(
            query_ptr + (b * total + place)[:, None] * WIDTH + dims[None, :],
            mask=valid[:, None],
            other=0.0,
        )
        weight = (cols[:, None] == node[None, :]).to(tl.float32)
        if tl.program_id(1) == 2:
            told = signal_ptr + (b * total + row)[None, :] * SIGNALS + cols[:, None]
            inside = valid[None, :] & (cols < SIGNALS)[:, None]
            weight = tl.load(told, mask=inside, other=0.0)
        weight = weight.to(values.dtype)
        acc = tl.dot(weight, values, acc)
        if MOVES:
            of_facts = tl.load(
                fact_ptr + (b * total + place)[:, None] * FACT_WIDTH + facts[None, :],
                mask=valid[:, None],
                other=0.0,
            )
            acc_facts = tl.dot(weight, of_facts, acc_facts)
        place, row = later, row_later
        node = tl.load(node_ptr + b * total + row)
    inside = (cols < summed)[:, None]
    part = (b * 3 + tl.program_id(1)) * tl.num_programs(2) + tl.program_id(2)
    rows = part * summed + cols[:, None]
    tl.store(out_ptr + rows * WIDTH + dims[None, :], acc, mask=inside)
    if MOVES:
        tl.store(out_fact_ptr + rows * FACT_WIDTH + facts[None, :], acc_facts, mask=inside)
