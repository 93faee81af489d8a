"""Kernels as people write them in Triton, compiled ahead of time by `make_triton.py`.

Not imported by any test: Triton is not needed to run them, only to make the code objects anew.
"""

import triton
import triton.language as tl


@triton.jit
def matmul(
    a_ptr, b_ptr, c_ptr, m, n, k, stride_am, stride_ak, stride_bk, stride_bn, stride_cm,
    BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, ACC: tl.constexpr, PARTS: tl.constexpr,
):  # fmt: skip
    """C = A @ B; with PARTS > 1, every program adds its share of K to C."""
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    cols = tl.program_id(1) * BN + tl.arange(0, BN)
    depth = tl.program_id(2) * BK + tl.arange(0, BK)
    a = a_ptr + rows[:, None] * stride_am + depth[None, :] * stride_ak
    b = b_ptr + depth[:, None] * stride_bk + cols[None, :] * stride_bn
    acc = tl.zeros((BM, BN), dtype=ACC)
    for start in range(tl.program_id(2) * BK, k, BK * PARTS):
        left = k - start
        inside = tl.arange(0, BK) < left
        x = tl.load(a, mask=(rows[:, None] < m) & inside[None, :], other=0.0)
        y = tl.load(b, mask=inside[:, None] & (cols[None, :] < n), other=0.0)
        acc = tl.dot(x, y, acc)
        a += BK * PARTS * stride_ak
        b += BK * PARTS * stride_bk
    c = c_ptr + rows[:, None] * stride_cm + cols[None, :]
    inside_c = (rows[:, None] < m) & (cols[None, :] < n)
    if PARTS > 1:
        tl.atomic_add(c, acc, mask=inside_c)
    else:
        tl.store(c, acc.to(c_ptr.dtype.element_ty), mask=inside_c)


@triton.jit
def softmax(x_ptr, y_ptr, n, stride, BLOCK: tl.constexpr):
    """One row a program."""
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * stride + cols, mask=cols < n, other=-float("inf")).to(tl.float32)
    e = tl.exp(x - tl.max(x, axis=0))
    y = e / tl.sum(e, axis=0)
    tl.store(y_ptr + row * stride + cols, y.to(y_ptr.dtype.element_ty), mask=cols < n)


@triton.jit
def layernorm(x_ptr, w_ptr, b_ptr, y_ptr, n, eps, BLOCK: tl.constexpr):
    """One row a program, in a loop over blocks: first the sums, then the result."""
    row = tl.program_id(0)
    total = tl.zeros((BLOCK,), dtype=tl.float32)
    squares = tl.zeros((BLOCK,), dtype=tl.float32)
    for start in range(0, n, BLOCK):
        cols = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + row * n + cols, mask=cols < n, other=0).to(tl.float32)
        total += x
        squares += x * x
    mean = tl.sum(total, axis=0) / n
    scale = 1 / tl.sqrt(tl.sum(squares, axis=0) / n - mean * mean + eps)
    for start in range(0, n, BLOCK):
        cols = start + tl.arange(0, BLOCK)
        inside = cols < n
        x = tl.load(x_ptr + row * n + cols, mask=inside, other=0).to(tl.float32)
        w = tl.load(w_ptr + cols, mask=inside).to(tl.float32)
        b = tl.load(b_ptr + cols, mask=inside).to(tl.float32)
        tl.store(y_ptr + row * n + cols, ((x - mean) * scale * w + b).to(y_ptr.dtype.element_ty), mask=inside)


@triton.jit
def attention(
    q_ptr, k_ptr, v_ptr, o_ptr, length, scale,
    D: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, CAUSAL: tl.constexpr,
):  # fmt: skip
    """Flash attention, forward; tensors are [head, length, D]."""
    base = tl.program_id(1) * length * D
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    d = tl.arange(0, D)
    inside_q = rows[:, None] < length
    q = tl.load(q_ptr + base + rows[:, None] * D + d[None, :], mask=inside_q, other=0)
    highest = tl.full((BM,), -float("inf"), dtype=tl.float32)
    total = tl.zeros((BM,), dtype=tl.float32)
    acc = tl.zeros((BM, D), dtype=tl.float32)
    end = min(length, (tl.program_id(0) + 1) * BM) if CAUSAL else length
    for start in range(0, end, BN):
        keys = start + tl.arange(0, BN)
        k = tl.load(k_ptr + base + keys[None, :] * D + d[:, None], mask=keys[None, :] < length, other=0)
        v = tl.load(v_ptr + base + keys[:, None] * D + d[None, :], mask=keys[:, None] < length, other=0)
        s = tl.dot(q, k) * scale
        seen = keys[None, :] < length
        if CAUSAL:
            seen = seen & (keys[None, :] <= rows[:, None])
        s = tl.where(seen, s, -1e30)
        above = tl.maximum(highest, tl.max(s, axis=1))
        p = tl.exp(s - above[:, None])
        shrink = tl.exp(highest - above)
        total = total * shrink + tl.sum(p, axis=1)
        acc = tl.dot(p.to(v.dtype), v, acc * shrink[:, None])
        highest = above
    o = acc / total[:, None]
    tl.store(o_ptr + base + rows[:, None] * D + d[None, :], o.to(o_ptr.dtype.element_ty), mask=inside_q)
