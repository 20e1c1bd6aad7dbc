// The rules of whole routes as the model keeps them, and what constant-time checks make of them.
#include "model.hpp"
#include "validation.hpp"

#include <algorithm>
#include <utility>

namespace spacevrp {
namespace {

std::string of_type(int type, const char *field) {
    return "rules of type " + std::to_string(type) + ", " + field;
}

void check_number(const std::string &field, double value, Range range) {
    check_values(field, {value}, range);
}

} // namespace

void Model::read_type_rules(int number, TypeRules &own) {
    VehicleType &vehicle = vehicles[static_cast<std::size_t>(number)];
    if (own.max_stops < 0)
        refuse(of_type(number, "max_stops"), "at least 0", std::to_string(own.max_stops));
    check_number(of_type(number, "latest_start"), own.latest_start, Range::any);
    check_number(of_type(number, "regular"), own.regular, Range::not_negative_or_infinite);
    check_number(of_type(number, "overtime_cost"), own.overtime_cost, Range::not_negative);
    check_number(of_type(number, "duration_cost"), own.duration_cost, Range::not_negative);
    check_number(of_type(number, "slowness"), own.slowness, Range::finite);
    if (!(own.slowness >= 1.0))
        refuse(of_type(number, "slowness"), "at least 1", text(own.slowness));
    own.capacity = vehicle.capacity;
    own.scheduled = std::isfinite(own.latest_start) || own.slowness != 1.0 ||
                    own.duration_cost > 0.0 || own.overtime_cost > 0.0;
    if (own.scheduled || own.max_stops != ANY_NUMBER)
        rich = true;
    if (own.duration_cost > 0.0 || own.overtime_cost > 0.0)
        limited_duration = true;
    timed = timed || own.scheduled;
}

void Model::read_rules(RuleInput &&input) {
    if (!input.types.empty())
        check_length("rules, types", input.types.size(), vehicles.size());
    for (std::size_t t = 0; t < input.types.size(); ++t)
        read_type_rules(static_cast<int>(t), input.types[t]);
    if (!rich)
        return;
    input.types.resize(vehicles.size());
    rules = std::move(input);
    symmetric_times = durations_.empty() ? symmetric : durations_ == durations_back_;
}

double Model::priced_time() const {
    std::vector<double> ratios;
    for (const Node node : customers)
        for (int i = 0; i < std::min(width, 5) && near(node)[i] >= 0; ++i) {
            const double length = distance(node, near(node)[i]),
                         time = duration(node, near(node)[i]);
            if (length > 0.0 && std::isfinite(length) && std::isfinite(time))
                ratios.push_back(time / length);
        }
    if (ratios.empty())
        return 0.0;
    const auto middle = ratios.begin() + static_cast<std::ptrdiff_t>(ratios.size() / 2);
    std::nth_element(ratios.begin(), middle, ratios.end());
    double sum = 0.0;
    for (const TypeRules &own : rules.types)
        sum += maximise_prize ? 0.0 : own.duration_cost * own.slowness * *middle;
    return sum;
}

} // namespace spacevrp
