// Local moves over near neighbours. A move says which pieces of which routes follow each other;
// its change of length takes constant time, and only a promising one is checked stop by stop.
#include "search.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string>

namespace spacevrp {
namespace {

std::size_t at(int i) { return static_cast<std::size_t>(i); }

// Customers from which on a route is long: a descent then looks where something changed alone, at
// so many neighbours of each customer that was put in again.
constexpr int LONG = 40, BESIDE = 3;
// Sums in another order differ by this share at most.
constexpr double ROUNDING = 1e-9;

enum Kind {
    RELOCATE,
    RELOCATE_BEFORE,
    RELOCATE_TWO,
    RELOCATE_TWO_REVERSED,
    RELOCATE_THREE,
    SWAP,
    SWAP_TWO,
    TWO_OPT_STAR,
    TWO_OPT,
    OR_THREE_OPT,
};

// Stops that a relocation takes along behind the first.
int followers(int kind) {
    if (kind == RELOCATE || kind == RELOCATE_BEFORE)
        return 0;
    return kind == RELOCATE_THREE ? 2 : 1;
}

// Whether a move between two routes can gain anything, by the arcs that it replaces: most cannot,
// and are not weighed. True where that is not seen at once.
bool may_gain(const Plan &plan, int kind, Node u, Node v) {
    const Model &model = plan.model;
    const int a = plan.route_of[at(u)], b = plan.route_of[at(v)];
    if (a == b || a < 0 || b < 0)
        return true;
    const Route &ra = plan.route[at(a)], &rb = plan.route[at(b)];
    const int pu = plan.position[at(u)], pv = plan.position[at(v)];
    const VehicleType &one = model.vehicles[at(ra.type)], &other = model.vehicles[at(rb.type)];
    const auto replaced = [&](const Route &r, int before, int after, Node first, Node last) {
        double more = model.distance(r.node[at(before)], first) +
                      model.distance(last, r.node[at(after)]) - r.arc[at(before)];
        if (after > before + 1)
            more -= r.arc[at(after - 1)];
        return more;
    };
    switch (kind) {
    case RELOCATE:
    case RELOCATE_BEFORE:
    case RELOCATE_TWO:
    case RELOCATE_TWO_REVERSED:
    case RELOCATE_THREE: {
        const bool turned = kind == RELOCATE_TWO_REVERSED;
        const int last = pu + followers(kind);
        if (last > ra.size)
            return false;
        if (model.plain_load && std::abs(model.demand(u, 0)) > rb.spare)
            return false;
        if ((turned && !model.symmetric) || (last - pu + 1 == ra.size && one.price > 0.0))
            return true;
        const int after = kind == RELOCATE_BEFORE ? pv - 1 : pv;
        const Node first = ra.node[at(turned ? last : pu)], tail = ra.node[at(turned ? pu : last)];
        const double gap = model.distance(ra.node[at(pu - 1)], ra.node[at(last + 1)]) -
                           ra.arc[at(pu - 1)] - ra.arc[at(last)];
        return !(one.weight * gap + other.weight * replaced(rb, after, after + 1, first, tail) >=
                 0.0);
    }
    case SWAP:
    case SWAP_TWO: {
        const int last = kind == SWAP ? pu : pu + 1;
        if (last > ra.size)
            return false;
        return !(one.weight * replaced(ra, pu - 1, last + 1, v, v) +
                     other.weight * replaced(rb, pv - 1, pv + 1, u, ra.node[at(last)]) >=
                 0.0);
    }
    case TWO_OPT_STAR:
    case TWO_OPT: {
        const bool turned = kind == TWO_OPT;
        if (ra.type != rb.type || one.price > 0.0 || one.start != one.end ||
            (turned && !model.symmetric))
            return true;
        const double more =
            turned ? model.distance(ra.node[at(pu + 1)], rb.node[at(pv + 1)]) - rb.arc[at(pv)]
                   : model.distance(rb.node[at(pv - 1)], ra.node[at(pu + 1)]) - rb.arc[at(pv - 1)];
        return !(model.distance(u, v) - ra.arc[at(pu)] + more >= 0.0);
    }
    default:
        return true;
    }
}

} // namespace

const char *Search::move_name(int kind) {
    static const char *names[MOVES] = {
        "relocate", "relocate_before", "or_opt_two",   "or_opt_reversed", "or_opt_three",
        "swap",     "swap_two",        "two_opt_star", "two_opt",         "or_three_opt"};
    return names[kind];
}

// Driving and service from the first stop of a piece to the last, or less.
double Search::busy_between(const Route &source, const Piece &piece) const {
    const double service = model_.service[at(source.node[at(piece.from)])];
    if (piece.reversed && !model_.symmetric_times)
        return service;
    return source.busy[at(piece.to)] - source.busy[at(piece.from)] + service;
}

bool Search::weigh(const Piece *first, int first_count, const Piece *second, int second_count,
                   double bound, Proposal &out) {
    const Piece *pieces[2] = {first, second};
    const int counts[2] = {first_count, second_count};
    double change = 0.0, least[2] = {0.0, 0.0}; // what each route costs then, at least
    for (int side = 0; side < 2; ++side) {
        if (out.route[side] < 0)
            continue;
        const Route &r = plan.route[at(out.route[side])];
        const VehicleType &type = model_.vehicles[at(r.type)];
        Node last = type.start;
        double sum = 0.0, busy = 0.0;
        bool empty = true;
        for (int i = 0; i < counts[side]; ++i) {
            const Piece &piece = pieces[side][i];
            if (piece.from > piece.to)
                continue;
            empty = false;
            const Route &source = plan.route[at(piece.route)];
            const Node head = source.node[at(piece.reversed ? piece.to : piece.from)];
            const Node tail = source.node[at(piece.reversed ? piece.from : piece.to)];
            sum += model_.distance(last, head);
            if (piece.reversed && !model_.symmetric)
                sum += source.reversed[at(piece.to)] - source.reversed[at(piece.from)];
            else
                sum += source.so_far[at(piece.to)] - source.so_far[at(piece.from)];
            if (model_.rich && model_.limited_duration)
                busy += model_.duration(last, head) + busy_between(source, piece);
            last = tail;
        }
        if (empty) {
            change -= model_.maximise_prize ? 0.0 : type.price;
            sum = 0.0;
        } else {
            sum += model_.distance(last, type.end);
        }
        if (model_.rich) {
            least[side] = type.weight * sum +
                          (empty || !model_.limited_duration
                               ? 0.0
                               : plan.least_extra(r.type, busy + model_.duration(last, type.end)));
            change += least[side] - r.cost;
        } else
            change += type.weight * (sum - r.length);
    }
    if (!(change < bound))
        return false;
    // Differences of sums lose small arcs next to huge ones, and moves might go round in a circle:
    // what the routes cost before and after decides.
    double before = 0.0, after = 0.0, spare = bound - change;
    for (int side = 0; side < 2; ++side) {
        if (out.route[side] < 0)
            continue;
        std::vector<Node> &stops = out.stops[side];
        stops.clear();
        for (int i = 0; i < counts[side]; ++i) {
            const Piece &piece = pieces[side][i];
            const std::vector<Node> &nodes = plan.route[at(piece.route)].node;
            if (piece.reversed)
                for (int p = piece.to; p >= piece.from; --p)
                    stops.push_back(nodes[at(p)]);
            else
                for (int p = piece.from; p <= piece.to; ++p)
                    stops.push_back(nodes[at(p)]);
        }
        const Route &r = plan.route[at(out.route[side])];
        const VehicleType &type = model_.vehicles[at(r.type)];
        const double fixed = model_.maximise_prize ? 0.0 : type.price;
        before += r.cost + fixed;
        if (stops.empty())
            continue;
        const double cost = plan.checked_cost(r.type, stops.data(), static_cast<int>(stops.size()),
                                              model_.rich ? least[side] + spare : INFINITE);
        if (cost == INFINITE)
            return false;
        spare -= cost - least[side];
        after += cost + fixed;
    }
    if (!(after - before < bound))
        return false;
    if (!model_.relations.together.empty() && out.route[1] >= 0 &&
        !plan.keeps_together(out.stops[0], out.stops[1]))
        return false;
    if (model_.relations.measured && !keeps_measures(out))
        return false;
    out.delta = after - before;
    return true;
}

// Whether the longest route gets no longer and, where that counts, the shortest no shorter.
bool Search::keeps_measures(const Proposal &out) const {
    double before = 0.0, after = 0.0, shortest = INFINITE, then = INFINITE;
    for (int side = 0; side < 2; ++side) {
        if (out.route[side] < 0)
            continue;
        const Route &r = plan.route[at(out.route[side])];
        const std::vector<Node> &stops = out.stops[side];
        before = std::max(before, r.takes);
        shortest = std::min(shortest, r.takes);
        const double takes = plan.takes(r.type, stops.data(), static_cast<int>(stops.size()));
        after = std::max(after, takes);
        then = std::min(then, takes);
    }
    return after <= before && (model_.relations.balance_price <= 0.0 || then >= shortest);
}

bool Search::propose(int kind, Node u, Node v, double bound, Proposal &out) {
    const int a = plan.route_of[at(u)], b = plan.route_of[at(v)];
    if (a < 0 || b < 0 || u == v)
        return false;
    const Route &ra = plan.route[at(a)], &rb = plan.route[at(b)];
    const int pu = plan.position[at(u)], pv = plan.position[at(v)];
    const Node other = model_.partner[at(u)];
    if (a != b && other >= 0 && kind < TWO_OPT_STAR) {
        // The two stops of a pair go together, if they follow each other closely.
        const int apart = plan.position[at(other)] - pu;
        if (kind < RELOCATE_TWO || kind > RELOCATE_THREE || apart < 1 || apart > 2)
            return false;
    }
    out.route[0] = a;
    out.route[1] = a == b ? -1 : b;
    switch (kind) {
    case RELOCATE:
    case RELOCATE_BEFORE:
    case RELOCATE_TWO:
    case RELOCATE_TWO_REVERSED:
    case RELOCATE_THREE: {
        const int last = pu + followers(kind);
        const int after = kind == RELOCATE_BEFORE ? pv - 1 : pv;
        if (pu <= ra.pinned || last > ra.size || after < rb.pinned)
            return false;
        const Piece moved{a, pu, last, kind == RELOCATE_TWO_REVERSED};
        if (a != b) {
            const Piece left[2] = {{a, 1, pu - 1, false}, {a, last + 1, ra.size, false}};
            const Piece right[3] = {{b, 1, after, false}, moved, {b, after + 1, rb.size, false}};
            return weigh(left, 2, right, 3, bound, out);
        }
        if (after >= pu - 1 && after <= last) {
            if (after != pu - 1 || kind != RELOCATE_TWO_REVERSED)
                return false;
        }
        if (after < pu) {
            const Piece whole[4] = {{a, 1, after, false},
                                    moved,
                                    {a, after + 1, pu - 1, false},
                                    {a, last + 1, ra.size, false}};
            return weigh(whole, 4, nullptr, 0, bound, out);
        }
        const Piece whole[4] = {{a, 1, pu - 1, false},
                                {a, last + 1, after, false},
                                moved,
                                {a, after + 1, ra.size, false}};
        return weigh(whole, 4, nullptr, 0, bound, out);
    }
    case SWAP:
    case SWAP_TWO: {
        const int last = kind == SWAP ? pu : pu + 1;
        if (pu <= ra.pinned || pv <= rb.pinned || last > ra.size)
            return false;
        if (a != b) {
            const Piece left[3] = {
                {a, 1, pu - 1, false}, {b, pv, pv, false}, {a, last + 1, ra.size, false}};
            const Piece right[3] = {
                {b, 1, pv - 1, false}, {a, pu, last, false}, {b, pv + 1, rb.size, false}};
            return weigh(left, 3, right, 3, bound, out);
        }
        if (pv >= pu && pv <= last)
            return false;
        if (pv > last) {
            const Piece whole[5] = {{a, 1, pu - 1, false},
                                    {a, pv, pv, false},
                                    {a, last + 1, pv - 1, false},
                                    {a, pu, last, false},
                                    {a, pv + 1, ra.size, false}};
            return weigh(whole, 5, nullptr, 0, bound, out);
        }
        const Piece whole[5] = {{a, 1, pv - 1, false},
                                {a, pu, last, false},
                                {a, pv + 1, pu - 1, false},
                                {a, pv, pv, false},
                                {a, last + 1, ra.size, false}};
        return weigh(whole, 5, nullptr, 0, bound, out);
    }
    case TWO_OPT_STAR: {
        // u is followed by v: the ends of two routes change places.
        if (a == b || pu < ra.pinned || pv - 1 < rb.pinned)
            return false;
        const Piece left[2] = {{a, 1, pu, false}, {b, pv, rb.size, false}};
        const Piece right[2] = {{b, 1, pv - 1, false}, {a, pu + 1, ra.size, false}};
        return weigh(left, 2, right, 2, bound, out);
    }
    case TWO_OPT: {
        if (model_.paired || pu < ra.pinned || pv < rb.pinned)
            return false;
        if (a == b) {
            // u is followed by v, and what lay between them is travelled the other way round.
            if (pv <= pu + 1)
                return false;
            const Piece whole[3] = {
                {a, 1, pu, false}, {a, pu + 1, pv, true}, {a, pv + 1, ra.size, false}};
            return weigh(whole, 3, nullptr, 0, bound, out);
        }
        if (ra.pinned > 0 || rb.pinned > 0)
            return false;
        const Piece left[2] = {{a, 1, pu, false}, {b, 1, pv, true}};
        const Piece right[2] = {{a, pu + 1, ra.size, true}, {b, pv + 1, rb.size, false}};
        return weigh(left, 2, right, 2, bound, out);
    }
    case OR_THREE_OPT:
        return a == b && exchange_parts(u, v, bound, out);
    default:
        return false;
    }
}

void Search::apply(const Proposal &proposal) {
    // The route that gets shorter may end; both are emptied first, so that no vehicle lacks.
    for (const int number : proposal.route)
        if (number >= 0)
            touch(number);
    for (int side = 0; side < 2; ++side)
        if (proposal.route[side] >= 0) {
            const std::vector<Node> &stops = proposal.stops[side];
            plan.assign(proposal.route[side], plan.route[at(proposal.route[side])].type,
                        stops.data(), static_cast<int>(stops.size()));
        }
}

void Search::enqueue_route(int number) {
    const Route &r = plan.route[at(number)];
    if (r.slot < 0)
        return;
    for (int p = 1; p <= r.size; ++p)
        enqueue(r.node[at(p)]);
}

void Search::enqueue(Node node) {
    if (!queued_[at(node)]) {
        queued_[at(node)] = 1;
        queue_.push_back(node);
    }
}

void Search::enqueue_beside(Node node) {
    const int number = plan.route_of[at(node)];
    if (number < 0)
        return;
    const Route &r = plan.route[at(number)];
    const int here = plan.position[at(node)];
    for (int p = std::max(here - 1, 1); p <= std::min(here + 1, r.size); ++p)
        enqueue(r.node[at(p)]);
}

// Of short routes that the iteration changed all customers, of long ones those near the change.
void Search::enqueue_changed() {
    for (const Saved &saved : saved_)
        if (plan.route[at(saved.route)].size <= LONG)
            enqueue_route(saved.route);
    for (const Node head : removed_)
        for (const Node node : {head, model_.partner[at(head)]})
            if (node >= 0) {
                enqueue_beside(node);
                const Node *near = model_.near(node);
                for (int i = 0; i < BESIDE && i < model_.width && near[i] >= 0; ++i)
                    enqueue_beside(near[i]);
            }
}

bool Search::improve(Node u) {
    const Node *near = model_.near(u);
    const int count = std::min(options_.granularity, model_.width);
    const double bound = -1e-9 * model_.arc_weight * model_.typical_arc;
    // The last kind gains nothing in short routes, nor where turning parts round does as well.
    const bool tour = !model_.symmetric && plan.active.size() == 1;
    const int kinds = tour ? MOVES : OR_THREE_OPT;
    // Few moves keep pairs together: that is seen sooner than what they gain.
    const bool looks = !model_.rich && !model_.paired;
    for (int i = 0; i < count && near[i] >= 0; ++i)
        for (int kind = 0; kind < kinds; ++kind) {
            const bool hopeless = looks && !may_gain(plan, kind, u, near[i]);
            if (hopeless && !options_.check)
                continue;
            if (!propose(kind, u, near[i], bound, proposal_))
                continue;
            if (hopeless) {
                if (proposal_.delta < -ROUNDING * plan.travel)
                    throw std::logic_error(std::string("expected no gain by ") + move_name(kind) +
                                           ", found one");
                continue;
            }
            enqueue_beside(u); // what lies beside them before and after
            enqueue_beside(near[i]);
            apply(proposal_);
            for (const int number : proposal_.route)
                if (number >= 0 && plan.route[at(number)].size <= LONG)
                    enqueue_route(number);
            enqueue_beside(u);
            enqueue_beside(near[i]);
            return true;
        }
    return false;
}

void Search::descend() {
    ++descents_;
    while (!queue_.empty()) {
        const Node u = queue_.back();
        queue_.pop_back();
        queued_[at(u)] = 0;
        if (plan.is_served(u))
            while (plan.is_served(u) && improve(u)) {
            }
    }
}

void Search::descend_all() {
    ++stamp_;
    forget_saved();
    const std::vector<int> numbers = plan.active;
    for (const int number : numbers)
        enqueue_route(number);
    descend();
    for (const Saved &saved : saved_)
        set_dirty(saved.route);
}

} // namespace spacevrp
