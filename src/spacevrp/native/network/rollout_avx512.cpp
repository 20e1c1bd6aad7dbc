// For processors with AVX-512.
#include "rollout.hpp"

#ifdef SPACEVRP_WIDER

#include <immintrin.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <utility>

// What is included above stays for any processor; only what follows is not.
#if defined(__clang__)
#pragma clang attribute push(                                                                      \
    __attribute__((target("avx2,fma,avx512f,avx512vl,avx512bw,avx512dq"))), apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("avx2,fma,avx512f,avx512vl,avx512bw,avx512dq")
#endif
#define SPACEVRP_LANES 16

namespace spacevrp::network::avx512 {

#include "lanes.hpp"

#include "rollout_products.hpp"

#include "rollout_tables.hpp"

#include "rollout_rules.hpp"

#include "rollout_choice.hpp"

#include "rollout_equals.hpp"

#include "rollout_decoder.hpp"

#include "lists_kernel.hpp"

#include "rollout_kernel.hpp"

#include "fleet_kernel.hpp"

} // namespace spacevrp::network::avx512

#if defined(__clang__)
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif

#endif
