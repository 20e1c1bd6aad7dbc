// Whether a customer may be inserted somewhere, how long a route takes, and whether all of it keeps
// the rules.
#include "plan.hpp"

#include <algorithm>
#include <cmath>

namespace spacevrp {
namespace {

std::size_t at(int i) { return static_cast<std::size_t>(i); }

} // namespace

double room_needed(LoadRule rule, double low, double high, double deliveries) {
    switch (rule) {
    case LoadRule::single:
        return high - low;
    case LoadRule::separate:
    case LoadRule::mixed:
        return deliveries - low;
    case LoadRule::pairs:
        return -low;
    }
    return INFINITE;
}

bool Plan::fits_load(const Route &r, int after, Node node, double extra) const {
    const VehicleType &type = model.vehicles[at(r.type)];
    if (model.restricted && !model.may_serve(r.type, node))
        return false;
    if (model.limited_length && !(r.length + extra <= type.max_length))
        return false;
    if (model.loaded) {
        const int kinds = model.kinds();
        for (int kind = 0; kind < kinds; ++kind) {
            const double amount = model.demand(node, kind);
            const double capacity = type.capacity[at(kind)];
            if (model.plain_load) {
                if (!(std::abs(r.total[at(kind)] + amount) <= capacity))
                    return false;
                continue;
            }
            const auto cell = [&](int p) { return at(p * kinds + kind); };
            const double here = r.handed[cell(after)] + amount;
            const double high =
                std::max({r.highest[cell(after)], here, r.highest_after[cell(after + 1)] + amount});
            const double low =
                std::min({r.lowest[cell(after)], here, r.lowest_after[cell(after + 1)] + amount});
            const double deliveries = r.deliveries[at(kind)] + model.delivered(node, kind);
            if (!(room_needed(model.load_rule, low, high, deliveries) <= capacity))
                return false;
        }
    }
    if (model.relations.lifo && model.relations.below[at(node)] && r.open[at(after)] > 0)
        return false; // what pairs have loaded lies on top
    if (model.backhaul_last) {
        if (model.sign[at(node)] > 0 && after >= r.first_backhaul)
            return false;
        if (model.sign[at(node)] < 0 && after < r.last_linehaul)
            return false;
    }
    return true;
}

bool Plan::refresh_duration(Route &r) const {
    const int m = r.size;
    const VehicleType &type = model.vehicles[at(r.type)];
    double busy = 0.0, latest = INFINITE;
    r.busy[0] = 0.0;
    r.latest_start[0] = latest;
    for (int p = 1; p <= m + 1; ++p) {
        const Node node = r.node[at(p)];
        busy += model.duration(r.node[at(p - 1)], node);
        latest = std::min(latest, (p > m ? type.back_by : model.closing[at(node)]) - busy);
        busy += model.service[at(node)];
        r.busy[at(p)] = busy;
        r.latest_start[at(p)] = latest;
    }
    double end = -INFINITE;
    r.soonest_end[at(m + 1)] = end;
    for (int p = m; p >= 1; --p) {
        const Node node = r.node[at(p)];
        end =
            std::max(end, model.opening[at(node)] + model.service[at(node)] + busy - r.busy[at(p)]);
        r.soonest_end[at(p)] = end;
    }
    r.soonest_end[0] = end;
    return Model::in_duration(type, busy, r.early[at(m + 1)], latest);
}

bool Plan::fits_duration(const Route &r, int after, Node node) const {
    const VehicleType &type = model.vehicles[at(r.type)];
    if (std::isinf(type.max_duration))
        return true;
    const Node last = r.node[at(after)], next = r.node[at(after + 1)];
    const double there = model.duration(last, node), on = model.duration(node, next);
    const double service = model.service[at(node)];
    // Driving and service from the arrival at the next stop on.
    const double all = r.busy[at(r.size + 1)];
    const double rest = all - r.busy[at(after)] - model.duration(last, next);
    const double arrival = r.leave[at(after)] + there;
    const double left = std::max(arrival, model.opening[at(node)]) + service;
    const double end = std::max(left + on + rest, r.soonest_end[at(after + 1)]);
    const double by = std::min(model.closing[at(node)], r.late[at(after + 1)] - on - service);
    const double latest = std::min(r.latest_start[at(after)], by - there - r.busy[at(after)]);
    return Model::in_duration(type, r.busy[at(after)] + there + service + on + rest, end, latest);
}

bool Plan::fits_duration(const Route &r, int first, int second, Node pickup) const {
    const Node *stops = r.node.data() + 1;
    with_pair_.assign(stops, stops + first);
    with_pair_.push_back(pickup);
    with_pair_.insert(with_pair_.end(), stops + first, stops + second);
    with_pair_.push_back(model.partner[at(pickup)]);
    with_pair_.insert(with_pair_.end(), stops + second, stops + r.size);
    return model.in_duration(r.type, with_pair_.data(), r.size + 2);
}

bool Plan::fits(const Route &r, int after, Node node, double extra) const {
    if (model.timed) {
        double clock = r.leave[at(after)] + model.duration(r.node[at(after)], node);
        if (!(clock <= model.closing[at(node)]))
            return false;
        clock = std::max(clock, model.opening[at(node)]) + model.service[at(node)];
        if (!(clock + model.duration(node, r.node[at(after + 1)]) <= r.late[at(after + 1)]))
            return false;
        if (model.limited_duration && !fits_duration(r, after, node))
            return false;
    }
    return fits_load(r, after, node, extra);
}

bool Plan::pairs_in_order(const Node *stops, int count) const {
    ++stamp_;
    int open = 0;
    for (int i = 0; i < count; ++i) {
        const Node node = stops[i], other = model.partner[at(node)];
        if (other < 0)
            continue;
        if (model.is_pickup[at(node)]) {
            ++open;
        } else {
            if (seen_[at(other)] != stamp_)
                return false;
            --open;
        }
        seen_[at(node)] = stamp_;
    }
    return open == 0 && (!model.relations.lifo || unloads_last_first(stops, count));
}

bool Model::in_duration(int type, const Node *stops, int count) const {
    const VehicleType &vehicle = vehicles[at(type)];
    if (std::isinf(vehicle.max_duration) || count == 0)
        return true;
    Node last = vehicle.start;
    double busy = 0.0, clock = vehicle.leaves, latest = INFINITE;
    for (int i = 0; i < count; ++i) {
        const Node node = stops[i];
        const double there = duration(last, node);
        busy += there;
        latest = std::min(latest, closing[at(node)] - busy);
        busy += service[at(node)];
        clock = std::max(clock + there, opening[at(node)]) + service[at(node)];
        last = node;
    }
    const double home = duration(last, vehicle.end);
    busy += home;
    return in_duration(vehicle, busy, clock + home, std::min(latest, vehicle.back_by - busy));
}

bool Plan::may_join(const Route &r, Node head) const {
    const Node other = model.partner[at(head)];
    if (model.restricted &&
        (!model.may_serve(r.type, head) || (other >= 0 && !model.may_serve(r.type, other))))
        return false;
    if (model.relations.present && !may_visit(head, static_cast<int>(&r - route.data())))
        return false;
    return !model.rich || r.size + (other < 0 ? 1 : 2) <= model.rules.types[at(r.type)].max_stops;
}

RouteValue Plan::whole_route(int type, const Node *stops, int count, const Limit &limit) const {
    return rules_.evaluate(type, stops, count, limit);
}

double Plan::checked_cost(int type, const Node *stops, int count, double most) const {
    const double length = checked_length(type, stops, count);
    if (length == INFINITE)
        return INFINITE;
    const double cost = model.vehicles[at(type)].weight * length;
    if (!model.rich)
        return cost;
    Limit limit;
    limit.most = most;
    const RouteValue whole = whole_route(type, stops, count, limit);
    return whole.feasible ? cost + whole.extra : INFINITE;
}

double Plan::cost_alone(int type, Node head) const {
    const double length = model.alone(type, head);
    if (length == INFINITE)
        return INFINITE;
    const double cost = model.vehicles[at(type)].weight * length;
    if (!model.rich)
        return cost;
    const Node stops[2] = {head, model.partner[at(head)]};
    const RouteValue whole = whole_route(type, stops, stops[1] < 0 ? 1 : 2);
    return whole.feasible ? cost + whole.extra : INFINITE;
}

double Plan::checked_length(int type, const Node *stops, int count) const {
    const VehicleType &vehicle = model.vehicles[at(type)];
    Node last = vehicle.start;
    double sum = 0.0, clock = vehicle.leaves;
    bool collecting = false;
    for (int i = 0; i < count; ++i) {
        const Node node = stops[i];
        if (model.restricted && !model.may_serve(type, node))
            return INFINITE;
        sum += model.distance(last, node);
        if (model.timed) {
            clock += model.duration(last, node);
            if (!(clock <= model.closing[at(node)]))
                return INFINITE;
            clock = std::max(clock, model.opening[at(node)]) + model.service[at(node)];
        }
        if (model.backhaul_last) {
            if (model.sign[at(node)] < 0)
                collecting = true;
            else if (model.sign[at(node)] > 0 && collecting)
                return INFINITE;
        }
        last = node;
    }
    if (count > 0) {
        sum += model.distance(last, vehicle.end);
        if (model.timed && !(clock + model.duration(last, vehicle.end) <= vehicle.back_by))
            return INFINITE;
    }
    if (!(sum <= vehicle.max_length) || !std::isfinite(sum))
        return INFINITE;
    if (model.loaded) {
        const int kinds = model.kinds();
        for (int kind = 0; kind < kinds; ++kind) {
            double carried = 0.0, high = 0.0, low = 0.0, deliveries = 0.0;
            for (int i = 0; i < count; ++i) {
                const double amount = model.demand(stops[i], kind);
                carried += amount;
                deliveries += model.delivered(stops[i], kind);
                high = std::max(high, carried);
                low = std::min(low, carried);
            }
            const double room = model.plain_load
                                    ? std::abs(carried)
                                    : room_needed(model.load_rule, low, high, deliveries);
            if (!(room <= vehicle.capacity[at(kind)]))
                return INFINITE;
        }
    }
    if (model.limited_duration && !model.in_duration(type, stops, count))
        return INFINITE;
    if (model.paired && !pairs_in_order(stops, count))
        return INFINITE;
    if (model.relations.present && !relations_hold(stops, count))
        return INFINITE;
    return sum;
}

} // namespace spacevrp
