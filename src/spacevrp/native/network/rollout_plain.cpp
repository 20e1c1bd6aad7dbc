// For any processor: four floats side by side.
#include "rollout.hpp"

#if defined(__aarch64__) && defined(__GNUC__)
#include <arm_neon.h>
#endif

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <utility>

#define SPACEVRP_LANES 4

namespace spacevrp::network::plain {

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

} // namespace spacevrp::network::plain
