// Relations between customers, and what is minimised; neutral where absent.
#pragma once

#include "rule_data.hpp"

#include <array>
#include <utility>

namespace spacevrp {

struct Group {
    std::vector<Node> nodes; // at most one of them is served
    bool required = true;    // one must be
};

enum class Term { cost, vehicles, makespan, balance };
inline constexpr int TERMS = 4;

struct RelationInput {
    std::vector<double> delivered; // (N, D) loaded at the depot, where the rule for loads is mixed
    bool lifo = false;
    std::vector<double> max_ride; // (N,) by pickup, or empty
    std::vector<Group> groups;
    std::vector<std::vector<Node>> same_route, different_routes;
    std::vector<std::pair<Node, Node>> order; // the earlier one first
    std::vector<double> priority;             // (N,) or empty
    std::vector<Term> first;                  // before the weighted sum
    std::array<double, TERMS> weights{1.0, 0.0, 0.0, 0.0};
};

// The same as the model keeps it. Lists of customers are empty where no customer has any.
struct Relations {
    bool present = false; // some of groups, together, apart and order
    bool lifo = false, rides = false, ordered = false;
    std::vector<Group> groups;
    std::vector<int> group_of;                                      // (N,) -1 without
    std::vector<std::vector<Node>> together, apart, earlier, later; // (N,)
    std::vector<int> cluster;     // (N,) who must be looked at together, -1 alone
    std::vector<char> below;      // (N + 1,) with lifo: loaded at the depot, below all pairs
    std::vector<double> max_ride; // (N + 1,)
    std::vector<double> priority; // (N,) of units, by their heads
    std::vector<double> group_priority;
    bool counts_nodes = false; // who is left out counts by customers, as pairs are not all there is

    bool plain_objective = true;
    bool measured = false; // durations of routes are a term
    bool fewest = false;   // the number of routes comes first
    std::vector<Term> first;
    std::array<double, TERMS> weights{1.0, 0.0, 0.0, 0.0};
    // What the search takes a route, and a unit of makespan and balance, to cost.
    double route_price = 0.0, makespan_price = 0.0, balance_price = 0.0;

    int group(Node node) const {
        return group_of.empty() ? -1 : group_of[static_cast<std::size_t>(node)];
    }
    bool is_required(Node node) const {
        const int number = group(node);
        return number >= 0 && groups[static_cast<std::size_t>(number)].required;
    }
};

} // namespace spacevrp
