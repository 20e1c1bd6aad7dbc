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
    out_state_ptr,
    out_scalars_ptr,
    trajectories,
    max_steps,
    nodes,
    tiles_a_program,
    WIDTH: tl.constexpr,
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

    keyed = keyed_ptr + b * nodes * 2 * WIDTH + cols[:, None] * 2 * WIDTH + dims[None, :]
    value_sum = tl.load(keyed, mask=real[:, None], other=0.0)  # (N, D)
    key_sum = tl.load(keyed + WIDTH, mask=real[:, None], other=0.0)  # (N, D)
    embedding = tl.load(
        embedding_ptr + b * nodes * WIDTH + cols[:, None] * WIDTH + dims[None, :],
        mask=real[:, None],
        other=0.0,
    )  # (N, D)
    state_weight = tl.load(state_ptr + b * WIDTH + dims)
    read_weight = tl.load(weights_ptr + b * 2)
    match_weight = tl.load(weights_ptr + b * 2 + 1)

    # Kept as tiles and summed once at the end: sums across warps make them wait for each other.
    grad_state = tl.zeros([BLOCK_R, WIDTH], dtype=tl.float32)
    grad_read = tl.zeros([BLOCK_R, BLOCK_N], dtype=tl.float32)
    grad_match = tl.zeros([BLOCK_R, BLOCK_N], dtype=tl.float32)

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
        sums_out = out_sums_ptr + out * 2 * WIDTH + dims[None, :]
        context_out = out_context_ptr + out * WIDTH + dims[None, :]
        query_out = out_query_ptr + out * WIDTH + dims[None, :]
        if tl.max(active.to(tl.int32), axis=0) > 0:
            start = tl.load(start_ptr + b * trajectories + p, mask=valid, other=0)
            history = action_ptr + b * total + row
            action = tl.load(history, mask=active, other=0)
            before = tl.load(history - trajectories, mask=active & (t > 0), other=0)
            current = tl.where(t == 0, start, before)
            first = tl.load(origin_ptr + b * trajectories + p, mask=valid, other=0)
            signal = tl.load(signal_ptr + b * total + row, mask=active, other=0.0)
            coefficient = tl.load(coefficient_ptr + b * total + row, mask=active, other=0.0)
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
            weight = tl.where(moves, tl.maximum(weight, 1e-30), 0.0).to(value_sum.dtype)
            tl.store(weight_out, weight, mask=inside)
            numerator = tl.dot(weight, value_sum)
            denominator = tl.dot(weight, key_sum)
            scale = inverse(tl.maximum(denominator, 1e-30), FAST)
            ratio = numerator * scale
            firsts = first_ptr + b * nodes * WIDTH + first[:, None] * WIDTH + dims[None, :]
            lasts = last_ptr + b * nodes * WIDTH + current[:, None] * WIDTH + dims[None, :]
            query = tl.load(firsts) + tl.load(lasts) + signal[:, None] * state_weight[None, :]
            gate = inverse(1.0 + exponential(tl.minimum(-query, 20.0), FAST), FAST)
            context = gate * ratio
            tl.store(context_out, context.to(value_sum.dtype), mask=inside)
            context = tl.clamp(context, -60000.0, 60000.0).to(embedding.dtype)  # half precision
            match = tl.dot(context, tl.trans(embedding))
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
            grad_context = tl.dot((grad * SCALE).to(embedding.dtype), embedding)  # (R, D)
            grad *= coefficient[:, None]
            grad_match -= grad * zrow
            tl.store(match_out, (grad * SCALE).to(value_sum.dtype), mask=inside)
            grad_ratio = grad_context * coefficient[:, None] * gate
            grad_query = grad_ratio * ratio * (1.0 - gate)
            tl.store(query_out, grad_query.to(value_sum.dtype), mask=inside)
            grad_state += grad_query * signal[:, None]
            grad_ratio *= scale
            grad_numerator = grad_ratio.to(value_sum.dtype)
            grad_denominator = (-grad_ratio * ratio).to(value_sum.dtype)
            tl.store(sums_out, grad_numerator, mask=inside)
            tl.store(sums_out + WIDTH, grad_denominator, mask=inside)
            grad_weight = tl.dot(grad_numerator, tl.trans(value_sum))
            grad_weight = tl.dot(grad_denominator, tl.trans(key_sum), grad_weight)
            grad_read -= grad_weight * weight.to(tl.float32) * zrow
        else:
            # All these solutions are finished; the products must find zeros.
            none_n = tl.zeros([BLOCK_R, BLOCK_N], dtype=value_sum.dtype)
            none_d = tl.zeros([BLOCK_R, WIDTH], dtype=value_sum.dtype)
            tl.store(weight_out, none_n, mask=inside)
            tl.store(match_out, none_n, mask=inside)
            tl.store(sums_out, none_d, mask=inside)
            tl.store(sums_out + WIDTH, none_d, mask=inside)
            tl.store(context_out, none_d, mask=inside)
            tl.store(query_out, none_d, mask=inside)

    tl.atomic_add(out_state_ptr + b * WIDTH + dims, tl.sum(grad_state, axis=0))
    tl.atomic_add(out_scalars_ptr + b * 2, tl.sum(tl.sum(grad_read, axis=1), axis=0))
    tl.atomic_add(out_scalars_ptr + b * 2 + 1, tl.sum(tl.sum(grad_match, axis=1), axis=0))


@triton.jit
def scatter_kernel(
    query_ptr,
    start_ptr,
    action_ptr,
    out_ptr,
    trajectories,
    max_steps,
    nodes,
    tiles_a_program,
    WIDTH: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_R: tl.constexpr,
):
    """Sum the rows of ``query`` by the node the vehicle was at, as a product with one-hot rows."""
    b = tl.program_id(0).to(tl.int64)
    cols = tl.arange(0, BLOCK_N)
    dims = tl.arange(0, WIDTH)
    total = trajectories * max_steps
    acc = tl.zeros([BLOCK_N, WIDTH], dtype=tl.float32)
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
    tl.atomic_add(
        out_ptr + b * nodes * WIDTH + cols[:, None] * WIDTH + dims[None, :],
        acc,
        mask=(cols < nodes)[:, None],
    )
