// Arrays in, arrays filled: every shape and type is checked here, the kernels trust them.
#include "encoder_kernels.hpp"

#include <pybind11/numpy.h>
#include <pybind11/stl.h>

#include <cmath>
#include <optional>
#include <string>
#include <vector>

namespace py = pybind11;

namespace spacevrp::encoder {
namespace {

using Offsets = std::vector<std::int64_t>;

std::string shape_of(const py::array &array) {
    std::string text = "(";
    for (py::ssize_t i = 0; i < array.ndim(); ++i)
        text += (i ? ", " : "") + std::to_string(array.shape(i));
    return text + ")";
}

[[noreturn]] void refuse(const char *name, const std::string &expected, const py::array &array) {
    throw py::value_error(std::string(name) + ": expected " + expected + ", received " +
                          std::string(py::str(py::object(array.dtype()))) + " of shape " +
                          shape_of(array));
}

// A matrix of float32 with the entries of a row side by side; -1 for any number of rows or columns.
Input input(const char *name, const py::array &array, py::ssize_t rows, py::ssize_t columns) {
    constexpr auto entry = static_cast<py::ssize_t>(sizeof(float));
    const auto wanted = [](py::ssize_t number) {
        return number < 0 ? std::string("any") : std::to_string(number);
    };
    const bool fits =
        py::isinstance<py::array_t<float>>(array) && array.ndim() == 2 &&
        (rows < 0 || array.shape(0) == rows) && (columns < 0 || array.shape(1) == columns) &&
        (array.shape(1) < 2 || array.strides(1) == entry) && array.strides(0) % entry == 0 &&
        (array.shape(0) < 2 || array.strides(0) >= array.shape(1) * entry);
    if (!fits)
        refuse(name,
               "float32 of shape (" + wanted(rows) + ", " + wanted(columns) +
                   "), the entries of a row side by side",
               array);
    return {static_cast<const float *>(array.data()), array.shape(0), array.shape(1),
            array.strides(0) / entry};
}

Output output(const char *name, py::array &array, py::ssize_t rows, py::ssize_t columns) {
    const Input checked = input(name, array, rows, columns);
    if (!array.writeable())
        refuse(name, "an array that can be written to", array);
    return {static_cast<float *>(array.mutable_data()), checked.count, checked.width,
            checked.stride};
}

const float *row_of(const char *name, const py::array &array, py::ssize_t width) {
    const bool fits = py::isinstance<py::array_t<float>>(array) && array.ndim() == 1 &&
                      array.shape(0) == width &&
                      (width < 2 || array.strides(0) == static_cast<py::ssize_t>(sizeof(float)));
    if (!fits)
        refuse(name, "float32 of shape (" + std::to_string(width) + ",), side by side", array);
    return static_cast<const float *>(array.data());
}

Segments checked(const Offsets &segments, std::int64_t rows) {
    bool fits = segments.size() >= 2 && segments.front() == 0 && segments.back() == rows;
    for (std::size_t s = 0; fits && s + 1 < segments.size(); ++s)
        fits = segments[s] < segments[s + 1];
    if (!fits)
        throw py::value_error("segments: expected growing numbers from 0 to " +
                              std::to_string(rows) + ", received " +
                              std::string(py::str(py::cast(segments))));
    return {segments.data(), static_cast<std::int64_t>(segments.size()) - 1};
}

void bind_exponentials(const py::array &lengths, float factor, py::array out) {
    const Output to = output("out", out, -1, -1);
    const Input from = input("lengths", lengths, to.count, to.width);
    py::gil_scoped_release released;
    best_kernels().exponentials(from, factor, to);
}

void bind_keyed_values(const py::array &key, const py::array &value, const Offsets &segments,
                       py::array out) {
    const Input keys = input("key", key, -1, -1);
    const Input values = input("value", value, keys.count, keys.width);
    const Output to = output("out", out, keys.count, 2 * keys.width);
    const Segments checked_segments = checked(segments, keys.count);
    py::gil_scoped_release released;
    best_kernels().keyed_values(keys, values, checked_segments, to);
}

void bind_gated_ratio(const py::array &query, const py::array &sums, py::array out) {
    const Output to = output("out", out, -1, -1);
    const Input queries = input("query", query, to.count, to.width);
    const Input both = input("sums", sums, to.count, 2 * to.width);
    py::gil_scoped_release released;
    best_kernels().gated_ratio(queries, both, to);
}

void bind_relation(const py::array &query, const py::array &key, const py::array &value,
                   const std::vector<std::int64_t> &partner, float weight, const Offsets &segments,
                   py::array out) {
    const Output to = output("out", out, -1, -1);
    const Input queries = input("query", query, to.count, to.width);
    const Input keys = input("key", key, to.count, to.width);
    const Input values = input("value", value, to.count, to.width);
    const Segments checked_segments = checked(segments, to.count);
    const auto nodes = static_cast<std::int64_t>(partner.size());
    for (std::size_t s = 0; s + 1 < segments.size(); ++s)
        if (segments[s + 1] - segments[s] != nodes)
            throw py::value_error("partner: expected as many numbers as segments have rows, " +
                                  std::to_string(segments[s + 1] - segments[s]) + ", received " +
                                  std::to_string(nodes));
    for (const std::int64_t other : partner)
        if (other < 0 || other >= nodes)
            throw py::value_error("partner: expected numbers from 0 to " +
                                  std::to_string(nodes - 1) + ", received " +
                                  std::to_string(other));
    py::gil_scoped_release released;
    std::vector<float> room(static_cast<std::size_t>((nodes + 1) * 2 * to.width));
    best_kernels().relation(queries, keys, values, partner.data(), std::exp(-weight),
                            checked_segments, room.data(), to);
}

void bind_add_and_normalise(py::array x, const py::array &added,
                            const std::optional<py::array> &bias, const py::array &scale,
                            const py::array &shift, float epsilon, const Offsets &segments) {
    const Output to = output("x", x, -1, -1);
    const Input more = input("added", added, to.count, to.width);
    const float *constant = bias ? row_of("bias", *bias, to.width) : nullptr;
    const float *factor = row_of("scale", scale, to.width);
    const float *up = row_of("shift", shift, to.width);
    const Segments checked_segments = checked(segments, to.count);
    py::gil_scoped_release released;
    best_kernels().add_and_normalise(to, more, constant, factor, up, epsilon, checked_segments);
}

void bind_add_and_rectify(py::array x, const py::array &bias) {
    const Output to = output("x", x, -1, -1);
    const float *constant = row_of("bias", bias, to.width);
    py::gil_scoped_release released;
    best_kernels().add_and_rectify(to, constant);
}

py::dict bind_survey(const py::array &lengths) {
    const Input all = input("lengths", lengths, -1, lengths.ndim() == 2 ? lengths.shape(0) : -1);
    if (all.count == 0)
        refuse("lengths", "at least one node", lengths);
    Survey found{};
    {
        py::gil_scoped_release released;
        found = survey(all);
    }
    return py::dict(py::arg("mean") = found.mean, py::arg("deviation") = found.deviation,
                    py::arg("longest") = found.longest, py::arg("total") = found.total,
                    py::arg("arcs") = found.arcs, py::arg("change") = found.change,
                    py::arg("missing") = found.missing);
}

} // namespace
} // namespace spacevrp::encoder

