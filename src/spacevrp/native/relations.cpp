// Relations between customers: what the model makes of them, and what they allow in a plan.
#include "plan.hpp"
#include "validation.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace spacevrp {
namespace {

std::size_t at(int i) { return static_cast<std::size_t>(i); }

// What comes before the cost in an objective counts so many times as much in the search.
constexpr double MUCH = 20.0;
// What comes after it breaks ties.
constexpr double LITTLE = 1e-6;

} // namespace

// ---------------------------------------------------------------------------------------- the
// model

void Model::read_relations(RelationInput &&input) {
    const auto n = at(size_), d = at(kinds_);
    const auto check_customers = [&](const std::string &field, const std::vector<Node> &nodes) {
        for (const Node node : nodes)
            if (node < 0 || node >= size_ || !is_customer[at(node)])
                refuse(field, "customers", std::to_string(node));
    };
    Relations &kept = relations;
    kept.lifo = input.lifo;
    if (load_rule == LoadRule::mixed) {
        check_length("delivered", input.delivered.size(), n * d);
        check_values("delivered", input.delivered, Range::not_negative);
        for (std::size_t i = 0; i < n * d; ++i)
            deliveries[i] = input.delivered[i];
        for (const Node node : customers) // a linehaul, whatever it hands over
            for (int kind = 0; kind < kinds_; ++kind)
                if (delivered(node, kind) > 0.0) {
                    if (partner[at(node)] >= 0)
                        refuse("delivered", "0 for customers of pairs",
                               "more for " + std::to_string(node));
                    sign[at(node)] = 1;
                }
    }
    if (kept.lifo) {
        kept.below.assign(n + 1, 0);
        for (const Node node : customers)
            for (int kind = 0; kind < kinds_; ++kind)
                if (partner[at(node)] < 0 && delivered(node, kind) > 0.0)
                    kept.below[at(node)] = 1;
    }
    if (!input.max_ride.empty()) {
        check_length("max_ride", input.max_ride.size(), n);
        check_values("max_ride", input.max_ride, Range::not_negative_or_infinite);
        kept.max_ride = std::move(input.max_ride);
        kept.max_ride.push_back(INFINITE);
        kept.rides = timed = true;
    }
    std::vector<Node> parent(n);
    std::iota(parent.begin(), parent.end(), 0);
    const auto root = [&](Node node) {
        while (parent[at(node)] != node)
            node = parent[at(node)] = parent[at(parent[at(node)])];
        return node;
    };
    const auto join = [&](const std::vector<Node> &nodes) {
        for (const Node node : nodes)
            parent[at(root(node))] = root(nodes.front());
    };
    if (!input.groups.empty())
        kept.group_of.assign(n, -1);
    for (const Group &group : input.groups) {
        check_customers("groups", group.nodes);
        if (group.nodes.empty())
            refuse("groups", "at least one customer", "none");
        for (const Node node : group.nodes) {
            if (kept.group_of[at(node)] >= 0)
                refuse("groups", "one group a customer", std::to_string(node) + " in several");
            if (partner[at(node)] >= 0)
                refuse("groups", "customers without a partner", std::to_string(node));
            kept.group_of[at(node)] = static_cast<int>(&group - input.groups.data());
        }
        join(group.nodes);
    }
    kept.groups = std::move(input.groups);
    const auto pair_up = [&](const std::string &field, const std::vector<std::vector<Node>> &sets,
                             std::vector<std::vector<Node>> &mates) {
        if (!sets.empty())
            mates.resize(n);
        for (const std::vector<Node> &nodes : sets) {
            check_customers(field, nodes);
            for (const Node a : nodes)
                for (const Node b : nodes)
                    if (a != b)
                        mates[at(a)].push_back(b);
        }
        for (std::vector<Node> &list : mates) {
            std::sort(list.begin(), list.end());
            list.erase(std::unique(list.begin(), list.end()), list.end());
        }
    };
    pair_up("same_route", input.same_route, kept.together);
    pair_up("different_routes", input.different_routes, kept.apart);
    for (const std::vector<Node> &nodes : input.same_route)
        if (!nodes.empty())
            join(nodes);
    if (!input.order.empty()) {
        kept.earlier.resize(n);
        kept.later.resize(n);
        kept.ordered = true;
    }
    for (const auto &[first, second] : input.order) {
        check_customers("order", {first, second});
        kept.earlier[at(second)].push_back(first);
        kept.later[at(first)].push_back(second);
    }
    kept.present =
        !kept.groups.empty() || !kept.together.empty() || !kept.apart.empty() || kept.ordered;
    if (!kept.groups.empty() || !kept.together.empty()) {
        std::vector<int> members(n, 0);
        kept.cluster.assign(n, -1);
        for (const Node node : customers)
            ++members[at(root(node))];
        for (const Node node : customers)
            if (members[at(root(node))] > 1)
                kept.cluster[at(node)] = root(node);
    }
    if (!input.priority.empty()) {
        check_length("priority", input.priority.size(), n);
        check_values("priority", input.priority, Range::not_negative);
        kept.priority = std::move(input.priority);
        for (const Group &group : kept.groups) {
            double most = 0.0;
            for (const Node node : group.nodes)
                most = std::max(most, kept.priority[at(node)]);
            kept.group_priority.push_back(most);
        }
    }
    check_values("weights", {input.weights.begin(), input.weights.end()}, Range::not_negative);
    kept.first = std::move(input.first);
    kept.weights = input.weights;
    const auto counts = [&](Term term) {
        return kept.weights[at(static_cast<int>(term))] > 0.0 ||
               std::find(kept.first.begin(), kept.first.end(), term) != kept.first.end();
    };
    kept.measured = counts(Term::makespan) || counts(Term::balance);
    kept.plain_objective = kept.first.empty() && !kept.measured && !counts(Term::vehicles);
    kept.counts_nodes = load_rule == LoadRule::mixed;
    kept.fewest = !kept.first.empty() && kept.first.front() == Term::vehicles;
    timed = timed || kept.measured;
}

