// Candidate lists of large instances, as Python has them.
#pragma once

#include "arrays.hpp"
#include "rollout.hpp"

namespace spacevrp::network {

struct ListArrays {
    Ints near;
    Longs limits;
    Floats bonus, scale, nearness;

    ListArrays(const py::dict &from, py::ssize_t size, py::ssize_t instances, py::ssize_t nodes)
        : near(entry<Ints>(from, "near")), limits(entry<Longs>(from, "limits")),
          bonus(entry<Floats>(from, "bonus")), scale(entry<Floats>(from, "scale")),
          nearness(entry<Floats>(from, "nearness")) {
        if (near.ndim() != 3 || near.shape(2) < 1 || near.shape(2) > nodes)
            throw py::value_error("near: expected shape (B, N, W) with 1 to N nodes a list, "
                                  "received otherwise");
        check_shape("near", near, {instances, nodes, near.shape(2)});
        check_shape("limits", limits, {2});
        check_shape("bonus", bonus, {instances, nodes});
        check_shape("scale", scale, {instances, 4});
        check_shape("nearness", nearness, {size});
        check_range("near", near.data(), near.size(), nodes);
        check_numbers("bonus", bonus, false);
        check_numbers("scale", scale, false);
        check_numbers("nearness", nearness, false);
        const std::int64_t choices = limits.data()[0], readout = limits.data()[1];
        if (choices < 1 || readout < choices || readout > near.shape(2))
            throw py::value_error(
                "limits: expected 1 <= choices <= readout <= " + std::to_string(near.shape(2)) +
                ", received " + std::to_string(choices) + " and " + std::to_string(readout));
    }

    // Those of one instance, `row` being one of its views.
    Lists of(py::ssize_t b, py::ssize_t row) const {
        const float *seen = scale.data() + b * 4;
        Lists lists;
        lists.listed = static_cast<int>(near.shape(2));
        lists.choices = static_cast<int>(limits.data()[0]);
        lists.readout = static_cast<int>(limits.data()[1]);
        lists.near = near.data() + b * near.shape(1) * near.shape(2);
        lists.bonus = bonus.data() + b * bonus.shape(1);
        lists.mean = seen[0];
        lists.deviation = seen[1];
        lists.longest = seen[2];
        lists.depot_weight = seen[3];
        lists.nearness = nearness.data()[row];
        return lists;
    }
};

} // namespace spacevrp::network
