#include "rules.hpp"

#include <algorithm>

namespace spacevrp {
namespace {

std::size_t at(int i) { return static_cast<std::size_t>(i); }

} // namespace

double RouteRules::least_extra(int type, double busy) const {
    const TypeRules &own = model_.rules.types[at(type)];
    if (model_.maximise_prize)
        return 0.0;
    double extra = own.duration_cost * busy;
    if (busy > own.regular)
        extra += own.overtime_cost * (busy - own.regular);
    return extra;
}

RouteValue RouteRules::evaluate(int type, const Node *stops, int count) {
    const TypeRules &own = model_.rules.types[at(type)];
    if (count == 0)
        return {true, 0.0};
    if (count > own.max_stops)
        return {};
    if (model_.relations.rides && !keeps_rides(type, stops, count))
        return {};
    if (!own.scheduled)
        return {true, 0.0};
    if (!find_schedule(type, stops, count))
        return {};
    const double duration = schedule_.duration();
    if (!(duration <= model_.vehicles[at(type)].max_duration))
        return {};
    return {true, least_extra(type, duration)};
}

// One window a stop: the route is over at max(end, departure + busy), so that it may leave as late
// as that and the closings allow.
bool RouteRules::find_schedule(int type, const Node *stops, int count) {
    const VehicleType &vehicle = model_.vehicles[at(type)];
    const TypeRules &own = model_.rules.types[at(type)];
    const double earliest = vehicle.leaves;
    if (!(earliest <= own.latest_start + model_.time_slack))
        return false;
    double clock = earliest, busy = 0.0, latest = own.latest_start;
    Node last = vehicle.start;
    for (int i = 0; i < count; ++i) {
        const Node node = stops[i];
        const double travel = own.slowness * model_.duration(last, node);
        const double service = model_.service[at(node)];
        clock += travel;
        busy += travel;
        if (!(clock <= model_.closing[at(node)]))
            return false;
        latest = std::min(latest, model_.closing[at(node)] - model_.time_slack - busy);
        clock = std::max(clock, model_.opening[at(node)]) + service;
        busy += service;
        last = node;
    }
    const double travel = own.slowness * model_.duration(last, vehicle.end);
    clock += travel;
    busy += travel;
    if (!(clock <= vehicle.back_by))
        return false;
    schedule_.end = clock;
    schedule_.departure = std::max(earliest, std::min(latest, clock - busy));
    return true;
}

} // namespace spacevrp