// The priorities that count: of compulsory customers, those of a pair together.
void Model::add_up_priorities() {
    std::vector<double> given = std::move(relations.priority);
    relations.priority.assign(at(size_), 0.0);
    for (const Node node : customers)
        if (compulsory_node[at(node)])
            relations.priority[at(head(node))] += given[at(node)];
}

void Model::price_objective() {
    for (VehicleType &type : vehicles)
        type.price = type.fixed_cost;
    Relations &kept = relations;
    if (kept.plain_objective)
        return;
    double farthest = typical_arc, dearest = 0.0;
    for (const Node node : customers)
        if (std::isfinite(reach[at(node)]))
            farthest = std::max(farthest, reach[at(node)]);
    for (const VehicleType &type : vehicles)
        dearest = std::max(dearest, type.fixed_cost);
    double lengths = 0.0, times = 0.0; // to weigh time against length
    for (const Node node : customers)
        for (int i = 0; i < std::min(width, 3) && near(node)[i] >= 0; ++i) {
            const double length = distance(node, near(node)[i]),
                         time = duration(node, near(node)[i]);
            if (std::isfinite(length) && std::isfinite(time)) {
                lengths += length;
                times += time;
            }
        }
    const double of_time = arc_weight * (times > 0.0 && lengths > 0.0 ? lengths / times : 1.0);
    const double of_route = arc_weight * farthest + dearest;
    // The terms in their order, the weighted sum after them; what has no weight at all is the cost,
    // which breaks ties. Each outweighs those after it.
    const auto place_of = [&](Term term) {
        return static_cast<int>(std::find(kept.first.begin(), kept.first.end(), term) -
                                kept.first.begin());
    };
    const int last = static_cast<int>(kept.first.size());
    const double most = std::max(kept.weights[2], kept.weights[3]);
    int of_cost = place_of(Term::cost);
    if (of_cost == last && kept.weights[0] <= 0.0 && std::max(most, kept.weights[1]) > 0.0)
        ++of_cost;
    const auto times_cost = [&](int place) {
        const double before = of_cost - place;
        return before > 0.0 ? std::pow(MUCH, 2.0 * before - 1.0)
                            : LITTLE * std::pow(MUCH, 2.0 * before + 2.0);
    };
    double of_sum = 0.0; // one unit of it
    if (kept.weights[0] > 0.0)
        of_sum = 1.0 / kept.weights[0];
    else if (most > 0.0)
        of_sum = times_cost(last) * of_time / most;
    else if (kept.weights[1] > 0.0)
        of_sum = times_cost(last) * of_route / kept.weights[1];
    const auto price = [&](Term term, double unit) {
        const int place = place_of(term);
        return place == last ? of_sum * kept.weights[at(static_cast<int>(term))]
                             : unit * times_cost(place);
    };
    kept.route_price = price(Term::vehicles, of_route);
    kept.makespan_price = price(Term::makespan, of_time);
    kept.balance_price = price(Term::balance, of_time);
    for (VehicleType &type : vehicles)
        type.price += kept.route_price;
}

