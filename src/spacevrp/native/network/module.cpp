// The compiled part of the network: what each file binds is told in _network.pyi.
#include <pybind11/pybind11.h>

namespace spacevrp::network {
void bind_encoder(pybind11::module_ &module);
void bind_rollout(pybind11::module_ &module);
} // namespace spacevrp::network

PYBIND11_MODULE(_network, module) {
    module.doc() = "The network on a CPU.";
    spacevrp::network::bind_encoder(module);
    spacevrp::network::bind_rollout(module);
}
