"""One Triton kernel for the policy gradient at recorded decisions.

For every decision it computes the forward pass of the decoder again and, because the gradient of
``coefficient * log probability`` is known in closed form, the whole backward pass with it. What
remains are sums over decisions, written as factors of matrix products (see replay.py).
"""

from __future__ import annotations

import triton
import triton.language as tl

from spacevrp.model.kernel_arithmetic import exponential, inverse, tanh

BIG = tl.constexpr(1e30)


@triton.jit
def _query(
    first_ptr, last_ptr, state_ptr, b, nodes, first, current, signal, some, WIDTH: tl.constexpr
):
    """Queries of a tile of decisions, (R, C)."""
    state_weight = tl.load(state_ptr + b * WIDTH + some)
    firsts = first_ptr + b * nodes * WIDTH + first[:, None] * WIDTH + some[None, :]
    lasts = last_ptr + b * nodes * WIDTH + current[:, None] * WIDTH + some[None, :]
    return tl.load(firsts) + tl.load(lasts) + signal[:, None] * state_weight[None, :]


@triton.jit
def _read(weight, value_sum, key_sum, query, FAST: tl.constexpr):
    """The readout: ratio of the sums, gate, and what the ratio was divided by, inverted."""
    numerator = tl.dot(weight, value_sum)  # (R, C)
    denominator = tl.dot(weight, key_sum)
    scale = inverse(tl.maximum(denominator, 1e-30), FAST)
    gate = inverse(1.0 + exponential(tl.minimum(-query, 20.0), FAST), FAST)
    return numerator * scale, gate, scale


