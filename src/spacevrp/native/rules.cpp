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
    reloads_.clear();
    if (count == 0)
        return {true, 0.0};
    if (count > model_.rules.types[at(type)].max_stops)
        return {};
    if (!model_.relations.rides)
        return whole_route(type, stops, count, limit);
    // Where only the slack of comparisons makes it possible, that is used.
    for (const double slack : {0.0, model_.time_slack}) {
        const bool possible = read_rides(type, stops, count, slack);
        const RouteValue found = possible ? whole_route(type, stops, count, limit) : RouteValue{};
        if (found.feasible || rides_.empty())
            return found;
    }
    return {};
}

RouteValue RouteRules::whole_route(int type, const Node *stops, int count, const Limit &limit) {
    const TypeRules &own = model_.rules.types[at(type)];
    const VehicleType &vehicle = model_.vehicles[at(type)];
    reloads_.clear();
    steps += count;
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
    if (!find_schedule(type, visits, visited))
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
    if (model_.rules.types[at(type)].plain_times && !always_slow)
        return quick_schedule(type, visits, count);
    return full_schedule(type, visits, count) &&
           (rides_.empty() || ride_schedule(type, visits, count));
}

double RouteRules::duration(int type, const Node *stops, int count) {
    const bool scheduled = model_.rich && model_.rules.types[at(type)].scheduled;
    return scheduled && evaluate(type, stops, count).feasible
               ? schedule_.duration()
               : model_.least_duration(type, stops, count);
}

// One window a stop, and pickups that are held: the route is over at max(end, departure + busy), so
// that it may leave as late as that and the closings allow.
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
        latest = std::min(latest, model_.closing[at(node)] - model_.time_slack - busy);
        clock = std::max({clock, model_.opening[at(node)], held_[at(node)] - service});
        if (!(clock <= model_.closing[at(node)]))
            return false;
        clock += service;
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
