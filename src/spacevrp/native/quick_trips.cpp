// Trips where the sum of the demands says what fits, and one window a stop when: the same choice as
// in trips.cpp. A trip is over at max(departure + busy, end), so that a customer more takes
// constant time, whenever the vehicle leaves.
#include "rules.hpp"

#include <algorithm>
#include <cmath>

namespace spacevrp {
namespace {

std::size_t at(int i) { return static_cast<std::size_t>(i); }

// Labels kept after the same customers: far more than ever matter.
constexpr int MOST_LABELS = 48;
// A customer on a trip takes as long as so many stops of a route that is driven as it is.
constexpr int STEPS_ON_TRIP = 3;
// Sums in another order differ by this share at most.
constexpr double ROUNDING = 1e-9;

} // namespace

RouteRules::RouteRules(const Model &problem) : model_(problem) {
    held_.assign(at(model_.size() + 1), -INFINITE);
    place_.assign(at(model_.size() + 1), -1);
    sums_loads_.assign(model_.vehicles.size(), 0);
    for (std::size_t i = 0; i < model_.rules.types.size(); ++i) {
        const TypeRules &own = model_.rules.types[i];
        sums_loads_[i] = own.plain_times && !own.under_way && !own.reload_depots.empty() &&
                         model_.plain_load && !model_.paired && model_.kinds() == 1;
    }
}

RouteRules::Leg RouteRules::leg(const TypeRules &own, Node from, Node to) const {
    if (!own.scheduled)
        return {model_.distance(from, to), 0.0, 0.0};
    return {model_.distance(from, to), own.slowness * model_.duration(from, to),
            service_of(own, from, to)};
}

void RouteRules::look_ahead(const TypeRules &own, const Node *stops, int count) {
    const std::size_t depots = own.reload_depots.size();
    ahead_.resize(at(count));
    out_.resize(at(count) * depots);
    back_.resize(at(count) * depots);
    for (int i = 0; i < count; ++i) {
        const Node node = stops[i];
        Ahead &one = ahead_[at(i)];
        one = {std::abs(model_.demand(node, 0)), 0.0, 0.0, 0.0, -INFINITE, 0.0, INFINITE, 0.0};
        if (i > 0) {
            const Leg way = leg(own, stops[i - 1], node);
            one.arc = way.arc;
            one.way = way.way;
            one.service = way.service;
        }
        for (std::size_t d = 0; d < depots; ++d) {
            out_[at(i) * depots + d] = leg(own, own.reload_depots[d], node);
            back_[at(i) * depots + d] = leg(own, node, own.reload_depots[d]);
        }
        if (!own.scheduled)
            continue;
        if (!model_.rules.release.empty())
            one.release = model_.rules.release[at(node)];
        one.opening = model_.opening[at(node)];
        one.closing = model_.closing[at(node)];
    }
}

void RouteRules::offer_quick(const TypeRules &own, const Label &label) {
    const auto beats = [&](const Label &a, const Label &b) {
        return a.depot == b.depot && a.clock <= b.clock && a.length <= b.length &&
               (own.max_reloads == ANY_NUMBER || a.reloads <= b.reloads) &&
               (!by_duration_ || (a.busy <= b.busy && a.latest >= b.latest && a.start >= b.start));
    };
    int *link = &first_label_[at(label.boundary)];
    for (int held = *link; held >= 0; held = labels_[at(held)].next)
        if (beats(labels_[at(held)], label))
            return;
    int kept = 0;
    while (*link >= 0) {
        Label &held = labels_[at(*link)];
        if (beats(label, held)) {
            *link = held.next;
        } else {
            link = &held.next;
            ++kept;
        }
    }
    if (kept >= MOST_LABELS)
        return;
    *link = static_cast<int>(labels_.size());
    labels_.push_back(label);
}

// From the depot of a label on, one customer more at a time.
void RouteRules::drive_trip(int type, const Node *stops, int count, int number) {
    const VehicleType &vehicle = model_.vehicles[at(type)];
    const TypeRules &own = model_.rules.types[at(type)];
    const Label from = labels_[at(number)];
    const bool is_first = from.before < 0, timed = own.scheduled;
    const bool may_reload = from.reloads < own.max_reloads;
    double load = 0.0, length = from.length, ready = -INFINITE;
    // Driving and service since the departure; when the last stop is left at the earliest, whenever
    // the vehicle departs; the latest departure that is in time, with slack and without.
    double busy = 0.0, over = -INFINITE, latest = INFINITE, leave_by = from.latest + from.busy;
    if (is_first && timed)
        latest = own.latest_start + model_.time_slack;
    double departure = from.clock;
    const std::size_t depots = own.reload_depots.size();
    const Leg first = from.place < 0 ? leg(own, from.depot, stops[from.boundary])
                                     : out_[at(from.boundary) * depots + at(from.place)];
    for (int k = from.boundary; k < count; ++k) {
        steps += STEPS_ON_TRIP;
        const Ahead &stop = ahead_[at(k)];
        const bool begins = k == from.boundary;
        load += stop.amount;
        length += begins ? first.arc : stop.arc;
        if (!(load <= own.capacity[0]) || !(length <= vehicle.max_length) || !(length < INFINITE))
            return;
        if (timed) {
            const double way = begins ? first.way : stop.way;
            busy += way;
            over += way;
            ready = std::max(ready, stop.release);
            departure = std::max(from.clock, ready);
            latest = std::min(latest, stop.closing - busy);
            leave_by = std::min(leave_by, stop.closing - model_.time_slack - busy);
            if (!(over <= stop.closing) || !(departure <= latest))
                return;
            const double service = begins ? first.service : stop.service;
            over = std::max(over, stop.opening) + service;
            busy += service;
        }
        if (k + 1 == count || !may_reload)
            continue;
        const double rest = limit_.rest == nullptr ? ahead_[at(k + 1)].onward : rest_behind(k + 1);
        for (std::size_t d = 0; d < depots; ++d) {
            const Leg &home = back_[at(k) * depots + d];
            const double there = length + home.arc;
            if (!(there <= vehicle.max_length) || !(there < INFINITE) ||
                !(vehicle.weight * (there + rest) <= limit_.most))
                continue;
            const Node depot = own.reload_depots[d];
            Label next;
            next.length = there;
            next.clock = from.clock;
            next.start = is_first ? departure : from.start;
            if (timed) {
                const double closing = model_.closing[at(depot)];
                const double arrival = std::max(departure + busy, over) + home.way;
                if (!(arrival <= closing))
                    continue;
                next.clock = std::max(arrival, model_.opening[at(depot)]) + home.service;
                next.busy = from.busy + busy + home.way + home.service;
                next.latest =
                    std::min(leave_by, closing - model_.time_slack - busy - home.way) - from.busy;
            }
            next.reloads = from.reloads + 1;
            next.before = number;
            next.boundary = k + 1;
            next.depot = depot;
            next.place = static_cast<int>(d);
            offer_quick(own, next);
        }
    }
    Label end = from;
    end.before = number;
    double departs = vehicle.leaves;
    end.length = length + model_.distance(stops[count - 1], vehicle.end);
    if (!(end.length <= vehicle.max_length) || !(end.length < INFINITE))
        return;
    double cost = vehicle.weight * end.length;
    if (timed) {
        const double way = own.slowness * model_.duration(stops[count - 1], vehicle.end);
        end.clock = std::max(departure + busy, over) + way;
        if (!(end.clock <= vehicle.back_by))
            return;
        // As late as it can for the same end.
        departs = std::max(is_first ? departure : from.start,
                           std::min(leave_by - from.busy, end.clock - from.busy - busy - way));
        const double duration = end.clock - departs;
        if (!(duration <= vehicle.max_duration))
            return;
        cost += least_extra(type, duration);
    }
    if (cost < least_) {
        least_ = cost;
        best_ = end;
        schedule_ = {departs, end.clock};
    }
}

// Where only the length counts: the shortest way to each customer that begins a trip, as a giant
// tour is split (Prins 2004). Where its trip ends does not depend on the depot that it left.
bool RouteRules::split_trips(int type, const Node *stops, int count) {
    const VehicleType &vehicle = model_.vehicles[at(type)];
    const TypeRules &own = model_.rules.types[at(type)];
    split_.assign(at(count), Split{});
    steps += count;
    for (int k = 1; k < count; ++k) {
        Split &one = split_[at(k)];
        one.arc = model_.distance(stops[k - 1], stops[k]);
        for (const Node depot : own.reload_depots) {
            const double by =
                model_.distance(stops[k - 1], depot) + model_.distance(depot, stops[k]);
            if (by < one.detour) {
                one.detour = by;
                one.depot = depot;
            }
        }
    }
    split_[0].length = model_.distance(vehicle.start, stops[0]);
    const double end = model_.distance(stops[count - 1], vehicle.end);
    double least = INFINITE;
    int last = -1;
    for (int i = 0; i < count; ++i) {
        double length = split_[at(i)].length, load = 0.0;
        for (int k = i; k < count; ++k) {
            load += std::abs(model_.demand(stops[k], 0));
            if (k > i)
                length += split_[at(k)].arc;
            if (!(load <= own.capacity[0]) || !(length < INFINITE))
                break;
            if (k + 1 == count) {
                if (length + end < least) {
                    least = length + end;
                    last = i;
                }
                break;
            }
            Split &next = split_[at(k + 1)];
            if (length + next.detour < next.length) {
                next.length = length + next.detour;
                next.before = i;
            }
        }
    }
    if (last < 0 || !(least <= vehicle.max_length))
        return false;
    reloads_.clear();
    for (int i = last; i > 0; i = split_[at(i)].before)
        reloads_.push_back({i, split_[at(i)].depot});
    std::reverse(reloads_.begin(), reloads_.end());
    return true;
}

bool RouteRules::quick_trips(int type, const Node *stops, int count, const Limit &limit) {
    const VehicleType &vehicle = model_.vehicles[at(type)];
    const TypeRules &own = model_.rules.types[at(type)];
    if (!own.scheduled && own.max_reloads == ANY_NUMBER)
        return split_trips(type, stops, count);
    by_duration_ = own.priced_by_time || std::isfinite(vehicle.max_duration);
    labels_.clear();
    least_ = INFINITE;
    limit_ = limit;
    limit_.most += ROUNDING * std::abs(limit_.most);
    look_ahead(own, stops, count);
    if (limit_.most < INFINITE && limit_.rest == nullptr) {
        const std::size_t depots = own.reload_depots.size();
        double onward = model_.distance(stops[count - 1], vehicle.end);
        for (int i = count - 1; i > 0; --i) {
            ahead_[at(i)].onward = onward;
            double out = INFINITE, back = INFINITE;
            for (std::size_t d = 0; d < depots; ++d) {
                out = std::min(out, out_[at(i) * depots + d].arc);
                back = std::min(back, back_[at(i - 1) * depots + d].arc);
            }
            onward += std::min(ahead_[at(i)].arc, back + out);
        }
    }
    first_label_.assign(at(count + 1), -1);
    Label start;
    start.clock = start.start = vehicle.leaves;
    start.latest = own.latest_start;
    start.depot = vehicle.start;
    labels_.push_back(start);
    drive_trip(type, stops, count, 0);
    for (int i = 1; i < count; ++i)
        for (int number = first_label_[at(i)]; number >= 0; number = labels_[at(number)].next)
            drive_trip(type, stops, count, number);
    if (least_ == INFINITE)
        return false;
    read_reloads(best_);
    return true;
}

} // namespace spacevrp
