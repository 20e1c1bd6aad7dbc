// Arrays from Python, and checks of what is in them.
#pragma once

#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

namespace spacevrp::network {

namespace py = pybind11;

using Floats = py::array_t<float, py::array::c_style | py::array::forcecast>;
using Longs = py::array_t<std::int64_t, py::array::c_style | py::array::forcecast>;
using Ints = py::array_t<std::int32_t, py::array::c_style | py::array::forcecast>;
using Flags = py::array_t<std::uint8_t, py::array::c_style | py::array::forcecast>;
using Sizes = std::vector<py::ssize_t>;

template <class Array> std::string shape_of(const Array &sizes, std::size_t count) {
    std::string text = "(";
    for (std::size_t i = 0; i < count; ++i)
        text += (i ? ", " : "") + std::to_string(sizes[i]);
    return text + ")";
}

template <class Array> void check_shape(const char *name, const Array &array, const Sizes &shape) {
    bool same = array.ndim() == static_cast<py::ssize_t>(shape.size());
    for (std::size_t i = 0; same && i < shape.size(); ++i)
        same = array.shape(static_cast<py::ssize_t>(i)) == shape[i];
    if (!same)
        throw py::value_error(std::string(name) + ": expected shape " +
                              shape_of(shape, shape.size()) + ", received " +
                              shape_of(array.shape(), static_cast<std::size_t>(array.ndim())));
}

// Every number is one, and finite unless infinite ones are allowed.
inline void check_numbers(const char *name, const Floats &array, bool may_be_infinite) {
    const float *values = array.data();
    const py::ssize_t count = array.size();
    const float most = may_be_infinite ? std::numeric_limits<float>::infinity()
                                       : std::numeric_limits<float>::max();
    unsigned bad = 0;
    for (py::ssize_t i = 0; i < count; ++i)
        bad |= !(std::fabs(values[i]) <= most);
    if (!bad)
        return;
    for (py::ssize_t i = 0; i < count; ++i)
        if (!(std::fabs(values[i]) <= most))
            throw py::value_error(std::string(name) + ": expected " +
                                  (may_be_infinite ? "numbers" : "finite numbers") + ", received " +
                                  std::to_string(values[i]) + " at position " + std::to_string(i));
}

template <class Integer>
void check_range(const char *name, const Integer *values, py::ssize_t count, std::int64_t limit) {
    for (py::ssize_t i = 0; i < count; ++i)
        if (values[i] < 0 || values[i] >= limit)
            throw py::value_error(std::string(name) + ": expected whole numbers from 0 to " +
                                  std::to_string(limit - 1) + ", received " +
                                  std::to_string(values[i]));
}

// The entry of a dictionary as an array of this type.
template <class Array> Array entry(const py::dict &from, const char *name) {
    if (!from.contains(name))
        throw py::value_error("expected an array " + std::string(name) + ", received none");
    const auto found = Array::ensure(from[name]);
    if (!found) {
        PyErr_Clear();
        throw py::value_error("expected " + std::string(name) +
                              " to be an array of numbers, received something else");
    }
    return found;
}

} // namespace spacevrp::network
