// A model from what Python gives.
#pragma once

#include "model.hpp"

#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace spacevrp {

using Doubles = pybind11::array_t<double, pybind11::array::c_style | pybind11::array::forcecast>;
using Bytes =
    pybind11::array_t<std::uint8_t, pybind11::array::c_style | pybind11::array::forcecast>;
using Ints = pybind11::array_t<std::int32_t, pybind11::array::c_style | pybind11::array::forcecast>;

std::shared_ptr<Model>
make_model(const Doubles &demand, const Doubles &opening, const Doubles &closing,
           const Doubles &service, bool timed, const Doubles &penalty, const Doubles &prize,
           bool maximise_prize, double min_prize, const Ints &partner, const Bytes &is_pickup,
           const Ints &customers, const Ints &start, const Ints &end, const Doubles &capacity,
           const Doubles &fixed_cost, const Doubles &unit_cost, const Doubles &max_length,
           const Doubles &max_duration, const Doubles &leaves_from, const Doubles &back_by,
           const Ints &count, const std::vector<std::vector<Node>> &pinned,
           const std::string &load_rule, bool backhaul_last, int max_routes, double time_slack,
           const std::optional<Doubles> &coordinates, const std::string &geometry,
           const std::string &rounding, const std::optional<Doubles> &distances,
           const std::optional<Doubles> &durations, const std::optional<Bytes> &allowed,
           const std::optional<Ints> &candidates, const std::optional<pybind11::dict> &rules,
           const std::optional<pybind11::dict> &relations);

// Relations between customers.
RelationInput read_relation_input(const pybind11::dict &given);

// The rules of whole routes, for K types and N nodes.
RuleInput read_rule_input(const pybind11::dict &given, int types, int size);

} // namespace spacevrp
