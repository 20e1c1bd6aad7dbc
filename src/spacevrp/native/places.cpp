// Where a unit goes: the best place in each route, remembered until the route changes.
#include "search.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <stdexcept>
#include <string>

namespace spacevrp {
namespace {

std::size_t at(int i) { return static_cast<std::size_t>(i); }

// Sums in another order differ by this share at most.
constexpr double ROUNDING = 1e-9;
// Places to remember: 32 bytes each.
constexpr std::size_t MOST_KNOWN = 250'000;
constexpr double LITTLE = 1e-6;

} // namespace

// A quick look at the first kind of load, for no place in particular.
bool Search::has_room(const Route &r, Node node) const {
    if (!model_.loaded || model_.paired)
        return true;
    const double amount = model_.demand(node, 0),
                 capacity = model_.vehicles[at(r.type)].capacity[0];
    if (model_.plain_load)
        return std::abs(r.total[0] + amount) <= capacity;
    const double most = capacity + ROUNDING * std::abs(capacity);
    if (model_.load_rule == LoadRule::single && !model_.backhaul_last)
        return std::abs(r.total[0] + amount) <= most;
    if (model_.load_rule == LoadRule::mixed) {
        const double loaded = r.deliveries[0] + model_.delivered(node, 0);
        return loaded <= most && loaded - (r.total[0] + amount) <= most;
    }
    return amount > 0.0 ? r.deliveries[0] + amount <= most
                        : r.deliveries[0] - r.total[0] - amount <= most;
}

Place Search::scan_route(int number, Node node, double floor, double bound) {
    if (model_.rich || model_.relations.measured)
        return scan_whole(number, node, floor, bound);
    const Route &r = plan.route[at(number)];
    Place best;
    best.delta = bound;
    // Linehauls come before backhauls.
    int low = r.pinned, high = r.size;
    if (model_.backhaul_last) {
        if (model_.sign[at(node)] > 0)
            high = std::min(high, r.first_backhaul - 1);
        else if (model_.sign[at(node)] < 0)
            low = std::max(low, r.last_linehaul);
    }
    if (model_.relations.ordered)
        plan.order_span(number, node, low, high);
    const double weight = model_.vehicles[at(r.type)].weight;
    const double *from = model_.from(node), *to = model_.to(node);
    const Node *nodes = r.node.data();
    const double *arc = r.arc.data();
    if (from == nullptr) {
        for (int p = low; p <= high; ++p) {
            const double extra =
                model_.distance(nodes[p], node) + model_.distance(node, nodes[p + 1]) - arc[p];
            const double delta = weight * extra;
            if (delta < best.delta && delta > floor && plan.fits(r, p, node, extra))
                best = {delta, number, r.type, p, 0};
        }
    } else if (!model_.timed && model_.plain_load && !model_.limited_length &&
               !model_.backhaul_last && !model_.relations.lifo) {
        // All places have the same room.
        const bool one_kind = model_.kinds() == 1 && !model_.restricted;
        if (!(one_kind ? has_room(r, node) : plan.fits_load(r, low, node, 0.0)))
            return best;
        int least = -1;
        double delta = bound, there = to[nodes[low]];
        if (from == to)
            for (int p = low; p <= high; ++p) {
                const double onward = from[nodes[p + 1]], here = weight * (there + onward - arc[p]);
                there = onward;
                if (here < delta && here > floor) {
                    delta = here;
                    least = p;
                }
            }
        else
            for (int p = low; p <= high; ++p) {
                const Node next = nodes[p + 1];
                const double here = weight * (there + from[next] - arc[p]);
                there = to[next];
                if (here < delta && here > floor) {
                    delta = here;
                    least = p;
                }
            }
        if (least >= 0)
            best = {delta, number, r.type, least, 0};
    } else if (!model_.timed) {
        double there = to[nodes[low]];
        for (int p = low; p <= high; ++p) {
            const Node next = nodes[p + 1];
            const double extra = there + from[next] - arc[p];
            there = to[next];
            const double delta = weight * extra;
            if (delta < best.delta && delta > floor && plan.fits_load(r, p, node, extra))
                best = {delta, number, r.type, p, 0};
        }
    } else {
        // Along a route it gets later: the positions that are in time lie side by side, nearly.
        const double opening = model_.opening[at(node)], closing = model_.closing[at(node)];
        const double service = model_.service[at(node)];
        const double *time_from = model_.time_from(node), *time_to = model_.time_to(node);
        const double *leave = r.leave.data(), *late = r.late.data();
        while (low <= high && late[low + 1] < opening + service)
            ++low;
        for (int p = low; p <= high && leave[p] <= closing; ++p) {
            const Node last = nodes[p], next = nodes[p + 1];
            const double extra = to[last] + from[next] - arc[p];
            const double delta = weight * extra;
            if (!(delta < best.delta))
                continue;
            const double arrival = leave[p] + time_to[last];
            if (!(arrival <= closing) ||
                !(std::max(arrival, opening) + service + time_from[next] <= late[p + 1]))
                continue;
            if (delta > floor && plan.fits_load(r, p, node, extra) &&
                (!model_.limited_duration || plan.fits_duration(r, p, node)))
                best = {delta, number, r.type, p, 0};
        }
    }
    return best;
}

void Search::try_new_route(Node head, double blink, Place &best) {
    if (model_.relations.present && !plan.may_visit(head, -1))
        return;
    for (int type = 0; type < model_.types(); ++type) {
        if (!plan.may_open(type))
            continue;
        const VehicleType &vehicle = model_.vehicles[at(type)];
        const Node last = model_.partner[at(head)] < 0 ? head : model_.partner[at(head)];
        const double fixed = model_.maximise_prize ? 0.0 : vehicle.price;
        const double bound = vehicle.weight * (model_.distance(vehicle.start, head) +
                                               (last == head ? 0.0 : model_.distance(head, last)) +
                                               model_.distance(last, vehicle.end)) +
                             fixed;
        if (!(bound < best.delta) || model_.alone(type, head) == INFINITE)
            continue;
        const double delta = model_.rich ? plan.cost_alone(type, head) + fixed : bound;
        double counted = 0.0;
        if (model_.relations.measured) {
            const Node stops[2] = {head, last};
            counted = surcharge(plan.takes(type, stops, last == head ? 1 : 2));
        }
        if (!(delta + counted < best.delta))
            continue;
        if (blink > 0.0 && random_.uniform() < blink)
            continue;
        best = {delta + counted, -1, type, 0, 0, counted};
    }
}

Search::Known *Search::known(Node head, int number) {
    if (number >= known_width_) {
        if (model_.relations.measured)
            return nullptr; // the best place depends on other routes
        const int width = std::max(2 * number, 16);
        if (at(width) * at(model_.size()) > MOST_KNOWN)
            return nullptr;
        known_width_ = width;
        known_.assign(at(width) * at(model_.size()), Known{});
    }
    return &known_[at(head) * at(known_width_) + at(number)];
}

// The slow twin of what is remembered: a route that has not changed has the same best place.
void Search::check_known(const Known &held, int number, Node head) {
    const Place fresh = model_.partner[at(head)] < 0 ? scan_route(number, head, -INFINITE, INFINITE)
                                                     : scan_pair(number, head, -INFINITE, INFINITE);
    bool same = held.first < 0 ? !(fresh.delta < held.delta)
                               : fresh.delta == held.delta && fresh.first == held.first &&
                                     fresh.second == held.second;
    // Where whole routes are evaluated, places that look dear are not, and some may be cheap.
    if (model_.rich)
        same = held.first < 0 || !(fresh.delta > held.delta);
    if (!same)
        throw std::logic_error("expected the remembered place of node " + std::to_string(head) +
                               " in route " + std::to_string(number) + ", found another");
}

void Search::try_route(int number, Node head, double blink, Place &best) {
    const Route &r = plan.route[at(number)];
    Known *known_here = known(head, number);
    const bool is_known = known_here != nullptr && known_here->version == r.version;
    if (is_known) {
        if (options_.check)
            check_known(*known_here, number, head);
        // Either the best place, or a bound that all of them exceed.
        if (!(known_here->delta < best.delta))
            return;
    }
    if (!has_room(r, head)) {
        if (known_here != nullptr)
            *known_here = {r.version, INFINITE, -1, -1, 0.0};
        return;
    }
    if (!plan.may_join(r, head))
        return;
    const Node other = model_.partner[at(head)];
    const auto scan = [&](double floor) {
        return other < 0 ? scan_route(number, head, floor, best.delta)
                         : scan_pair(number, head, floor, best.delta);
    };
    Place place;
    if (is_known && known_here->first >= 0)
        place = {known_here->delta,  number, r.type,           known_here->first,
                 known_here->second, 0.0,    known_here->extra};
    if (place.route < 0) {
        place = scan(-INFINITE);
        if (known_here != nullptr)
            *known_here = {r.version, place.delta, place.route < 0 ? -1 : place.first, place.second,
                           place.extra};
    }
    while (place.route >= 0 && blink > 0.0 && random_.uniform() < blink)
        place = scan(place.delta);
    if (place.route >= 0)
        best = place;
}

// What it counts that the longest route gets longer; a shorter one is better among equals.
double Search::surcharge(double takes) const {
    const double price = model_.relations.makespan_price + model_.relations.balance_price;
    return price * (std::max(takes - longest_, 0.0) + LITTLE * takes);
}

// The routes that pass near it; near the pickup or the delivery of a pair.
void Search::try_near_routes(Node head, double blink, Place &best) {
    ++visit_;
    visited_.resize(plan.route.size(), 0);
    for (const Node node : {head, model_.partner[at(head)]}) {
        if (node < 0)
            break;
        const Node *near = model_.near(node);
        for (int i = 0; i < options_.places && i < model_.width && near[i] >= 0; ++i) {
            const int number = plan.route_of[at(near[i])];
            if (number < 0 || visited_[at(number)] == visit_)
                continue;
            visited_[at(number)] = visit_;
            try_route(number, head, blink, best);
        }
    }
}

// Only the places beside its neighbours, where each distance must be computed.
void Search::try_near_places(Node node, double blink, Place &best) {
    const Node *near = model_.near(node);
    const double *lengths = model_.near_length(node);
    for (int i = 0; i < options_.places && i < model_.width && near[i] >= 0; ++i) {
        const int number = plan.route_of[at(near[i])];
        if (number < 0)
            continue;
        const Route &r = plan.route[at(number)];
        if (!has_room(r, node) ||
            ((model_.rich || model_.relations.present) && !plan.may_join(r, node)))
            continue;
        int low = r.pinned, high = r.size;
        if (model_.relations.ordered)
            plan.order_span(number, node, low, high);
        const int here = plan.position[at(near[i])];
        const double weight = model_.vehicles[at(r.type)].weight;
        const double beside = lengths ? lengths[i] : model_.distance(near[i], node);
        for (const int after : {here - 1, here}) {
            if (after < low || after > high)
                continue;
            // The other end is no nearer, or this place has been tried; only a depot may be.
            const double arc = r.arc[at(after)];
            if (lengths && after > 0 && after < r.size &&
                !(weight * (2.0 * beside - arc) < best.delta))
                continue;
            const Node other = r.node[at(after < here ? after : after + 1)];
            const double extra = beside + model_.distance(node, other) - arc;
            const double delta = weight * extra;
            if (model_.rich || model_.relations.measured) {
                candidates_.clear();
                if (delta < best.delta && plan.fits(r, after, node, extra))
                    candidates_.push_back({delta, extra, after, 0});
                const Place place = best_candidate(number, node, -INFINITE, best.delta);
                if (place.route >= 0 && !(blink > 0.0 && random_.uniform() < blink))
                    best = place;
            } else if (delta < best.delta && plan.fits(r, after, node, extra) &&
                       !(blink > 0.0 && random_.uniform() < blink))
                best = {delta, number, r.type, after, 0};
        }
    }
}

Place Search::best_place(Node head, double blink) {
    Place best;
    if (model_.relations.measured)
        longest_ = plan.measures().longest;
    if (wide_) {
        // Most routes are full: one number says so before anything else is looked at.
        const bool sums = model_.loaded && model_.plain_load && !model_.paired;
        const double amount = sums ? std::abs(model_.demand(head, 0)) : -INFINITE;
        const auto is_dearer = [&](int number, const Route &r) {
            if (number >= known_width_ || options_.check)
                return false;
            const Known &held = known_[at(head) * at(known_width_) + at(number)];
            return held.version == r.version && !(held.delta < best.delta);
        };
        for (const int number : plan.active) {
            const Route &r = plan.route[at(number)];
            if (!(amount > r.spare) && !is_dearer(number, r))
                try_route(number, head, blink, best);
        }
    } else {
        if (model_.has_matrix() || model_.paired)
            try_near_routes(head, blink, best);
        else
            try_near_places(head, blink, best);
        // Vehicles are scarce: look everywhere before a customer is left out.
        if (!best.found())
            try_new_route(head, blink, best);
        if (!best.found())
            for (const int number : plan.active)
                try_route(number, head, blink, best);
    }
    try_new_route(head, blink, best);
    return best;
}

} // namespace spacevrp
