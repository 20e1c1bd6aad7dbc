// Plans from nothing: savings (Clarke and Wright 1964), cheapest insertion and insertion by regret.
#include "search.hpp"

#include <algorithm>
#include <numeric>

namespace spacevrp {
namespace {

std::size_t at(int i) { return static_cast<std::size_t>(i); }

// Neighbours of each customer that savings look at.
constexpr int SAVINGS_WIDTH = 40;
// Stops of a route up to which each is asked whether it pays: that takes their square.
constexpr int ASKED = 2000;
// So many times what it is worth a visit may cost where all are to be served.
constexpr double ALL = 1e9;

} // namespace

// From nothing but these routes once more.
void Search::load_again(const Routes &start) {
    for (const int number : std::vector<int>(plan.active)) {
        const Route &r = plan.route[at(number)];
        set_dirty(number);
        for (int p = 1; p <= r.size; ++p)
            if (model_.is_head(r.node[at(p)]))
                plan.to_bank(r.node[at(p)]);
        plan.assign(number, r.type, nullptr, 0);
    }
    for (std::size_t i = 0; i < start.stops.size(); ++i) {
        const int number = plan.empty_route();
        plan.assign(number, start.types[i], start.stops[i].data(),
                    static_cast<int>(start.stops[i].size()));
        for (const Node node : start.stops[i])
            if (model_.is_head(node))
                plan.from_bank(node);
        set_dirty(number);
    }
}

// Optional units leave routes where they do not pay, then whole routes are given up.
void Search::drop_what_does_not_pay() {
    for (const int number : std::vector<int>(plan.active)) {
        const Route &r = plan.route[at(number)];
        if (r.size > ASKED || r.pinned > 0)
            continue;
        set_dirty(number);
        for (int p = 1; r.slot >= 0 && p <= r.size; ++p)
            if (model_.is_head(r.node[at(p)]) && leaves(r.node[at(p)]))
                p = 0; // without it others may no longer pay, also those before it
        double worth = 0.0, prize = 0.0;
        bool is_optional = r.slot >= 0;
        for (int p = 1; is_optional && p <= r.size; ++p) {
            const Node head = model_.head(r.node[at(p)]);
            is_optional = is_optional_unit(head);
            worth += r.node[at(p)] == head ? model_.skip[at(head)] : 0.0;
            prize += r.node[at(p)] == head ? model_.unit_prize[at(head)] : 0.0;
        }
        if (!is_optional || !(r.cost + model_.vehicles[at(r.type)].price > worth) ||
            (model_.min_prize > 0.0 && plan.collected - prize < model_.min_prize))
            continue;
        for (int p = 1; p <= r.size; ++p)
            if (model_.is_head(r.node[at(p)]))
                plan.to_bank(r.node[at(p)]);
        plan.assign(number, r.type, nullptr, 0);
    }
}

void Search::insert_bank() {
    ++stamp_;
    forget_saved();
    removed_.clear();
    taken_from_bank_.clear();
    for (const Node head : plan.bank)
        if (!plan.is_fixed[at(head)]) {
            removed_.push_back(head);
            gone_[at(head)] = stamp_;
        }
    std::sort(removed_.begin(), removed_.end());
    order_units();
    recreate(0.0, INFINITE);
    for (const Saved &saved : saved_)
        set_dirty(saved.route);
}

// Where serving is a choice, insertion opens no route that one customer alone does not pay for.
// So all are served once, and those who do not pay leave again.
void Search::construct_by_insertion(int tries) {
    const Routes start = plan.routes();
    const int further = model_.serving_is_a_choice() ? 1 : 0;
    for (int attempt = 0; attempt < tries + further; ++attempt) {
        if (attempt > 0)
            load_again(start);
        eagerness_ = attempt < tries ? 1.0 : ALL;
        insert_bank();
        if (attempt >= tries)
            drop_what_does_not_pay();
        keep_best_if_better();
    }
    eagerness_ = 1.0;
    restore_best();
}

// What a unit in the bank would lose: places that it lacks, then what its next places cost more
// than the best, then what that costs.
struct Search::Regret {
    int lacking = 0;
    double loss = 0.0;
    Place place;

