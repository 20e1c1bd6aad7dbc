// Where a unit goes if rules look at whole routes: the cheapest places by a bound are tried first.
#include "search.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string>

namespace spacevrp {
namespace {

std::size_t at(int i) { return static_cast<std::size_t>(i); }

// Sums in another order differ by this share at most.
constexpr double ROUNDING = 1e-9;

} // namespace

Place Search::scan_whole(int number, Node node, double floor, double bound) {
    const Route &r = plan.route[at(number)];
    const double weight = model_.vehicles[at(r.type)].weight;
    const double service = model_.service[at(node)];
    candidates_.clear();
    int low = r.pinned, high = r.size;
    if (model_.relations.ordered)
        plan.order_span(number, node, low, high);
    const bool trips = !r.trips.rest.empty();
    const double out = trips ? plan.rules().nearest_depot(r.type, node, false) : 0.0;
    const double back = trips ? plan.rules().nearest_depot(r.type, node, true) : 0.0;
    for (int p = low; p <= high; ++p) {
        const Node last = r.node[at(p)], next = r.node[at(p + 1)];
        const double longer =
            model_.distance(last, node) + model_.distance(node, next) - r.arc[at(p)];
        double least = weight * longer;
        if (trips)
            least =
                weight * plan.rules().least_length(r.type, r.trips, r.node.data(), r.so_far.data(),
                                                   r.size, p, node, out, back) -
                r.cost;
        if (model_.rich && model_.limited_duration) {
            const double busy = r.busy[at(r.size + 1)] + model_.duration(last, node) + service +
                                model_.duration(node, next) - model_.duration(last, next);
            const double extra = plan.least_extra(r.type, busy);
            least += trips ? extra : std::max(extra - r.extra, 0.0);
        }
        const bool checked = trips && options_.check && !model_.limited_duration;
        if ((!checked && !(least < bound)) || !plan.fits(r, p, node, longer))
            continue;
        if (checked)
            check_bound(r, p, node, longer, least);
        if (least < bound)
            candidates_.push_back({least, longer, p, 0});
    }
    return best_candidate(number, node, floor, bound);
}

// The slow twin of the bounds on trips. (That on the time is one only where a depot on the way
// makes no way quicker.)
void Search::check_bound(const Route &r, int after, Node node, double longer, double least) {
    const Node *stops = r.node.data() + 1;
    tried_.assign(stops, stops + after);
    tried_.push_back(node);
    tried_.insert(tried_.end(), stops + after, stops + r.size);
    const RouteValue whole =
        plan.whole_route(r.type, tried_.data(), static_cast<int>(tried_.size()));
    const double delta = model_.vehicles[at(r.type)].weight * longer + (whole.extra - r.extra);
    if (whole.feasible && delta < least - ROUNDING * (std::abs(least) + std::abs(r.cost)))
        throw std::logic_error("expected node " + std::to_string(node) + " to cost at least " +
                               std::to_string(least) + " at place " + std::to_string(after) +
                               ", found " + std::to_string(delta));
}

// The cheapest first: most are never looked at.
Place Search::best_candidate(int number, Node head, double floor, double bound) {
    const Route &r = plan.route[at(number)];
    const double weight = model_.vehicles[at(r.type)].weight;
    const Node *stops = r.node.data() + 1;
    const Node other = model_.partner[at(head)];
    Place best;
    best.delta = bound;
    const auto comes_later = [](const Candidate &a, const Candidate &b) {
        return a.least != b.least   ? a.least > b.least
               : a.first != b.first ? a.first > b.first
                                    : a.second > b.second;
    };
    std::make_heap(candidates_.begin(), candidates_.end(), comes_later);
    for (auto end = candidates_.end(); end != candidates_.begin(); --end) {
        const Candidate one = candidates_.front();
        if (!(one.least < best.delta))
            break;
        std::pop_heap(candidates_.begin(), end, comes_later);
        tried_.assign(stops, stops + one.first);
        tried_.push_back(head);
        if (other >= 0) {
            tried_.insert(tried_.end(), stops + one.first, stops + one.second);
            tried_.push_back(other);
        }
        tried_.insert(tried_.end(), stops + (other < 0 ? one.first : one.second), stops + r.size);
        const int size = static_cast<int>(tried_.size());
        Limit limit;
        if (other < 0 && !r.trips.rest.empty())
            limit = {r.cost + best.delta, r.trips.rest.data(), one.first,
                     plan.rules().shortcut(r.type, r.node[at(one.first)], head,
                                           r.node[at(one.first + 1)])};
        RouteValue whole{true, 0.0};
        if (model_.rich)
            whole = plan.whole_route(r.type, tried_.data(), size, limit);
        if (!whole.feasible) {
            if (options_.check && limit.rest != nullptr)
                check_bound(r, one.first, head, one.longer, best.delta);
            continue;
        }
        double delta = weight * one.longer + (whole.extra - r.extra), counted = 0.0;
        if (model_.relations.measured)
            counted = surcharge(plan.takes(r.type, tried_.data(), size));
        delta += counted;
        if (delta < best.delta && delta > floor)
            best = {delta, number, r.type, one.first, one.second, counted, whole.extra};
    }
    return best;
}

} // namespace spacevrp