double Model::least_duration(int type, const Node *stops, int count) const {
    const VehicleType &vehicle = vehicles[at(type)];
    Node last = vehicle.start;
    double busy = 0.0, clock = vehicle.leaves, latest = INFINITE;
    for (int i = 0; i < count; ++i) {
        const Node node = stops[i];
        const double there = duration(last, node);
        busy += there;
        latest = std::min(latest, closing[at(node)] - time_slack - busy);
        busy += service[at(node)];
        clock = std::max(clock + there, opening[at(node)]) + service[at(node)];
        last = node;
    }
    const double home = duration(last, vehicle.end);
    busy += home;
    latest = std::min(latest, vehicle.back_by - time_slack - busy);
    return std::max(busy, clock + home - std::max(vehicle.leaves, latest));
}

// ----------------------------------------------------------------------------------------- the
// plan

int Plan::weight(Node head) const {
    const Node other = model.partner[at(head)];
    return model.compulsory_node[at(head)] + (other < 0 ? 0 : model.compulsory_node[at(other)]);
}

void Plan::leave(Node head) {
    const Relations &relations = model.relations;
    left_out += weight(head);
    if (!relations.priority.empty() && model.compulsory[at(head)])
        lost += relations.priority[at(head)];
    const int number = relations.group(head);
    if (number < 0 || (chosen[at(number)] != head && chosen[at(number)] != NOT_HERE))
        return;
    chosen[at(number)] = UNSERVED;
    if (relations.groups[at(number)].required) {
        ++missing;
        ++left_out;
        if (!relations.priority.empty())
            lost += relations.group_priority[at(number)];
    }
}

void Plan::join(Node head) {
    const Relations &relations = model.relations;
    left_out -= weight(head);
    if (!relations.priority.empty() && model.compulsory[at(head)])
        lost -= relations.priority[at(head)];
    const int number = relations.group(head);
    if (number < 0)
        return;
    chosen[at(number)] = head;
    if (relations.groups[at(number)].required) {
        --missing;
        --left_out;
        if (!relations.priority.empty())
            lost -= relations.group_priority[at(number)];
    }
}

bool Plan::may_visit(Node head, int number) const {
    const Relations &relations = model.relations;
    const int group = relations.group(head);
    if (group >= 0 && chosen[at(group)] >= 0)
        return false;
    for (const Node node : {head, model.partner[at(head)]}) {
        if (node < 0)
            break;
        if (!relations.together.empty())
            for (const Node mate : relations.together[at(node)])
                if (route_of[at(mate)] >= 0 && route_of[at(mate)] != number)
                    return false;
        if (number >= 0 && !relations.apart.empty())
            for (const Node mate : relations.apart[at(node)])
                if (route_of[at(mate)] == number)
                    return false;
    }
    return true;
}

