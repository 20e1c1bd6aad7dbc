// Where a pair goes in a route: a place for the pickup and one for the delivery.
#include "search.hpp"

#include <algorithm>
#include <cstdint>

namespace spacevrp {
namespace {

std::size_t at(int i) { return static_cast<std::size_t>(i); }

} // namespace

Place Search::scan_pair(int number, Node pickup, double floor, double bound) {
    if (has_plain_pairs())
        return scan_plain_pair(number, pickup, floor, bound);
    const Route &r = plan.route[at(number)];
    candidates_.clear();
    const Node delivery = model_.partner[at(pickup)];
    Place best;
    best.delta = bound;
    const VehicleType &type = model_.vehicles[at(r.type)];
    const int m = r.size, kinds = model_.kinds();
    delivery_delta_.resize(at(m + 2));
    delivery_least_.resize(at(m + 2));
    delivery_least_[at(m + 1)] = INFINITE;
    for (int p = m; p >= r.pinned; --p) {
        const double extra = model_.distance(r.node[at(p)], delivery) +
                             model_.distance(delivery, r.node[at(p + 1)]) - r.arc[at(p)];
        delivery_delta_[at(p)] = extra;
        delivery_least_[at(p)] = std::min(extra, delivery_least_[at(p + 1)]);
    }
    const double direct = model_.distance(pickup, delivery);
    int low = r.pinned, high = m, low_delivery = r.pinned, high_delivery = m;
    if (model_.relations.ordered) {
        plan.order_span(number, pickup, low, high);
        plan.order_span(number, delivery, low_delivery, high_delivery);
    }
    const bool by_whole = model_.rich || model_.relations.measured;
    const bool mixed = model_.load_rule == LoadRule::mixed, lifo = model_.relations.lifo;
    std::int64_t looked = 0;
    for (int i = low; i <= high; ++i) {
        const Node last = r.node[at(i)], next = r.node[at(i + 1)];
        const double there = model_.distance(last, pickup);
        const double extra = there + model_.distance(pickup, next) - r.arc[at(i)];
        const double together = there + direct + model_.distance(delivery, next) - r.arc[at(i)];
        if (!(type.weight * std::min(extra + delivery_least_[at(i + 1)], together) < best.delta))
            continue;
        // Load on board after the pickup, and the clock there.
        bool fits = true;
        if (model_.loaded)
            for (int kind = 0; kind < kinds && fits; ++kind)
                fits = (mixed ? r.deliveries[at(kind)] : 0.0) - r.handed[at(i * kinds + kind)] -
                           model_.demand(pickup, kind) <=
                       type.capacity[at(kind)];
        if (!fits)
            continue;
        double clock = 0.0;
        if (model_.timed) {
            if (r.leave[at(i)] > model_.closing[at(pickup)])
                break;
            clock = r.leave[at(i)] + model_.duration(last, pickup);
            if (!(clock <= model_.closing[at(pickup)]))
                continue;
            clock = std::max(clock, model_.opening[at(pickup)]) + model_.service[at(pickup)];
        }
        Node before = pickup;
        int inside = 0; // pairs begun since, with lifo
        for (int j = i; j <= high_delivery; ++j) {
            ++looked;
            if (j > i) {
                if (!(type.weight * (extra + delivery_least_[at(j)]) < best.delta))
                    break;
                // On with the pickup on board to the next stop of the route.
                const Node stop = r.node[at(j)];
                if (lifo) {
                    if (model_.partner[at(stop)] >= 0)
                        inside += model_.is_pickup[at(stop)] ? 1 : -1;
                    if (inside < 0 || model_.relations.below[at(stop)])
                        break; // it would lie under what was loaded since
                }
                if (model_.loaded)
                    for (int kind = 0; kind < kinds && fits; ++kind)
                        fits = (mixed ? r.deliveries[at(kind)] : 0.0) -
                                   r.handed[at(j * kinds + kind)] - model_.demand(pickup, kind) <=
                               type.capacity[at(kind)];
                if (!fits)
                    break;
                if (model_.timed) {
                    clock += model_.duration(before, stop);
                    if (!(clock <= r.late[at(j)]))
                        break;
                    clock = std::max(clock, model_.opening[at(stop)]) + model_.service[at(stop)];
                }
                before = stop;
            }
            if (inside != 0 || j < low_delivery)
                continue;
            const double more = j == i ? together : extra + delivery_delta_[at(j)];
            const double delta = type.weight * more;
            if (!(delta < best.delta) || (!by_whole && !(delta > floor)))
                continue;
            if (model_.limited_length && !(r.length + more <= type.max_length))
                continue;
            if (model_.timed) {
                double then = clock + model_.duration(before, delivery);
                if (!(then <= model_.closing[at(delivery)]))
                    continue;
                then = std::max(then, model_.opening[at(delivery)]) + model_.service[at(delivery)];
                if (!(then + model_.duration(delivery, r.node[at(j + 1)]) <= r.late[at(j + 1)]))
                    continue;
            }
            if (model_.limited_duration && !plan.fits_duration(r, i, j, pickup))
                continue;
            if (by_whole)
                candidates_.push_back({delta, more, i, j});
            else
                best = {delta, number, r.type, i, j};
        }
    }
    if (!by_whole)
        return best;
    plan.rules().steps += looked;
    return best_candidate(number, pickup, floor, bound);
}

} // namespace spacevrp
