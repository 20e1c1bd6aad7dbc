// The kernels of the encoder for any processor.
#include "encoder_kernels.hpp"

#include <cmath>
#include <cstring>
#include <limits>

namespace spacevrp::encoder::plain {

#include "encoder_loops.hpp"

} // namespace spacevrp::encoder::plain