@triton.jit
def replay_kernel(
    embedding_ptr,
    keyed_ptr,
    first_ptr,
    last_ptr,
    state_ptr,
    zscore_ptr,
    weights_ptr,
    start_ptr,
    origin_ptr,
    action_ptr,
    signal_ptr,
    allowed_ptr,
    steps_ptr,
    coefficient_ptr,
    out_weight_ptr,
    out_sums_ptr,
    out_match_ptr,
    out_context_ptr,
    out_query_ptr,
    out_scalars_ptr,
    trajectories,
    max_steps,
    nodes,
    tiles_a_program,
    WIDTH: tl.constexpr,
    CHUNK: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_R: tl.constexpr,
    CLIPPING: tl.constexpr,
    SCALE: tl.constexpr,
    FAST: tl.constexpr,
):
    """Gradients of a range of decisions of one instance."""
    b = tl.program_id(0).to(tl.int64)
    cols = tl.arange(0, BLOCK_N)
    dims = tl.arange(0, WIDTH)
    real = cols < nodes
    total = trajectories * max_steps

    # The operands lie in parts of some channels each: whole ones would take all registers.
    values, keys, embeddings = (), (), ()  # each (N, C); Triton knows tuples and their sums
    for part in tl.static_range(WIDTH // CHUNK):
        some = part * CHUNK + tl.arange(0, CHUNK)
        keyed = keyed_ptr + b * nodes * 2 * WIDTH + cols[:, None] * 2 * WIDTH + some[None, :]
        values = values + (tl.load(keyed, mask=real[:, None], other=0.0),)  # noqa: RUF005
        keys = keys + (tl.load(keyed + WIDTH, mask=real[:, None], other=0.0),)  # noqa: RUF005
        embedded = embedding_ptr + b * nodes * WIDTH + cols[:, None] * WIDTH + some[None, :]
        embeddings = embeddings + (tl.load(embedded, mask=real[:, None], other=0.0),)  # noqa: RUF005
    dtype = keyed_ptr.dtype.element_ty
    match_dtype = embedding_ptr.dtype.element_ty
    read_weight = tl.load(weights_ptr + b * 2)
    match_weight = tl.load(weights_ptr + b * 2 + 1)

    # Kept a row and summed once at the end: sums across warps make them wait for each other.
    grad_read = tl.zeros([BLOCK_R], dtype=tl.float32)
    grad_match = tl.zeros([BLOCK_R], dtype=tl.float32)

    for tile in range(tiles_a_program):
        row = (tl.program_id(1) * tiles_a_program + tile) * BLOCK_R + tl.arange(0, BLOCK_R)
        valid = row < total
        t = row // trajectories
        p = row % trajectories
        steps = tl.load(steps_ptr + b * trajectories + p, mask=valid, other=0)
        active = valid & (t < steps)
        out = (b * total + row)[:, None]
        inside = valid[:, None]
        weight_out = out_weight_ptr + out * BLOCK_N + cols[None, :]
        match_out = out_match_ptr + out * BLOCK_N + cols[None, :]
        sums_out = out_sums_ptr + out * 2 * WIDTH
        context_out = out_context_ptr + out * WIDTH
        query_out = out_query_ptr + out * WIDTH
        if tl.max(active.to(tl.int32), axis=0) > 0:
            start = tl.load(start_ptr + b * trajectories + p, mask=valid, other=0)
            history = action_ptr + b * total + row
            action = tl.load(history, mask=active, other=0)
            before = tl.load(history - trajectories, mask=active & (t > 0), other=0)
            current = tl.where(t == 0, start, before)
            first = tl.load(origin_ptr + b * trajectories + p, mask=valid, other=0)
            signal = tl.load(signal_ptr + b * total + row, mask=active, other=0.0)
            coefficient = tl.load(coefficient_ptr + b * trajectories + p, mask=active, other=0.0)
            moves = tl.load(
                allowed_ptr + (b * total + row)[:, None] * nodes + cols[None, :],
                mask=active[:, None] & real[None, :],
                other=0,
            ).to(tl.int32)
            # Rows without a decision are computed too, over all nodes, and weigh nothing.
            moves = tl.where(active[:, None], moves, real[None, :].to(tl.int32)) > 0

            zrows = zscore_ptr + b * nodes * nodes + current[:, None] * nodes + cols[None, :]
            zrow = tl.load(zrows, mask=real[None, :], other=0.0)
            bias = tl.where(moves, -read_weight * zrow, -BIG)
            weight = exponential(bias - tl.max(bias, axis=1)[:, None], FAST)
            weight = tl.where(moves, tl.maximum(weight, 1e-30), 0.0).to(dtype)
            tl.store(weight_out, weight, mask=inside)
            match = tl.zeros([BLOCK_R, BLOCK_N], dtype=tl.float32)
            for part in tl.static_range(WIDTH // CHUNK):
                some = part * CHUNK + tl.arange(0, CHUNK)
                query = _query(
                    first_ptr, last_ptr, state_ptr, b, nodes, first, current, signal, some, WIDTH
                )
                ratio, gate, _ = _read(weight, values[part], keys[part], query, FAST)
                context = gate * ratio
                tl.store(context_out + some[None, :], context.to(dtype), mask=inside)
                context = tl.clamp(context, -60000.0, 60000.0).to(match_dtype)  # half precision
                match = tl.dot(context, tl.trans(embeddings[part]), match)
            # Read again rather than kept, as further below: the products need the registers.
            zrow = tl.load(zrows, mask=real[None, :], other=0.0)
            bent = tanh(match * SCALE - match_weight * zrow, FAST)
            legal = weight > 0
            score = tl.where(legal, CLIPPING * bent, -BIG)
            # Scores lie between -CLIPPING and CLIPPING: their exponentials need no shift.
            chance = exponential(score, FAST)
            total_chance = tl.sum(chance, axis=1)
            taken = cols[None, :] == action[:, None]

            # Backward: d(coefficient * log chance) / d(score), then step by step to the inputs.
            grad = tl.where(taken, 1.0, 0.0) - chance * (1.0 / total_chance)[:, None]
            grad = tl.where(legal, grad * (CLIPPING * (1.0 - bent * bent)), 0.0)
            # The coefficient, far below 1, comes in after the product: half precision ends at 6e-8.
            grad_product = (grad * SCALE).to(match_dtype)
            grad_match -= coefficient * tl.sum(grad * zrow, axis=1)
            tl.store(match_out, (grad * (SCALE * coefficient)[:, None]).to(dtype), mask=inside)
            grad_weight = tl.zeros([BLOCK_R, BLOCK_N], dtype=tl.float32)
            for part in tl.static_range(WIDTH // CHUNK):
                some = part * CHUNK + tl.arange(0, CHUNK)
                grad_context = tl.dot(grad_product, embeddings[part])  # (R, C)
                # Computed again rather than kept.
                query = _query(
                    first_ptr, last_ptr, state_ptr, b, nodes, first, current, signal, some, WIDTH
                )
                ratio, gate, scale = _read(weight, values[part], keys[part], query, FAST)
                grad_ratio = grad_context * coefficient[:, None] * gate
                grad_query = grad_ratio * ratio * (1.0 - gate)
                tl.store(query_out + some[None, :], grad_query.to(dtype), mask=inside)
                grad_ratio *= scale
                grad_numerator = grad_ratio.to(dtype)
                grad_denominator = (-grad_ratio * ratio).to(dtype)
                tl.store(sums_out + some[None, :], grad_numerator, mask=inside)
                tl.store(sums_out + WIDTH + some[None, :], grad_denominator, mask=inside)
                grad_weight = tl.dot(grad_numerator, tl.trans(values[part]), grad_weight)
                grad_weight = tl.dot(grad_denominator, tl.trans(keys[part]), grad_weight)
            zrow = tl.load(zrows, mask=real[None, :], other=0.0)
            grad_read -= tl.sum(grad_weight * weight.to(tl.float32) * zrow, axis=1)
        else:
            # All these solutions are finished; the products must find zeros.
            none_n = tl.zeros([BLOCK_R, BLOCK_N], dtype=dtype)
            none_d = tl.zeros([BLOCK_R, WIDTH], dtype=dtype)
            tl.store(weight_out, none_n, mask=inside)
            tl.store(match_out, none_n, mask=inside)
            tl.store(sums_out + dims[None, :], none_d, mask=inside)
            tl.store(sums_out + WIDTH + dims[None, :], none_d, mask=inside)
            tl.store(context_out + dims[None, :], none_d, mask=inside)
            tl.store(query_out + dims[None, :], none_d, mask=inside)

    tl.atomic_add(out_scalars_ptr + b * 2, tl.sum(grad_read, axis=0))
    tl.atomic_add(out_scalars_ptr + b * 2 + 1, tl.sum(grad_match, axis=0))


@triton.jit
def scatter_kernel(
    query_ptr,
    start_ptr,
    action_ptr,
    signal_ptr,
    out_ptr,
    out_state_ptr,
    trajectories,
    max_steps,
    nodes,
    tiles_a_program,
    WIDTH: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_R: tl.constexpr,
):
    """Sum the rows of ``query`` by the node the vehicle was at, and weighted with the signal.

    Both are products of matrices: with one-hot rows, and with a single row in a small tile.
    """
    b = tl.program_id(0).to(tl.int64)
    cols = tl.arange(0, BLOCK_N)
    dims = tl.arange(0, WIDTH)
    total = trajectories * max_steps
    acc = tl.zeros([BLOCK_N, WIDTH], dtype=tl.float32)
    first_row = tl.arange(0, 16)[:, None] == 0  # the smallest tile there is
    acc_state = tl.zeros([16, WIDTH], dtype=tl.float32)
    for tile in range(tiles_a_program):
        row = (tl.program_id(1) * tiles_a_program + tile) * BLOCK_R + tl.arange(0, BLOCK_R)
        valid = row < total
        t = row // trajectories
        start = tl.load(start_ptr + b * trajectories + row % trajectories, mask=valid, other=0)
        before = tl.load(action_ptr + b * total + row - trajectories, mask=valid & (t > 0), other=0)
        current = tl.where(t == 0, start, before)
        values = tl.load(
            query_ptr + (b * total + row)[:, None] * WIDTH + dims[None, :],
            mask=valid[:, None],
            other=0.0,
        )
        hot = (cols[:, None] == current[None, :]).to(values.dtype)
        acc = tl.dot(hot, values, acc)
        signal = tl.load(signal_ptr + b * total + row, mask=valid, other=0.0)
        weighing = tl.where(first_row, signal[None, :], 0.0).to(values.dtype)
        acc_state = tl.dot(weighing, values, acc_state)
    tl.atomic_add(out_state_ptr + b * WIDTH + dims, tl.sum(acc_state, axis=0))
    tl.atomic_add(
        out_ptr + b * nodes * WIDTH + cols[:, None] * WIDTH + dims[None, :],
        acc,
        mask=(cols < nodes)[:, None],
    )
