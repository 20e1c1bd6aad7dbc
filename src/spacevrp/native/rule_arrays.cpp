// The rules of whole routes from what Python gives: a table of names, all optional.
#include "arrays.hpp"

#include <string>

namespace py = pybind11;

namespace spacevrp {
namespace {

// One entry of the table, for each type in turn.
template <class Entry, class Put>
void each_type(const std::string &name, py::handle given, int types, Put put) {
    std::vector<Entry> values;
    try {
        values = py::cast<std::vector<Entry>>(given);
    } catch (const py::cast_error &) {
        throw py::value_error("rules, " + name + ": expected one entry a type, received " +
                              std::string(py::repr(given)).substr(0, 100));
    }
    if (static_cast<int>(values.size()) != types)
        throw py::value_error("rules, " + name + ": expected " + std::to_string(types) +
                              " entries, received " + std::to_string(values.size()));
    for (std::size_t i = 0; i < values.size(); ++i)
        put(i, values[i]);
}

} // namespace

RuleInput read_rule_input(const py::dict &given, int types, int) {
    RuleInput input;
    input.types.resize(static_cast<std::size_t>(types));
    for (const auto &[key, value] : given) {
        const std::string name = py::cast<std::string>(py::str(key));
        const auto number = [&](double TypeRules::*field) {
            each_type<double>(name, value, types,
                              [&](std::size_t i, double x) { input.types[i].*field = x; });
        };
        const auto limit = [&](int TypeRules::*field) {
            each_type<std::optional<int>>(name, value, types,
                                          [&](std::size_t i, const std::optional<int> &x) {
                                              if (x)
                                                  input.types[i].*field = *x;
                                          });
        };
        if (name == "max_stops")
            limit(&TypeRules::max_stops);
        else if (name == "latest_start")
            number(&TypeRules::latest_start);
        else if (name == "regular")
            number(&TypeRules::regular);
        else if (name == "overtime_cost")
            number(&TypeRules::overtime_cost);
        else if (name == "duration_cost")
            number(&TypeRules::duration_cost);
        else if (name == "slowness")
            number(&TypeRules::slowness);
        else
            throw py::value_error("rules: expected a known key, received " + name);
    }
    return input;
}

} // namespace spacevrp
