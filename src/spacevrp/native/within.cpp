// The only route of a plan as a tour, and moves within one route that replace two or three arcs.
// Only where an arc is longer than the one that takes its place the rest of a move is looked at, so
// that a descent takes microseconds.
#include "search.hpp"

#include <algorithm>
#include <cmath>

namespace spacevrp {
namespace {

std::size_t at(int i) { return static_cast<std::size_t>(i); }

// Where more routes than one are allowed, the share of the time for the only one that there is.
constexpr double SHARE_OF_TOUR = 0.7;
// How much longer a tour may become by a kick at first, in links.
constexpr double HOT = 0.1;

} // namespace

double Search::share_of_tour() const {
    const bool is_free = !model_.timed && !model_.paired && !model_.backhaul_last && !model_.rich &&
                         model_.plain_load && !model_.has_optional && !model_.relations.present &&
                         model_.relations.plain_objective;
    if (!is_free || plan.active.size() != 1 || !plan.bank.empty() ||
        plan.route[at(plan.active.front())].pinned > 0)
        return 0.0;
    return plan.may_open_any() ? SHARE_OF_TOUR : 1.0;
}

bool Search::begin_tour() {
    const Route &r = plan.route[at(plan.active.front())];
    scratch_.assign(r.node.begin() + 1, r.node.begin() + 1 + r.size);
    tour_.emplace(model_, model_.vehicles[at(r.type)], scratch_);
    if (tour_->is_fixed()) {
        tour_.reset();
        return false;
    }
    tour_->descend();
    return tour_->keep_best();
}

bool Search::kick_tour(double heat) {
    const double slack = -std::log(random_.uniform() + 1e-300) * heat * HOT * tour_->mean_link();
    const bool is_best = tour_->kick(random_, slack);
    if (options_.check)
        tour_->check();
    return is_best;
}

bool Search::take_tour() {
    const int number = plan.active.front();
    scratch_ = tour_->stops();
    plan.assign(number, plan.route[at(number)].type, scratch_.data(),
                static_cast<int>(scratch_.size()));
    set_dirty(number);
    const bool is_better = plan.value().better_than(best_value_);
    if (is_better)
        keep_best();
    return is_better;
}

// u is followed by v: two parts of a route that follow each other change places, and neither is
// turned round. Where the second ends, or the first begins, is the best of all positions.
bool Search::exchange_parts(Node u, Node v, double bound, Proposal &out) {
    const int number = plan.route_of[at(u)];
    const Route &r = plan.route[at(number)];
    const int after = plan.position[at(u)], before = plan.position[at(v)] - 1;
    if (after == before || after < r.pinned || before < r.pinned)
        return false;
    const double weight = model_.vehicles[at(r.type)].weight;
    // Of the three arcs that a good exchange replaces one at least is longer than the new one.
    const double gain = r.arc[at(after)] - model_.distance(u, v);
    if (!(-weight * gain < bound))
        return false;
    const Node *nodes = r.node.data();
    const double *arc = r.arc.data();
    const Node onward = nodes[after + 1], back = nodes[before];
    const double *to = model_.to(onward), *from = model_.from(back);
    double least = INFINITE;
    int third = -1;
    const auto look = [&](int low, int high) {
        for (int p = low; p <= high; ++p) {
            const double there = to != nullptr ? to[nodes[p]] : model_.distance(nodes[p], onward);
            const double on =
                from != nullptr ? from[nodes[p + 1]] : model_.distance(back, nodes[p + 1]);
            if (there + on - arc[p] < least) {
                least = there + on - arc[p];
                third = p;
            }
        }
    };
    if (before > after) {
        look(r.pinned, after - 1);
        look(before + 1, r.size);
    } else {
        look(before + 1, after - 1);
    }
    if (third < 0 || !(weight * (least - gain - arc[before]) < bound))
        return false;
    int cuts[3] = {after, before, third};
    std::sort(cuts, cuts + 3);
    const Piece whole[4] = {{number, 1, cuts[0], false},
                            {number, cuts[1] + 1, cuts[2], false},
                            {number, cuts[0] + 1, cuts[1], false},
                            {number, cuts[2] + 1, r.size, false}};
    out.route[0] = number;
    out.route[1] = -1;
    return weigh(whole, 4, nullptr, 0, bound, out);
}

// The stops from one position to another are visited the other way round.
bool Search::turn_part(int number, int low, int high, double bound, Proposal &out) {
    const Route &r = plan.route[at(number)];
    if (model_.paired || low <= r.pinned || high > r.size || low >= high)
        return false;
    const Piece whole[3] = {
        {number, 1, low - 1, false}, {number, low, high, true}, {number, high + 1, r.size, false}};
    out.route[0] = number;
    out.route[1] = -1;
    return weigh(whole, 3, nullptr, 0, bound, out);
}

// Customers that get another neighbour on a route.
void Search::enqueue_ends(int number, const std::vector<Node> &stops) {
    const Route &r = plan.route[at(number)];
    for (std::size_t i = 0; i <= stops.size(); ++i) {
        const Node last = i > 0 ? stops[i - 1] : r.node[0];
        const Node next = i < stops.size() ? stops[i] : r.node[at(r.size + 1)];
        const int here = i > 0 ? plan.position[at(last)] : 0;
        if (r.node[at(here + 1)] == next || (here > 0 && r.node[at(here - 1)] == next))
            continue;
        if (i > 0)
            enqueue(last);
        if (i < stops.size())
            enqueue(next);
    }
}

// Any such move that brings u next to one of its neighbours.
bool Search::improve_within(Node u) {
    const int number = plan.route_of[at(u)];
    const Route &r = plan.route[at(number)];
    const double bound = -1e-9 * model_.arc_weight * model_.typical_arc;
    const Node *near = model_.near(u);
    const int here = plan.position[at(u)];
    const int count = std::min(options_.granularity, model_.width);
    const double longest = std::max(r.arc[at(here)], r.arc[at(here - 1)]);
    for (int i = 0; i < count && near[i] >= 0; ++i) {
        const Node v = near[i];
        if (plan.route_of[at(v)] != number)
            continue;
        const double there = model_.distance(u, v);
        if (model_.symmetric && !(there < longest))
            return false;
        const int other = plan.position[at(v)];
        const int low = std::min(here, other), high = std::max(here, other);
        bool found =
            exchange_parts(u, v, bound, proposal_) || exchange_parts(v, u, bound, proposal_);
        if (!found && there < r.arc[at(here)])
            found = turn_part(number, low + 1, high, bound, proposal_);
        if (!found && there < r.arc[at(here - 1)])
            found = turn_part(number, low, high - 1, bound, proposal_);
        if (!found)
            continue;
        enqueue_ends(number, proposal_.stops[0]);
        apply(proposal_);
        return true;
    }
    return false;
}

void Search::descend_within() {
    for (const Node head : removed_)
        for (const Node node : {head, model_.partner[at(head)]})
            if (node >= 0)
                enqueue_beside(node);
    for (const Node head : taken_from_bank_)
        for (const Node node : {head, model_.partner[at(head)]})
            if (node >= 0)
                enqueue_beside(node);
    // Those beside a gap.
    for (const Saved &saved : saved_)
        for (int i = 0; i < saved.size; ++i)
            if (gone_[at(arena_[at(saved.first + i)])] == stamp_) {
                if (i > 0)
                    enqueue_beside(arena_[at(saved.first + i - 1)]);
                if (i + 1 < saved.size)
                    enqueue_beside(arena_[at(saved.first + i + 1)]);
            }
    while (!queue_.empty()) {
        const Node u = queue_.back();
        queue_.pop_back();
        queued_[at(u)] = 0;
        while (plan.is_served(u) && improve_within(u)) {
        }
    }
}

} // namespace spacevrp
