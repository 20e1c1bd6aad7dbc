// The rules of whole routes as the model keeps them, and what constant-time checks make of them:
// these must refuse nothing that an evaluation of the whole route accepts.
#include "model.hpp"
#include "validation.hpp"

#include <algorithm>
#include <utility>

namespace spacevrp {
namespace {

// Breaks of a vehicle, more than anybody takes in a day.
constexpr std::size_t MOST_BREAKS = 100;

std::string of_type(std::size_t type, const char *field) {
    return "rules of type " + std::to_string(type) + ", " + field;
}

void check_number(const std::string &field, double value, Range range) {
    check_values(field, {value}, range);
}

void check_intervals(const std::string &field, const std::vector<Interval> &all) {
    double last = -INFINITE;
    for (const Interval &one : all) {
        if (!(one.from <= one.until) || !(last <= one.from))
            refuse(field, "intervals in order that do not overlap",
                   text(one.from) + " to " + text(one.until) + " after " + text(last));
        last = one.until;
    }
}

} // namespace

void Model::check_type_rules(std::size_t t, const TypeRules &own) const {
    for (const auto &[field, limit] :
         {std::pair{"max_stops", own.max_stops}, std::pair{"max_reloads", own.max_reloads}})
        if (limit < 0)
            refuse(of_type(t, field), "at least 0", std::to_string(limit));
    check_number(of_type(t, "latest_start"), own.latest_start, Range::any);
    check_number(of_type(t, "regular"), own.regular, Range::not_negative_or_infinite);
    check_number(of_type(t, "overtime_cost"), own.overtime_cost, Range::not_negative);
    check_number(of_type(t, "duration_cost"), own.duration_cost, Range::not_negative);
    check_number(of_type(t, "slowness"), own.slowness, Range::finite);
    if (!(own.slowness >= 1.0))
        refuse(of_type(t, "slowness"), "at least 1", text(own.slowness));
    if (!own.service.empty())
        check_length(of_type(t, "service"), own.service.size(), static_cast<std::size_t>(size_));
    check_values(of_type(t, "service"), own.service, Range::not_negative);
    if (own.breaks.size() > MOST_BREAKS)
        refuse(of_type(t, "breaks"), "at most " + std::to_string(MOST_BREAKS),
               std::to_string(own.breaks.size()));
    for (const Break &one : own.breaks) {
        check_number(of_type(t, "breaks, duration"), one.duration, Range::not_negative);
        if (one.windows.empty())
            refuse(of_type(t, "breaks, windows"), "at least one", "none");
        check_intervals(of_type(t, "breaks, windows"), one.windows);
    }
    for (const Node depot : own.reload_depots)
        if (depot < 0 || depot >= size_ || is_customer[at(depot)])
            refuse(of_type(t, "reload_depots"), "depots", std::to_string(depot));
    for (const Node node : own.carries)
        if (node < 0 || node >= size_ || !is_customer[at(node)] || partner[at(node)] >= 0 ||
            sign[at(node)] <= 0)
            refuse(of_type(t, "carries"), "deliveries that are not of a pair",
                   std::to_string(node));
}

void Model::check_node_rules(const RuleInput &input) const {
    const auto n = static_cast<std::size_t>(size_);
    if (!input.types.empty())
        check_length("rules, types", input.types.size(), vehicles.size());
    for (const auto &[field, values] :
         {std::pair{"rules, release", &input.release}, std::pair{"rules, setup", &input.setup}})
        if (!values->empty())
            check_length(field, values->size(), n);
    check_values("rules, release", input.release, Range::any);
    check_values("rules, setup", input.setup, Range::not_negative);
    for (const double moment : input.release)
        if (moment == INFINITE)
            refuse("rules, release", "a moment, or -inf", "inf");
    if (!input.closed.empty())
        check_length("rules, closed", input.closed.size(), n);
    for (const auto &gaps : input.closed)
        check_intervals("rules, closed", gaps);
    check_values("rules, moments", input.moments, Range::finite);
    check_length("rules, durations", input.durations.size(), input.moments.size());
    for (std::size_t i = 0; i < input.moments.size(); ++i) {
        check_length("rules, durations", input.durations[i].size(), n * n);
        check_values("rules, durations", input.durations[i], Range::not_negative_or_infinite);
        if (i > 0 && !(input.moments[i - 1] < input.moments[i]))
            refuse("rules, moments", "rising ones",
                   text(input.moments[i - 1]) + " and " + text(input.moments[i]));
    }
}

void Model::read_rules(RuleInput &&input) {
    check_node_rules(input);
    for (std::size_t t = 0; t < input.types.size(); ++t)
        check_type_rules(t, input.types[t]);
    input.types.resize(vehicles.size());
    rules = std::move(input);
    const auto has_gaps = [](const auto &gaps) { return !gaps.empty(); };
    if (std::none_of(rules.closed.begin(), rules.closed.end(), has_gaps))
        rules.closed.clear();
    const bool times_of_all = !rules.closed.empty() || !rules.release.empty() ||
                              !rules.setup.empty() || !rules.moments.empty();
    bool by_type = false, reloads = false;
    for (TypeRules &own : rules.types) {
        if (own.max_reloads == 0)
            own.reload_depots.clear();
        by_type = by_type || !own.service.empty();
        reloads = reloads || !own.reload_depots.empty();
        own.priced_by_time = own.duration_cost > 0.0 || own.overtime_cost > 0.0;
        own.scheduled = relations.rides || times_of_all || std::isfinite(own.latest_start) ||
                        own.slowness != 1.0 || own.priced_by_time || !own.breaks.empty() ||
                        !own.service.empty();
        rich = rich || own.scheduled || own.max_stops != ANY_NUMBER || own.under_way ||
               !own.reload_depots.empty();
    }
    if (!rich) {
        rules = RuleInput{};
        return;
    }
    if (by_type)
        read_services();
    for (auto *values : {&rules.release, &rules.setup})
        if (!values->empty())
            values->push_back(0.0);
    if (!rules.release.empty())
        for (std::size_t i = 0; i <= static_cast<std::size_t>(size_); ++i)
            if (!is_customer[i])
                rules.release[i] = -INFINITE;
    if (!rules.closed.empty())
        rules.closed.emplace_back();
    for (const TypeRules &own : rules.types) {
        timed = timed || own.scheduled;
        limited_duration = limited_duration || own.priced_by_time;
    }
    read_loads_of_trips(reloads);
    for (TypeRules &own : rules.types) {
        own.scheduled = own.scheduled || (timed && !own.reload_depots.empty());
        own.plain_times = own.breaks.empty() && rules.closed.empty() && rules.moments.empty();
    }
    symmetric_times = durations_.empty() ? symmetric : durations_ == durations_back_;
}

// The model has the least service of all types; those who differ are scheduled.
void Model::read_services() {
    std::vector<double> least = service;
    for (const Node node : customers) {
        least[at(node)] = INFINITE;
        for (const TypeRules &own : rules.types)
            least[at(node)] = std::min(
                least[at(node)], own.service.empty() ? service[at(node)] : own.service[at(node)]);
    }
    for (TypeRules &own : rules.types) {
        if (own.service.empty())
            own.service = service;
        else
            own.service.push_back(0.0);
        own.scheduled = true;
    }
    service = std::move(least);
}

// A vehicle that reloads carries more in all than it has room for.
void Model::read_loads_of_trips(bool reloads) {
    const auto kinds = static_cast<std::size_t>(kinds_);
    for (std::size_t t = 0; t < rules.types.size(); ++t) {
        TypeRules &own = rules.types[t];
        VehicleType &vehicle = vehicles[t];
        own.capacity = vehicle.capacity;
        own.carried.assign(kinds, 0.0);
        if (own.under_way) {
            own.on_board.assign(static_cast<std::size_t>(size_) + 1, 0);
            for (const Node node : own.carries) {
                own.on_board[at(node)] = 1;
                for (int kind = 0; kind < kinds_; ++kind)
                    own.carried[static_cast<std::size_t>(kind)] += delivered(node, kind);
            }
        }
        if (own.reload_depots.empty())
            continue;
        const double trips = own.max_reloads == ANY_NUMBER ? INFINITE : own.max_reloads + 1.0;
        for (double &room : vehicle.capacity)
            room = plain_load && room > 0.0 ? room * trips : plain_load ? 0.0 : INFINITE;
    }
    if (!reloads)
        return;
    bool binds = false;
    for (const VehicleType &vehicle : vehicles)
        for (const double room : vehicle.capacity)
            binds = binds || std::isfinite(room);
    loaded = loaded && binds;
    rules.backhaul_last = std::exchange(backhaul_last, false);
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
