// Trips: where a vehicle goes to a depot on its way, so that each trip's load fits and is there.
#include "plan.hpp"
#include "rules.hpp"

#include <algorithm>
#include <cmath>

namespace spacevrp {
namespace {

std::size_t at(int i) { return static_cast<std::size_t>(i); }

// Labels kept after the same customers: far more than ever matter.
constexpr std::size_t MOST_LABELS = 48;
// Sums in another order differ by this share at most.
constexpr double ROUNDING = 1e-9;
// A customer on a trip with rules of every kind takes as long as so many stops of a route that is
// driven as it is.
constexpr int STEPS_ON_TRIP = 12;

} // namespace

void RouteRules::begin_trip(const TypeRules &own, bool is_first) {
    const bool carries = is_first && own.under_way;
    for (auto *array : {&handed_, &high_, &low_})
        array->assign(at(model_.kinds()), 0.0);
    deliveries_.assign(at(model_.kinds()), 0.0);
    if (carries)
        deliveries_ = own.carried;
    open_ = 0;
    collecting_ = false;
    first_trip_ = is_first;
}

// Whether the trip may serve this customer next; what it carries is counted.
bool RouteRules::join_trip(const TypeRules &own, Node node) {
    const Node other = model_.partner[at(node)];
    const bool delivered = other < 0 && model_.sign[at(node)] > 0;
    if (other >= 0)
        open_ += model_.is_pickup[at(node)] ? 1 : -1;
    if (own.under_way && delivered && first_trip_ != (own.on_board[at(node)] != 0))
        return false;
    if (model_.rules.backhaul_last) {
        if (model_.sign[at(node)] > 0 && collecting_)
            return false;
        collecting_ = collecting_ || model_.sign[at(node)] < 0;
    }
    const bool counted = own.under_way && first_trip_;
    for (int kind = 0; kind < model_.kinds(); ++kind) {
        const double amount = model_.demand(node, kind);
        handed_[at(kind)] += amount;
        if (!counted)
            deliveries_[at(kind)] += model_.delivered(node, kind);
        high_[at(kind)] = std::max(high_[at(kind)], handed_[at(kind)]);
        low_[at(kind)] = std::min(low_[at(kind)], handed_[at(kind)]);
        if (!(room_needed(model_.load_rule, low_[at(kind)], high_[at(kind)],
                          deliveries_[at(kind)]) <= own.capacity[at(kind)]))
            return false;
    }
    return true;
}

// Whether no depot is needed on the way, and none could help.
bool RouteRules::in_one_trip(int type, const Node *stops, int count) {
    const TypeRules &own = model_.rules.types[at(type)];
    if (own.reload_depots.empty() && !own.under_way && !model_.rules.backhaul_last)
        return true;
    if (is_quick(type)) {
        double sum = 0.0;
        for (int i = 0; i < count; ++i)
            sum += std::abs(model_.demand(stops[i], 0));
        if (!(sum <= own.capacity[0]))
            return false;
    } else {
        begin_trip(own, true);
        for (int i = 0; i < count; ++i)
            if (!join_trip(own, stops[i]))
                return false;
    }
    return own.reload_depots.empty() || model_.rules.release.empty() ||
           released(own, stops, count) <= model_.vehicles[at(type)].leaves;
}

void RouteRules::offer(const TypeRules &own, const Label &label) {
    std::vector<int> &others = at_[at(label.boundary)];
    const auto beats = [&](const Label &a, const Label &b) {
        return a.depot == b.depot && a.breaks >= b.breaks && a.clock <= b.clock &&
               a.length <= b.length && (own.max_reloads == ANY_NUMBER || a.reloads <= b.reloads) &&
               (!plain_times_ || (a.busy <= b.busy && a.latest >= b.latest && a.start >= b.start));
    };
    for (const int other : others)
        if (beats(labels_[at(other)], label))
            return;
    std::erase_if(others, [&](int other) { return beats(label, labels_[at(other)]); });
    if (others.size() >= MOST_LABELS)
        return;
    others.push_back(static_cast<int>(labels_.size()));
    labels_.push_back(label);
}

// From the depot of a label on, one customer more at a time.
void RouteRules::extend(int type, const Node *stops, int count, int number) {
    const VehicleType &vehicle = model_.vehicles[at(type)];
    const TypeRules &own = model_.rules.types[at(type)];
    const Label from = labels_[at(number)];
    const bool is_first = from.before < 0;
    const bool may_reload = from.reloads < own.max_reloads;
    begin_trip(own, is_first);
    Label here = from;
    double ready = -INFINITE; // when all that the trip carries is there
    Node last = from.depot;
    const auto leave = [&] { // from the depot
        here.clock = std::max(from.clock, ready);
        here.busy = from.busy;
        here.latest = from.latest;
        last = from.depot;
        if (is_first) {
            here.start = here.clock;
            return set_out(own, here.clock);
        }
        if (!plain_times_) {
            std::fill(earliest_.begin(), earliest_.end(), INFINITE);
            earliest_[at(from.breaks)] = here.clock;
        }
        return true;
    };
    // To the customer at a position, or to a depot; false where it is too late.
    const auto go_on = [&](Node node, Label &label) {
        if (!own.scheduled)
            return true;
        const double service = service_of(own, last, node);
        if (!plain_times_) {
            if (!forward(own, last, node, false))
                return false;
            for (std::size_t b = 0; b < earliest_.size(); ++b)
                earliest_[b] =
                    reached_[b] == INFINITE ? INFINITE : left_at(node, reached_[b], service);
            return true;
        }
        const double way = own.slowness * model_.duration(last, node);
        label.clock =
            std::max({label.clock + way, model_.opening[at(node)], held_[at(node)] - service});
        label.busy += way;
        if (!(label.clock <= model_.closing[at(node)]))
            return false;
        label.latest =
            std::min(label.latest, model_.closing[at(node)] - model_.time_slack - label.busy);
        label.clock += service;
        label.busy += service;
        return true;
    };
    const auto reload_here = [&](int boundary) {
        if (!may_reload)
            return;
        const std::vector<double> held = plain_times_ ? std::vector<double>{} : earliest_;
        for (const Node depot : own.reload_depots) {
            const double length = here.length + model_.distance(last, depot);
            if (!(length <= vehicle.max_length) || !std::isfinite(length))
                continue;
            if (limit_.rest != nullptr) {
                if (!(vehicle.weight * (length + rest_behind(boundary)) <= limit_.most))
                    continue;
            }
            Label next = here;
            next.length = length;
            next.before = number;
            next.boundary = boundary;
            next.depot = depot;
            ++next.reloads;
            if (!plain_times_)
                earliest_ = held;
            if (!go_on(depot, next))
                continue;
            if (plain_times_) {
                offer(own, next);
                continue;
            }
            for (std::size_t b = 0; b < earliest_.size(); ++b)
                if (earliest_[b] < INFINITE) {
                    next.breaks = static_cast<int>(b);
                    next.clock = earliest_[b];
                    offer(own, next);
                }
        }
        if (!plain_times_)
            earliest_ = held;
    };
    if (!leave())
        return;
    if (is_first && own.under_way)
        reload_here(0);
    for (int i = from.boundary; i < count; ++i) {
        steps += STEPS_ON_TRIP;
        if (!join_trip(own, stops[i]))
            return;
        here.length += model_.distance(i == from.boundary ? from.depot : stops[i - 1], stops[i]);
        if (!(here.length <= vehicle.max_length) || !std::isfinite(here.length))
            return;
        const double before = ready;
        ready = std::max(ready, released(own, stops + i, 1));
        if (own.scheduled && ready > std::max(before, from.clock)) { // all of the trip is later
            if (!leave())
                return;
            for (int k = from.boundary; k < i; ++k) {
                if (!go_on(stops[k], here))
                    return;
                last = stops[k];
            }
        }
        if (!go_on(stops[i], here))
            return;
        last = stops[i];
        if (i + 1 < count && open_ == 0)
            reload_here(i + 1);
    }
    here.length += model_.distance(last, vehicle.end);
    if (!(here.length <= vehicle.max_length) || !std::isfinite(here.length))
        return;
    here.before = number;
    if (plain_times_ && own.scheduled) {
        const double way = own.slowness * model_.duration(last, vehicle.end);
        here.clock += way;
        here.busy += way;
        if (!(here.clock <= vehicle.back_by))
            return;
    }
    const double cost = price(type, stops, count, here);
    if (cost < least_) {
        least_ = cost;
        best_ = here;
    }
}

// What a complete label costs beside the fixed cost; infinite where a rule is broken.
double RouteRules::price(int type, const Node *stops, int count, const Label &label) {
    const VehicleType &vehicle = model_.vehicles[at(type)];
    const TypeRules &own = model_.rules.types[at(type)];
    double cost = vehicle.weight * label.length;
    if (!own.scheduled)
        return cost;
    double duration =
        label.clock - std::max(label.start, std::min(label.latest, label.clock - label.busy));
    if (!plain_times_) {
        read_reloads(label);
        write_visits(stops, count);
        if (!find_schedule(type, visits_.data(), static_cast<int>(visits_.size())))
            return INFINITE;
        duration = schedule_.duration();
    }
    if (!(duration <= vehicle.max_duration))
        return INFINITE;
    return cost + least_extra(type, duration);
}

void RouteRules::read_reloads(const Label &label) {
    reloads_.clear();
    for (int number = label.before; labels_[at(number)].before >= 0;
         number = labels_[at(number)].before)
        reloads_.push_back({labels_[at(number)].boundary, labels_[at(number)].depot});
    std::reverse(reloads_.begin(), reloads_.end());
}

void RouteRules::write_visits(const Node *stops, int count) {
    visits_.clear();
    std::size_t next = 0;
    for (int i = 0; i < count; ++i) {
        if (next < reloads_.size() && reloads_[next].after == i)
            visits_.push_back(reloads_[next++].depot);
        visits_.push_back(stops[i]);
    }
}

bool RouteRules::choose_trips(int type, const Node *stops, int count, const Limit &limit) {
    const VehicleType &vehicle = model_.vehicles[at(type)];
    const TypeRules &own = model_.rules.types[at(type)];
    if (is_quick(type))
        return quick_trips(type, stops, count, limit);
    plain_times_ = own.plain_times && !always_slow;
    labels_.clear();
    least_ = INFINITE;
    limit_ = limit;
    limit_.most += ROUNDING * std::abs(limit_.most);
    if (at_.size() < at(count) + 1)
        at_.resize(at(count) + 1);
    for (int i = 0; i <= count; ++i)
        at_[at(i)].clear();
    Label start;
    start.clock = start.start = vehicle.leaves;
    start.latest = own.latest_start;
    start.depot = vehicle.start;
    labels_.push_back(start);
    extend(type, stops, count, 0);
    for (int i = 0; i < count; ++i)
        for (std::size_t k = 0; k < at_[at(i)].size(); ++k)
            extend(type, stops, count, at_[at(i)][k]);
    if (least_ == INFINITE)
        return false;
    read_reloads(best_);
    return true;
}

double RouteRules::nearest_depot(int type, Node node, bool back) const {
    double least = INFINITE;
    for (const Node depot : model_.rules.types[at(type)].reload_depots)
        least = std::min(least, back ? model_.distance(node, depot) : model_.distance(depot, node));
    return least;
}

double RouteRules::shortcut(int type, Node last, Node node, Node next) const {
    const double to = model_.distance(last, node), from = model_.distance(node, next);
    double most = std::max(0.0, model_.distance(last, next) - to - from);
    for (const Node depot : model_.rules.types[at(type)].reload_depots) {
        const double back = model_.distance(last, depot), out = model_.distance(depot, next);
        most = std::max({most, back - to - model_.distance(node, depot),
                         out - model_.distance(depot, node) - from});
    }
    return most;
}

void RouteRules::find_lengths(int type, const Node *stops, int count, TripLengths &trips) {
    const VehicleType &vehicle = model_.vehicles[at(type)];
    const TypeRules &own = model_.rules.types[at(type)];
    for (auto *array : {&trips.head, &trips.rest})
        array->assign(at(count + 1), INFINITE);
    for (auto *array : {&trips.out, &trips.back, &trips.load})
        array->assign(at(count + 1), 0.0);
    for (int j = 1; j <= count; ++j) {
        trips.out[at(j)] = nearest_depot(type, stops[j - 1], false);
        trips.back[at(j)] = nearest_depot(type, stops[j - 1], true);
        if (model_.plain_load && !own.under_way)
            trips.load[at(j)] = trips.load[at(j - 1)] + std::abs(model_.demand(stops[j - 1], 0));
    }
    // Whether a trip that begins behind the first i customers may serve customer k, too. Where it
    // may need a customer's load to have room for another's, loads bound nothing.
    const bool quick = is_quick(type);
    const bool unbound =
        own.under_way || (model_.load_rule == LoadRule::single && !model_.plain_load);
    double sum = 0.0;
    const auto begin = [&](int i) {
        sum = 0.0;
        if (!quick)
            begin_trip(own, i == 0);
    };
    const auto joins = [&](int k) {
        if (!quick)
            return unbound || join_trip(own, stops[k]);
        sum += std::abs(model_.demand(stops[k], 0));
        return sum <= own.capacity[0];
    };
    trips.head[0] = 0.0;
    for (int i = 0; i < count; ++i) {
        double length = trips.head[at(i)];
        if (length == INFINITE)
            continue;
        length += i == 0 ? model_.distance(vehicle.start, stops[0]) : trips.out[at(i + 1)];
        begin(i);
        for (int k = i; k < count && joins(k); ++k) {
            if (k > i)
                length += model_.distance(stops[k - 1], stops[k]);
            trips.head[at(k + 1)] = std::min(trips.head[at(k + 1)], length + trips.back[at(k + 1)]);
        }
    }
    trips.rest[at(count)] = 0.0; // where a customer more has the last trip for itself
    for (int j = count - 1; j >= 0; --j) {
        double length = trips.out[at(j + 1)];
        begin(j);
        for (int k = j; k < count && joins(k); ++k) {
            if (k > j)
                length += model_.distance(stops[k - 1], stops[k]);
            const double on = k + 1 == count ? model_.distance(stops[k], vehicle.end)
                                             : trips.back[at(k + 1)] + trips.rest[at(k + 1)];
            trips.rest[at(j)] = std::min(trips.rest[at(j)], length + on);
        }
    }
}

// No trip is shorter for a customer more, so that it comes no earlier and has to be left no later.
void RouteRules::bound_times(int type, const Node *stops, int count, double *leave, double *late) {
    const VehicleType &vehicle = model_.vehicles[at(type)];
    const TypeRules &own = model_.rules.types[at(type)];
    if (!own.scheduled || own.under_way || !model_.plain_load || !model_.rules.moments.empty())
        return;
    const std::size_t depots = own.reload_depots.size();
    const double room = own.capacity[0] * (1.0 + ROUNDING);
    const auto way = [&](Node from, Node to) { return own.slowness * model_.duration(from, to); };
    const auto service = [&](Node node) {
        return own.service.empty() ? model_.service[at(node)] : own.service[at(node)];
    };
    const auto amount = [&](int k) { return std::abs(model_.demand(stops[k], 0)); };
    // The earliest: trips that begin with customer i.
    trip_ready_.assign(at(count + 1) * depots, INFINITE);
    trip_left_.assign(at(count), INFINITE);
    for (int i = 0; i < count; ++i) {
        double clock = i == 0 ? vehicle.leaves + way(vehicle.start, stops[0]) : INFINITE;
        for (std::size_t d = 0; i > 0 && d < depots; ++d)
            clock = std::min(clock,
                             trip_ready_[at(i) * depots + d] + way(own.reload_depots[d], stops[i]));
        double load = 0.0;
        for (int k = i; k < count; ++k) {
            load += amount(k);
            if (k > i)
                clock += way(stops[k - 1], stops[k]);
            if (!(load <= room) || !(clock <= model_.closing[at(stops[k])]))
                break;
            clock = std::max(clock, model_.opening[at(stops[k])]) + service(stops[k]);
            trip_left_[at(k)] = std::min(trip_left_[at(k)], clock);
            for (std::size_t d = 0; d < depots; ++d) {
                const Node depot = own.reload_depots[d];
                const double there = clock + way(stops[k], depot);
                double &best = trip_ready_[at(k + 1) * depots + d];
                if (there <= model_.closing[at(depot)])
                    best =
                        std::min(best, std::max(there, model_.opening[at(depot)]) + service(depot));
            }
        }
    }
    // The latest: trips that end with customer k.
    trip_by_.assign(at(count + 1), -INFINITE);
    for (int k = count - 1; k >= 0; --k) {
        double by = k + 1 == count ? vehicle.back_by - way(stops[k], vehicle.end) : -INFINITE;
        for (std::size_t d = 0; k + 1 < count && d < depots; ++d) {
            const Node depot = own.reload_depots[d];
            const double leaves = trip_by_[at(k + 1)] - way(depot, stops[k + 1]) - service(depot);
            if (leaves >= model_.opening[at(depot)])
                by = std::max(by,
                              std::min(leaves, model_.closing[at(depot)]) - way(stops[k], depot));
        }
        double load = 0.0;
        for (int i = k; i >= 0; --i) {
            const Node node = stops[i];
            load += amount(i);
            by -= service(node) + (i < k ? way(node, stops[i + 1]) : 0.0);
            if (!(load <= room) || !(by >= model_.opening[at(node)]))
                break;
            by = std::min(by, model_.closing[at(node)]);
            trip_by_[at(i)] = std::max(trip_by_[at(i)], by);
        }
    }
    for (int p = 1; p <= count; ++p) {
        if (trip_left_[at(p - 1)] < INFINITE)
            leave[p] = std::max(leave[p], trip_left_[at(p - 1)]);
        if (trip_by_[at(p - 1)] > -INFINITE)
            late[p] = std::min(late[p], trip_by_[at(p - 1)]);
    }
}

double RouteRules::least_length(int type, const TripLengths &trips, const Node *nodes,
                                const double *so_far, int count, int after, Node node, double out,
                                double back) const {
    const TypeRules &own = model_.rules.types[at(type)];
    const bool counted = model_.plain_load && !own.under_way;
    const double room = counted ? own.capacity[0] * (1.0 + ROUNDING) : INFINITE;
    const double amount = counted ? std::abs(model_.demand(node, 0)) : 0.0;
    const double to = model_.distance(nodes[after], node);
    const double from = model_.distance(node, nodes[after + 1]);
    double least = INFINITE;
    // The trip that it is on begins behind the first i customers and ends with customer k.
    for (int i = after; i >= 0; --i) {
        if (trips.load[at(after)] - trips.load[at(i)] + amount > room)
            break;
        double begin = so_far[after] + to;
        if (i > 0)
            begin = i == after ? trips.head[at(i)] + out
                               : trips.head[at(i)] + trips.out[at(i + 1)] + so_far[after] -
                                     so_far[i + 1] + to;
        for (int k = after; k <= count; ++k) {
            if (trips.load[at(k)] - trips.load[at(i)] + amount > room)
                break;
            double end = from + so_far[count + 1] - so_far[std::min(after + 1, count + 1)];
            if (k < count)
                end = k == after ? back + trips.rest[at(k)]
                                 : from + so_far[k] - so_far[after + 1] + trips.back[at(k)] +
                                       trips.rest[at(k)];
            least = std::min(least, begin + end);
        }
    }
    return least;
}

} // namespace spacevrp
