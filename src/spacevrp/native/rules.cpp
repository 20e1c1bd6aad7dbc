#include "rules.hpp"

#include <algorithm>
#include <cmath>

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

RouteValue RouteRules::evaluate(int type, const Node *stops, int count, const Limit &limit) {
    const TypeRules &own = model_.rules.types[at(type)];
    const VehicleType &vehicle = model_.vehicles[at(type)];
    reloads_.clear();
    if (count == 0)
        return {true, 0.0};
    if (count > own.max_stops)
        return {};
    if (model_.relations.rides && !keeps_rides(type, stops, count))
        return {};
    double extra = 0.0;
    const Node *visits = stops;
    int visited = count;
    if (!in_one_trip(type, stops, count)) {
        if (own.reload_depots.empty() || !choose_trips(type, stops, count, limit))
            return {};
        double detour = 0.0;
        for (const Reload &one : reloads_) {
            const Node last = one.after > 0 ? stops[one.after - 1] : vehicle.start;
            const Node next = stops[one.after];
            detour += model_.distance(last, one.depot) + model_.distance(one.depot, next) -
                      model_.distance(last, next);
        }
        extra = vehicle.weight * detour;
        if (is_quick(type)) // which finds the schedule, too
            return {true, own.scheduled ? extra + least_extra(type, schedule_.duration()) : extra};
        write_visits(stops, count);
        visits = visits_.data();
        visited = static_cast<int>(visits_.size());
    }
    if (!own.scheduled)
        return {true, extra};
    // The schedule that keeps the rides is there already.
    if (!model_.relations.rides && !find_schedule(type, visits, visited))
        return {};
    const double duration = schedule_.duration();
    if (!(duration <= vehicle.max_duration))
        return {};
    return {true, extra + least_extra(type, duration)};
}

double RouteRules::service_of(const TypeRules &own, Node before, Node node) const {
    double service = own.service.empty() ? model_.service[at(node)] : own.service[at(node)];
    if (!model_.rules.setup.empty() && model_.duration(before, node) != 0.0)
        service += model_.rules.setup[at(node)];
    return service;
}

double RouteRules::released(const TypeRules &own, const Node *visits, int count) const {
    double latest = -INFINITE;
    if (model_.rules.release.empty())
        return latest;
    for (int i = 0; i < count && model_.is_customer[at(visits[i])]; ++i)
        if (own.on_board.empty() || !own.on_board[at(visits[i])])
            latest = std::max(latest, model_.rules.release[at(visits[i])]);
    return latest;
}

bool RouteRules::find_schedule(int type, const Node *visits, int count) {
    return model_.rules.types[at(type)].plain_times && !always_slow
               ? quick_schedule(type, visits, count)
               : full_schedule(type, visits, count);
}

// One window a stop: the route is over at max(end, departure + busy), so that it may leave as late
// as that and the closings allow.
bool RouteRules::quick_schedule(int type, const Node *visits, int count) {
    const VehicleType &vehicle = model_.vehicles[at(type)];
    const TypeRules &own = model_.rules.types[at(type)];
    const double earliest = std::max(vehicle.leaves, released(own, visits, count));
    if (!(earliest <= own.latest_start + model_.time_slack))
        return false;
    double clock = earliest, busy = 0.0, latest = own.latest_start;
    Node last = vehicle.start;
    for (int i = 0; i < count; ++i) {
        const Node node = visits[i];
        const double way = own.slowness * model_.duration(last, node);
        const double service = service_of(own, last, node);
        clock += way;
        busy += way;
        if (!(clock <= model_.closing[at(node)]))
            return false;
        latest = std::min(latest, model_.closing[at(node)] - model_.time_slack - busy);
        clock = std::max(clock, model_.opening[at(node)]) + service;
        busy += service;
        if (!model_.is_customer[at(node)])
            clock = std::max(clock, released(own, visits + i + 1, count - i - 1));
        last = node;
    }
    const double way = own.slowness * model_.duration(last, vehicle.end);
    clock += way;
    busy += way;
    if (!(clock <= vehicle.back_by))
        return false;
    schedule_.end = clock;
    schedule_.departure = std::max(earliest, std::min(latest, clock - busy));
    return true;
}

} // namespace spacevrp
