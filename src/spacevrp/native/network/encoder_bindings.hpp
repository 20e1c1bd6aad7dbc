// The encoder's part of the module `_network`.
#pragma once

#include <pybind11/pybind11.h>

namespace spacevrp::encoder {

void bind(pybind11::module_ &module);

} // namespace spacevrp::encoder
