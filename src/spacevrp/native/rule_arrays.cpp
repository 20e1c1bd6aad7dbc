// The rules of whole routes from what Python gives: a table of names, all optional.
#include "arrays.hpp"

#include <functional>
#include <map>
#include <string>
#include <tuple>

namespace py = pybind11;

namespace spacevrp {
namespace {

using Span = std::pair<double, double>;

std::vector<Interval> as_intervals(const std::vector<Span> &spans) {
    std::vector<Interval> intervals;
    for (const auto &[from, until] : spans)
        intervals.push_back({from, until});
    return intervals;
}

// What the table says, converted, or a refusal that names the key.
template <class Value> Value converted(const std::string &name, py::handle given) {
    try {
        return py::cast<Value>(given);
    } catch (const py::cast_error &) {
        throw py::value_error("rules, " + name + ": expected numbers as documented, received " +
                              std::string(py::repr(given)).substr(0, 100));
    }
}

std::vector<double> matrix(const std::string &name, py::handle given) {
    const auto array = converted<Doubles>(name, given);
    return std::vector<double>(array.data(), array.data() + array.size());
}

class Reading {
public:
    Reading(int types, int size) : size_(size) { input.types.resize(Model::at(types)); }

    void read(const std::string &name, py::handle given) {
        name_ = name;
        given_ = given;
        if (const auto found = known().find(name); found != known().end())
            found->second(*this);
        else
            throw py::value_error("rules: expected a known key, received " + name);
    }

    RuleInput input;

private:
    using Reader = std::function<void(Reading &)>;

    static const std::map<std::string, Reader> &known() {
        static const std::map<std::string, Reader> readers{
            {"max_stops", [](Reading &r) { r.limit(&TypeRules::max_stops); }},
            {"latest_start", [](Reading &r) { r.number(&TypeRules::latest_start); }},
            {"regular", [](Reading &r) { r.number(&TypeRules::regular); }},
            {"overtime_cost", [](Reading &r) { r.number(&TypeRules::overtime_cost); }},
            {"duration_cost", [](Reading &r) { r.number(&TypeRules::duration_cost); }},
            {"slowness", [](Reading &r) { r.number(&TypeRules::slowness); }},
            {"max_reloads", [](Reading &r) { r.limit(&TypeRules::max_reloads); }},
            {"service", &Reading::services},
            {"breaks", &Reading::breaks},
            {"reload_depots", &Reading::reload_depots},
            {"on_board", &Reading::on_board},
            {"closed", &Reading::closed},
            {"release", [](Reading &r) { r.input.release = matrix(r.name_, r.given_); }},
            {"setup", [](Reading &r) { r.input.setup = matrix(r.name_, r.given_); }},
            {"travel_times", &Reading::travel_times}};
        return readers;
    }

    template <class Entry, class Put> void each_type(Put put) {
        const auto values = converted<std::vector<Entry>>(name_, given_);
        if (values.size() != input.types.size())
            throw py::value_error("rules, " + name_ + ": expected " +
                                  std::to_string(input.types.size()) + " entries, received " +
                                  std::to_string(values.size()));
        for (std::size_t i = 0; i < values.size(); ++i)
            put(input.types[i], values[i]);
    }

    void number(double TypeRules::*field) {
        each_type<double>([&](TypeRules &own, double value) { own.*field = value; });
    }

    void limit(int TypeRules::*field) {
        each_type<std::optional<int>>([&](TypeRules &own, const std::optional<int> &value) {
            if (value)
                own.*field = *value;
        });
    }

    void services() {
        each_type<py::object>([&](TypeRules &own, const py::object &given) {
            if (!given.is_none())
                own.service = matrix(name_, given);
        });
    }

    void breaks() {
        using Given = std::vector<std::pair<double, std::vector<Span>>>;
        each_type<Given>([&](TypeRules &own, const Given &given) {
            for (const auto &[duration, windows] : given)
                own.breaks.push_back({duration, as_intervals(windows)});
        });
    }

    void reload_depots() {
        each_type<std::vector<Node>>(
            [&](TypeRules &own, const std::vector<Node> &given) { own.reload_depots = given; });
    }

    void on_board() {
        using Given = std::optional<std::vector<Node>>;
        each_type<Given>([&](TypeRules &own, const Given &given) {
            own.under_way = given.has_value();
            if (given)
                own.carries = *given;
        });
    }

    void closed() {
        using Given = std::vector<std::tuple<Node, double, double>>;
        input.closed.resize(Model::at(size_));
        for (const auto &[node, from, until] : converted<Given>(name_, given_)) {
            if (node < 0 || node >= size_)
                throw py::value_error("rules, closed: expected nodes from 0 to " +
                                      std::to_string(size_ - 1) + ", received " +
                                      std::to_string(node));
            input.closed[Model::at(node)].push_back({from, until});
        }
    }

    void travel_times() {
        for (const auto &[moment, durations] :
             converted<std::vector<std::pair<double, py::object>>>(name_, given_)) {
            input.moments.push_back(moment);
            input.durations.push_back(matrix(name_, durations));
        }
    }

    int size_;
    std::string name_;
    py::handle given_;
};

} // namespace

RuleInput read_rule_input(const py::dict &given, int types, int size) {
    Reading reading(types, size);
    for (const auto &[key, value] : given)
        reading.read(py::cast<std::string>(py::str(key)), value);
    return std::move(reading.input);
}

} // namespace spacevrp
