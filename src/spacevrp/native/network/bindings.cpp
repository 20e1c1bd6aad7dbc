// The module `_network`: what the network needs on a CPU besides matrix products.
#include "encoder_bindings.hpp"

#include <pybind11/pybind11.h>

PYBIND11_MODULE(_network, module) {
    module.doc() = "The network on a CPU.";
    spacevrp::encoder::bind(module);
}
