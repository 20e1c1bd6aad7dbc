// Where a pair goes if nothing but one kind of load limits it: `scan_pair` without what else might.
#include "search.hpp"

#include <algorithm>

namespace spacevrp {
namespace {

std::size_t at(int i) { return static_cast<std::size_t>(i); }

} // namespace

bool Search::has_plain_pairs() const {
    return model_.has_matrix() && model_.loaded && model_.kinds() == 1 && !model_.timed &&
           !model_.rich && !model_.limited_length && !model_.limited_duration &&
           !model_.relations.measured && !model_.relations.ordered && !model_.relations.lifo;
}

Place Search::scan_plain_pair(int number, Node pickup, double floor, double bound) {
    const Route &r = plan.route[at(number)];
    const Node delivery = model_.partner[at(pickup)];
    const VehicleType &type = model_.vehicles[at(r.type)];
    const double weight = type.weight, capacity = type.capacity[0];
    const int low = r.pinned, high = r.size;
    const Node *nodes = r.node.data();
    const double *arc = r.arc.data(), *handed = r.handed.data();
    const double amount = model_.demand(pickup, 0);
    const double loaded = model_.load_rule == LoadRule::mixed ? r.deliveries[0] : 0.0;
    delivery_delta_.resize(at(high + 2));
    delivery_least_.resize(at(high + 2));
    double *extra_of = delivery_delta_.data(), *least = delivery_least_.data();
    const double *to = model_.to(delivery), *from = model_.from(delivery);
    double onward = from[nodes[high + 1]], lowest = INFINITE;
    least[high + 1] = lowest;
    for (int p = high; p >= low; --p) {
        const double extra = to[nodes[p]] + onward - arc[p];
        onward = from[nodes[p]];
        extra_of[p] = extra;
        least[p] = lowest = std::min(extra, lowest);
    }
    // Whether there is room behind a position with the pickup on board.
    const auto fits = [=](int p) { return loaded - handed[p] - amount <= capacity; };
    Place best;
    best.delta = bound;
    const double *from_pickup = model_.from(pickup), *to_pickup = model_.to(pickup);
    const double direct = from_pickup[delivery];
    for (int i = low; i <= high; ++i) {
        if (!fits(i))
            continue;
        const Node next = nodes[i + 1];
        const double there = to_pickup[nodes[i]];
        const double extra = there + from_pickup[next] - arc[i];
        const double together = weight * (there + direct + from[next] - arc[i]);
        if (together < best.delta && together > floor)
            best = {together, number, r.type, i, i};
        // A delivery farther on, as long as some place there could be better.
        for (int j = i + 1; j <= high && weight * (extra + least[j]) < best.delta && fits(j); ++j) {
            const double delta = weight * (extra + extra_of[j]);
            if (delta < best.delta && delta > floor)
                best = {delta, number, r.type, i, j};
        }
    }
    return best;
}

} // namespace spacevrp