// Whether a route that is taken over suits those that were before.
bool Plan::may_take(const std::vector<Node> &stops) const {
    const Relations &relations = model.relations;
    std::vector<int> groups;
    for (const Node node : stops) {
        const int group = relations.group(node);
        if (group >= 0) {
            if (chosen[at(group)] >= 0 ||
                std::find(groups.begin(), groups.end(), group) != groups.end())
                return false;
            groups.push_back(group);
        }
        if (!relations.together.empty())
            for (const Node mate : relations.together[at(node)])
                if (route_of[at(mate)] >= 0)
                    return false;
    }
    return true;
}

void Plan::order_span(int number, Node node, int &low, int &high) const {
    for (const Node mate : model.relations.earlier[at(node)])
        if (route_of[at(mate)] == number)
            low = std::max(low, position[at(mate)]);
    for (const Node mate : model.relations.later[at(node)])
        if (route_of[at(mate)] == number)
            high = std::min(high, position[at(mate)] - 1);
}

bool Plan::relations_hold(const Node *stops, int count) const {
    const Relations &relations = model.relations;
    if (relations.apart.empty() && !relations.ordered)
        return true;
    ++stamp_;
    for (int i = 0; i < count; ++i) {
        const Node node = stops[i];
        if (!relations.apart.empty())
            for (const Node mate : relations.apart[at(node)])
                if (seen_[at(mate)] == stamp_)
                    return false;
        if (relations.ordered)
            for (const Node mate : relations.later[at(node)])
                if (seen_[at(mate)] == stamp_)
                    return false;
        seen_[at(node)] = stamp_;
    }
    return true;
}

bool Plan::keeps_together(const std::vector<Node> &one, const std::vector<Node> &other) const {
    const auto &together = model.relations.together;
    ++stamp_;
    for (const Node node : one)
        seen_[at(node)] = stamp_;
    for (const Node node : one)
        for (const Node mate : together[at(node)])
            if (route_of[at(mate)] >= 0 && seen_[at(mate)] != stamp_)
                return false;
    for (const Node node : other)
        for (const Node mate : together[at(node)])
            if (seen_[at(mate)] == stamp_)
                return false;
    return true;
}

bool Plan::unloads_last_first(const Node *stops, int count) const {
    stack_.clear();
    for (int i = 0; i < count; ++i) {
        const Node node = stops[i], other = model.partner[at(node)];
        if (other < 0) {
            if (model.relations.below[at(node)] && !stack_.empty())
                return false;
        } else if (model.is_pickup[at(node)]) {
            stack_.push_back(node);
        } else {
            if (stack_.empty() || stack_.back() != other)
                return false;
            stack_.pop_back();
        }
    }
    return true;
}

double Plan::takes(int type, const Node *stops, int count) const {
    return count == 0 ? 0.0 : rules_.duration(type, stops, count);
}

Plan::Measures Plan::measures() const {
    Measures found{0.0, INFINITE};
    for (const int number : active) {
        found.longest = std::max(found.longest, route[at(number)].takes);
        found.shortest = std::min(found.shortest, route[at(number)].takes);
    }
    if (active.empty())
        found.shortest = 0.0;
    return found;
}

void Plan::add_terms(Value &value) const {
    const Relations &relations = model.relations;
    std::array<double, TERMS> terms{value.cost, static_cast<double>(active.size()), 0.0, 0.0};
    if (relations.measured) {
        const Measures found = measures();
        terms[2] = found.longest;
        terms[3] = found.longest - found.shortest;
    }
    for (const Term term : relations.first)
        value.terms[at(value.ranked++)] = terms[at(static_cast<int>(term))];
    double sum = 0.0, weights = 0.0;
    for (std::size_t i = 0; i < terms.size(); ++i) {
        sum += relations.weights[i] * terms[i];
        weights += relations.weights[i];
    }
    if (weights > 0.0)
        value.terms[at(value.ranked++)] = sum;
}

} // namespace spacevrp
