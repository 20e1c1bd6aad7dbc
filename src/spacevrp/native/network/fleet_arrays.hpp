// Vehicles that differ, as Python has them.
#pragma once

#include "arrays.hpp"
#include "rollout.hpp"

namespace spacevrp::network {

// Vehicles that differ, and what each trajectory prefers.
struct FleetArrays {
    Longs depot, count, pinned, max_routes;
    Flags is_open, may_serve, nearest, stays_out, owed_first;
    Floats capacity, load_tolerance, fixed_cost, max_length, leaves_from, back_by, loads, penalty;
    Floats seen_capacity, liked;

    FleetArrays(const py::dict &from, py::ssize_t size, py::ssize_t nodes, py::ssize_t rollouts)
        : depot(entry<Longs>(from, "depot")), count(entry<Longs>(from, "count")),
          pinned(entry<Longs>(from, "pinned")), max_routes(entry<Longs>(from, "max_routes")),
          is_open(entry<Flags>(from, "is_open")), may_serve(entry<Flags>(from, "may_serve")),
          nearest(entry<Flags>(from, "nearest")), stays_out(entry<Flags>(from, "stays_out")),
          owed_first(entry<Flags>(from, "owed_first")), capacity(entry<Floats>(from, "capacity")),
          load_tolerance(entry<Floats>(from, "load_tolerance")),
          fixed_cost(entry<Floats>(from, "fixed_cost")),
          max_length(entry<Floats>(from, "max_length")),
          leaves_from(entry<Floats>(from, "leaves_from")), back_by(entry<Floats>(from, "back_by")),
          loads(entry<Floats>(from, "loads")), penalty(entry<Floats>(from, "penalty")),
          seen_capacity(entry<Floats>(from, "seen_capacity")),
          liked(entry<Floats>(from, "vehicle")) {
        if (capacity.ndim() != 3 || pinned.ndim() != 3 || liked.ndim() != 4)
            throw py::value_error("fleet: expected capacity (B, K, D), pinned (B, K, Q) and "
                                  "vehicle (B, P, R, K), received others");
        const py::ssize_t types = capacity.shape(1), kinds = capacity.shape(2);
        const py::ssize_t pins = pinned.shape(2), routes = liked.shape(2);
        for (const py::ssize_t number : {types, kinds, pins, routes})
            if (number < 1 || number > 1'000'000)
                throw py::value_error("fleet: expected 1 to 1,000,000 types, kinds of load, pins "
                                      "and routes, received " +
                                      std::to_string(number));
        for (const auto &[name, array] : {std::pair{"depot", &depot}, {"count", &count}})
            check_shape(name, *array, {size, types});
        check_shape("pinned", pinned, {size, types, pins});
        check_shape("max_routes", max_routes, {size});
        check_shape("is_open", is_open, {size, types});
        check_shape("may_serve", may_serve, {size, types, nodes});
        for (const auto &[name, array] : {std::pair{"nearest", &nearest},
                                          {"stays_out", &stays_out},
                                          {"owed_first", &owed_first}})
            check_shape(name, *array, {size, rollouts});
        for (const auto &[name, array] : {std::pair{"fixed_cost", &fixed_cost},
                                          {"max_length", &max_length},
                                          {"leaves_from", &leaves_from},
                                          {"back_by", &back_by}})
            check_shape(name, *array, {size, types});
        check_shape("capacity", capacity, {size, types, kinds});
        check_shape("load_tolerance", load_tolerance, {size, types, kinds});
        check_shape("loads", loads, {size, nodes, kinds});
        check_shape("penalty", penalty, {size, nodes});
        check_shape("seen_capacity", seen_capacity, {size, kinds});
        check_shape("vehicle", liked, {size, rollouts, routes, types});
        for (const auto &[name, array] : {std::pair{"capacity", &capacity},
                                          {"load_tolerance", &load_tolerance},
                                          {"fixed_cost", &fixed_cost},
                                          {"max_length", &max_length},
                                          {"leaves_from", &leaves_from},
                                          {"back_by", &back_by},
                                          {"loads", &loads},
                                          {"penalty", &penalty},
                                          {"seen_capacity", &seen_capacity},
                                          {"vehicle", &liked}})
            check_numbers(name, *array, true);
        for (py::ssize_t i = 0; i < pinned.size(); ++i)
            if (pinned.data()[i] < -1 || pinned.data()[i] >= nodes)
                throw py::value_error("pinned: expected nodes from -1 to " +
                                      std::to_string(nodes - 1) + ", received " +
                                      std::to_string(pinned.data()[i]));
    }

    // The vehicles of one instance; what they need of its rules is noted there.
    Fleet of(py::ssize_t b, Instance &task, double tolerance) const {
        const py::ssize_t types = capacity.shape(1), kinds = capacity.shape(2);
        const py::ssize_t pins = pinned.shape(2), nodes = task.nodes;
        Fleet fleet;
        fleet.types = static_cast<int>(types);
        fleet.kinds = static_cast<int>(kinds);
        fleet.pins = static_cast<int>(pins);
        fleet.routes = static_cast<int>(liked.shape(2));
        fleet.max_routes = max_routes.data()[b];
        fleet.slack = static_cast<float>(1.0 + tolerance);
        fleet.depot = depot.data() + b * types;
        fleet.count = count.data() + b * types;
        fleet.pinned = pinned.data() + b * types * pins;
        fleet.is_open = is_open.data() + b * types;
        fleet.may_serve = may_serve.data() + b * types * nodes;
        fleet.capacity = capacity.data() + b * types * kinds;
        fleet.load_tolerance = load_tolerance.data() + b * types * kinds;
        fleet.fixed_cost = fixed_cost.data() + b * types;
        fleet.max_length = max_length.data() + b * types;
        fleet.leaves_from = leaves_from.data() + b * types;
        fleet.back_by = back_by.data() + b * types;
        fleet.loads = loads.data() + b * nodes * kinds;
        fleet.penalty = penalty.data() + b * nodes;
        fleet.seen_capacity = seen_capacity.data() + b * kinds;
        if (task.depots < 1)
            throw py::value_error("fleet: expected instances with depots, received one without");
        check_range("depot", fleet.depot, types, task.depots);
        for (py::ssize_t type = 0; type < types; ++type)
            task.timed = task.timed || fleet.back_by[type] <= std::numeric_limits<float>::max();
        return fleet;
    }
};

} // namespace spacevrp::network
