// The kernels of the encoder for processors with AVX-512.
#include "encoder_kernels.hpp"

#ifdef SPACEVRP_WIDER_ENCODER

#include <cmath>
#include <cstring>
#include <limits>

// What is included above stays for any processor; only what follows is not.
#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx2,avx512f,avx512vl,avx512bw,avx512dq"))),   \
                             apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("avx2,avx512f,avx512vl,avx512bw,avx512dq")
#endif

namespace spacevrp::encoder::avx512 {

#include "encoder_loops.hpp"

} // namespace spacevrp::encoder::avx512

#if defined(__clang__)
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif

#endif