    bool more_than(const Regret &other) const {
        if (lacking != other.lacking)
            return lacking > other.lacking;
        return loss != other.loss ? loss > other.loss : place.delta > other.place.delta;
    }
};

bool Search::regret_of(Node head, int depth, Regret &out) {
    out = Regret{};
    if (model_.relations.measured)
        longest_ = plan.measures().longest;
    least_.clear();
    const auto offer = [&](const Place &place) {
        if (!place.found())
            return;
        if (place.delta < out.place.delta)
            out.place = place;
        least_.insert(std::upper_bound(least_.begin(), least_.end(), place.delta), place.delta);
        if (static_cast<int>(least_.size()) > depth)
            least_.pop_back();
    };
    for (const int number : plan.active) {
        Place place;
        try_route(number, head, 0.0, place);
        offer(place);
    }
    Place place;
    try_new_route(head, 0.0, place);
    offer(place);
    if (!out.place.found() || better_elsewhere(head, out.place.delta))
        return false;
    out.lacking = depth - static_cast<int>(least_.size());
    for (const double delta : least_)
        out.loss += delta - least_.front();
    return true;
}

void Search::construct_by_regret(int depth) {
    std::vector<Node> waiting;
    for (const Node head : plan.bank)
        if (!plan.is_fixed[at(head)])
            waiting.push_back(head);
    std::sort(waiting.begin(), waiting.end());
    while (!waiting.empty()) {
        Regret most, here;
        std::size_t chosen = waiting.size();
        for (std::size_t i = 0; i < waiting.size(); ++i)
            if (regret_of(waiting[i], depth, here) &&
                (chosen == waiting.size() || here.more_than(most))) {
                most = here;
                chosen = i;
            }
        if (chosen == waiting.size())
            break; // no place for any of them
        set_dirty(plan.insert(waiting[chosen], most.place));
        plan.from_bank(waiting[chosen]);
        waiting.erase(waiting.begin() + static_cast<std::ptrdiff_t>(chosen));
    }
    keep_best_if_better();
    restore_best();
}

void Search::construct_by_savings() {
    // Chains know nothing of each other.
    if (!model_.relations.groups.empty() || !model_.relations.together.empty()) {
        construct_by_insertion(1);
        return;
    }
    ++stamp_;
    forget_saved();
    // Each unit in a route of its own, by the vehicle that serves it best; vehicles that there are
    // not are taken back at the end.
    const std::vector<Node> units = plan.bank;
    struct Chain {
        std::vector<Node> stops;
        int type = -1;
        double cost = 0.0;
    };
    std::vector<Chain> chains;
    std::vector<int> chain_of(at(model_.size()), -1);
    for (const Node head : units) {
        if (plan.is_fixed[at(head)])
            continue;
        Chain chain;
        double least = INFINITE;
        for (int type = 0; type < model_.types(); ++type) {
            if (!plan.may_open(type))
                continue;
            const VehicleType &vehicle = model_.vehicles[at(type)];
            const double cost = (model_.rich ? plan.cost_alone(type, head)
                                             : vehicle.unit_cost * model_.alone(type, head)) +
                                vehicle.price;
            if (cost < least) {
                least = chain.cost = cost;
                chain.type = type;
            }
        }
        if (chain.type < 0)
            continue;
        chain.stops.push_back(head);
        if (model_.partner[at(head)] >= 0)
            chain.stops.push_back(model_.partner[at(head)]);
        for (const Node node : chain.stops)
            chain_of[at(node)] = static_cast<int>(chains.size());
        chains.push_back(std::move(chain));
    }
    struct Saving {
        double gain;
        Node from, to;
    };
    std::vector<Saving> savings;
    const int count = std::min(model_.width, SAVINGS_WIDTH);
    for (const Node node : model_.customers) {
        if (chain_of[at(node)] < 0)
            continue;
        const Node *near = model_.near(node);
        const VehicleType &type = model_.vehicles[at(chains[at(chain_of[at(node)])].type)];
        for (int i = 0; i < count && near[i] >= 0; ++i) {
            const Node other = near[i];
            if (chain_of[at(other)] < 0)
                continue;
            const VehicleType &second = model_.vehicles[at(chains[at(chain_of[at(other)])].type)];
            double gain = type.unit_cost * model_.distance(node, type.end) +
                          second.unit_cost * model_.distance(second.start, other) -
                          type.unit_cost * model_.distance(node, other) + second.price;
            if (model_.rich && model_.timed) {
                const double price =
                    model_.rules.types[at(chains[at(chain_of[at(node)])].type)].duration_cost;
                gain +=
                    price * (model_.duration(node, type.end) +
                             model_.duration(second.start, other) - model_.duration(node, other));
            }
            if (gain > 0.0)
                savings.push_back({gain, node, other});
        }
    }
    std::stable_sort(savings.begin(), savings.end(),
                     [](const Saving &a, const Saving &b) { return a.gain > b.gain; });
    const bool may_reverse =
        model_.symmetric && !model_.timed && !model_.paired && !model_.relations.ordered;
    std::vector<Node> joined;
    for (const Saving &saving : savings) {
        const int first = chain_of[at(saving.from)], second = chain_of[at(saving.to)];
        if (first == second)
            continue;
        Chain &a = chains[at(first)], &b = chains[at(second)];
        if (may_reverse) {
            if (a.stops.front() == saving.from && a.stops.size() > 1)
                std::reverse(a.stops.begin(), a.stops.end());
            if (b.stops.back() == saving.to && b.stops.size() > 1)
                std::reverse(b.stops.begin(), b.stops.end());
        }
        if (a.stops.back() != saving.from || b.stops.front() != saving.to)
            continue;
        joined = a.stops;
        joined.insert(joined.end(), b.stops.begin(), b.stops.end());
        double least = INFINITE;
        int type = -1;
        const auto try_type = [&](int candidate) {
            const int size = static_cast<int>(joined.size());
            const VehicleType &vehicle = model_.vehicles[at(candidate)];
            const double cost =
                (model_.rich
                     ? plan.checked_cost(candidate, joined.data(), size)
                     : vehicle.unit_cost * plan.checked_length(candidate, joined.data(), size)) +
                vehicle.price;
            if (cost < least) {
                least = cost;
                type = candidate;
            }
        };
        try_type(a.type);
        if (b.type != a.type)
            try_type(b.type);
        if (type < 0) // a vehicle with more room may drive both
            for (const int other : alike_[at(a.type)])
                if (plan.may_open(other))
                    try_type(other);
        if (type < 0 || !(least < a.cost + b.cost))
            continue;
        for (const Node node : b.stops)
            chain_of[at(node)] = first;
        a.stops.swap(joined);
        a.type = type;
        a.cost = least;
        b.stops.clear();
    }
    // The longest routes get the vehicles there are.
    std::vector<int> order(chains.size());
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](int a, int b) {
        return chains[at(a)].stops.size() > chains[at(b)].stops.size();
    });
    for (const int i : order) {
        const Chain &chain = chains[at(i)];
        if (chain.stops.empty() || !plan.may_open(chain.type))
            continue;
        if (plan.checked_cost(chain.type, chain.stops.data(),
                              static_cast<int>(chain.stops.size())) == INFINITE)
            continue; // turned round, the other way is no longer allowed
        const int number = plan.empty_route();
        plan.assign(number, chain.type, chain.stops.data(), static_cast<int>(chain.stops.size()));
        for (const Node node : chain.stops)
            if (model_.is_head(node))
                plan.from_bank(node);
        set_dirty(number);
    }
    keep_best_if_better();
    if (!plan.bank.empty())
        construct_by_insertion(1);
    else
        restore_best();
}

} // namespace spacevrp