namespace spacevrp::network {

using namespace spacevrp::encoder;

void bind_encoder(py::module_ &module);

void bind_encoder(py::module_ &module) {
    module.def("exponentials", &bind_exponentials, py::arg("lengths"), py::arg("factor"),
               py::arg("out"), "out = exp(-factor * lengths).");
    module.def("keyed_values", &bind_keyed_values, py::arg("key"), py::arg("value"),
               py::arg("segments"), py::arg("out"),
               "[exp(K) * V | exp(K)], the largest exponent of a segment's channel being 0.");
    module.def("gated_ratio", &bind_gated_ratio, py::arg("query"), py::arg("sums"), py::arg("out"),
               "sigmoid(query) times the ratio of the two halves of the sums.");
    module.def("relation", &bind_relation, py::arg("query"), py::arg("key"), py::arg("value"),
               py::arg("partner"), py::arg("weight"), py::arg("segments"), py::arg("out"),
               "Attention that sees pairs of nodes.");
    module.def("add_and_normalise", &bind_add_and_normalise, py::arg("x"), py::arg("added"),
               py::arg("bias"), py::arg("scale"), py::arg("shift"), py::arg("epsilon"),
               py::arg("segments"), "Add to x, and normalise every channel over each segment.");
    module.def("add_and_rectify", &bind_add_and_rectify, py::arg("x"), py::arg("bias"),
               "x = max(x + bias, 0).");
    module.def("survey", &bind_survey, py::arg("lengths"),
               "Mean, deviation and more of the lengths of all arcs (N, N).");
}

} // namespace spacevrp::network
