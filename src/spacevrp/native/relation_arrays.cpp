// Relations between customers from what Python gives: a table of names, all optional.
#include "arrays.hpp"

#include <pybind11/stl.h>

#include <algorithm>
#include <string>

namespace py = pybind11;

namespace spacevrp {
namespace {

template <class Value> Value as(const std::string &name, py::handle given) {
    try {
        return py::cast<Value>(given);
    } catch (const py::cast_error &) {
        throw py::value_error("relations, " + name + ": received " +
                              std::string(py::repr(given)).substr(0, 100));
    }
}

Term as_term(const std::string &name) {
    const std::string names[TERMS] = {"cost", "vehicles", "makespan", "balance"};
    const auto *found = std::find(std::begin(names), std::end(names), name);
    if (found == std::end(names))
        throw py::value_error("relations, objective: expected a known term, received " + name);
    return static_cast<Term>(found - std::begin(names));
}

} // namespace

RelationInput read_relation_input(const py::dict &given) {
    using Sets = std::vector<std::vector<Node>>;
    RelationInput input;
    for (const auto &[key, value] : given) {
        const std::string name = py::cast<std::string>(py::str(key));
        if (name == "delivered")
            input.delivered = as<std::vector<double>>(name, value);
        else if (name == "lifo")
            input.lifo = as<bool>(name, value);
        else if (name == "max_ride")
            input.max_ride = as<std::vector<double>>(name, value);
        else if (name == "groups")
            for (const auto &[nodes, required] :
                 as<std::vector<std::pair<std::vector<Node>, bool>>>(name, value))
                input.groups.push_back({nodes, required});
        else if (name == "same_route")
            input.same_route = as<Sets>(name, value);
        else if (name == "different_routes")
            input.different_routes = as<Sets>(name, value);
        else if (name == "order")
            input.order = as<std::vector<std::pair<Node, Node>>>(name, value);
        else if (name == "priority")
            input.priority = as<std::vector<double>>(name, value);
        else if (name == "first")
            for (const std::string &term : as<std::vector<std::string>>(name, value))
                input.first.push_back(as_term(term));
        else if (name == "weights") {
            input.weights.fill(0.0);
            for (const auto &[term, weight] :
                 as<std::vector<std::pair<std::string, double>>>(name, value))
                input.weights[static_cast<std::size_t>(as_term(term))] = weight;
        } else
            throw py::value_error("relations: expected a known key, received " + name);
    }
    if (input.first.size() > TERMS)
        throw py::value_error("relations, first: expected each term once");
    return input;
}

} // namespace spacevrp
