// Routes with what constant-time checks need at every position, and the bank of unserved units.
#pragma once

#include "rules.hpp"

#include <array>
#include <cmath>
#include <utility>
#include <vector>

namespace spacevrp {

// Routes without their depots, and the vehicle type of each: how plans come and go.
struct Routes {
    std::vector<std::vector<Node>> stops;
    std::vector<int> types;
};

struct Route {
    int type = 0;
    int size = 0;              // customers
    int pinned = 0;            // the first of them that stay where they are
    int slot = -1;             // in the list of routes that are used
    bool listed = false;       // as one that is free
    std::uint64_t version = 0; // another one after every change
    double length = 0.0;
    double extra = 0.0;      // what it costs beyond its length, by the rules of whole routes
    double cost = 0.0;       // both, without the fixed cost
    double takes = 0.0;      // how long, where that is a term of the objective
    double spare = INFINITE; // no customer with more of the first kind fits; of plain loads only
    TripLengths trips;       // where there may be such depots
    int first_backhaul = 0, last_linehaul = 0; // positions; size + 1 and 0 without
    // Position 0 is the start, size + 1 the end.
    std::vector<Node> node;
    std::vector<double> arc;      // to the next position
    std::vector<double> so_far;   // length up to the position
    std::vector<double> reversed; // the same of all arcs the other way round, if asymmetric
    std::vector<double> early;    // earliest start of service
    std::vector<double> leave;    // earliest departure
    std::vector<double> late;     // latest arrival from which the rest is in time
    // Where durations are limited: driving and service up to the departure from a position, the
    // latest start with which all up to there is in time, and the earliest end that the openings
    // from there on allow.
    std::vector<double> busy, latest_start, soonest_end;
    // Signed load handed over up to a position, (position, kind), its extremes before and after.
    std::vector<double> handed, highest, lowest, highest_after, lowest_after;
    std::vector<double> total, deliveries; // (kind,)
    std::vector<int> open;                 // pairs on board after a position, with lifo
};

// Where to put a unit: after positions `first` and, the delivery of a pair, `second` of the route
// as it is now. A route of -1 is a new one of that type.
struct Place {
    double delta = INFINITE;
    int route = -1;
    int type = -1;
    int first = 0, second = 0;
    double surcharge = 0.0; // part of the delta that is no cost: the longest route gets longer
    double extra = 0.0;     // of the route then, where rules of whole routes are evaluated
    bool found() const { return delta < INFINITE; }
};

// What a plan costs, the fewest compulsory units left out first, by their priorities.
struct Value {
    double lost = 0.0; // priorities of those left out
    int missing = 0;
    double shortage = 0.0; // of prize
    double cost = 0.0;     // as the referee counts
    double travel = 0.0;   // among equals
    int ranked = 0;        // terms of the objective that come before the cost
    std::array<double, TERMS + 1> terms{};

    bool better_than(const Value &other) const {
        if (lost != other.lost)
            return lost < other.lost;
        if (missing != other.missing)
            return missing < other.missing;
        if ((shortage > 0.0 || other.shortage > 0.0) && shortage != other.shortage)
            return shortage < other.shortage;
        for (std::size_t i = 0; i < static_cast<std::size_t>(std::min(ranked, other.ranked)); ++i)
            if (std::abs(terms[i] - other.terms[i]) >
                1e-10 * (std::abs(terms[i]) + std::abs(other.terms[i])))
                return terms[i] < other.terms[i];
        const double slack = 1e-10 * (std::abs(cost) + std::abs(other.cost));
        if (std::abs(cost - other.cost) > slack)
            return cost < other.cost;
        return travel < other.travel * (1.0 - 1e-9);
    }
};

// What a vehicle must have room for, by the load rule, from the extremes of what it hands over.
double room_needed(LoadRule rule, double low, double high, double deliveries);

class Plan {
public:
    explicit Plan(const Model &problem);

    // Takes over the routes that keep the rules; the customers of the others are unserved.
    void load(const Routes &plan);
    // The same for a part of a plan: other customers and vehicles are not touched.
    void load_part(const Routes &part, const std::vector<Node> &unserved,
                   const std::vector<int> &vehicles_left, int routes_allowed);
    Routes routes() const;

    bool is_served(Node node) const { return route_of[Model::at(node)] >= 0; }
    Value value() const;
    double shortage() const { return std::max(model.min_prize - collected, 0.0); }

    // Replaces the stops of a route, its customers' places included. Whether the rules are kept.
    // Its arcs (count + 1) are measured where they are not given.
    bool assign(int number, int type, const Node *stops, int count, const double *arcs = nullptr,
                const double *extra = nullptr); // where it is known
    int empty_route();

    // Whether a customer may be inserted there, which makes the route longer by `extra`: all rules,
    // and all but those of time.
    bool fits(const Route &route, int after, Node node, double extra) const;
    bool fits_load(const Route &route, int after, Node node, double extra) const;
    // Whether the route then takes no longer than its vehicle may; it is in time.
    bool fits_duration(const Route &route, int after, Node node) const;
    // The same for a pair, its delivery after `second`.
    bool fits_duration(const Route &route, int first, int second, Node pickup) const;
    bool may_open(int type) const {
        return available[static_cast<std::size_t>(type)] > 0 && routes_left > 0 &&
               model.vehicles[static_cast<std::size_t>(type)].pinned.empty();
    }
    bool may_open_any() const {
        for (int type = 0; type < model.types(); ++type)
            if (may_open(type))
                return true;
        return false;
    }
    // The number of the route.
    int insert(Node head, const Place &place);
    // Length of a route of a type with these stops if the rules are kept, infinite otherwise: but
    // for those of whole routes, which `whole_route` checks.
    double checked_length(int type, const Node *stops, int count) const;
    RouteValue whole_route(int type, const Node *stops, int count, const Limit &limit = {}) const;
    // What it costs, if all rules are kept; infinite otherwise, and where it costs more than `most`
    // as far as that is seen early.
    double checked_cost(int type, const Node *stops, int count, double most = INFINITE) const;
    // The same for one unit alone; the fixed cost is left out here, too.
    double cost_alone(int type, Node head) const;
    // Whether a unit may be on a route at all, wherever it stands.
    bool may_join(const Route &route, Node head) const;

    // --- relations between customers
    static constexpr Node UNSERVED = -1, NOT_HERE = -2;
    // Whether they allow a unit on a route, or on a new one (-1).
    bool may_visit(Node head, int number) const;
    // Limits the positions after which a customer may stand.
    void order_span(int number, Node node, int &low, int &high) const;
    // Whether no customer leaves those behind who must be on its route.
    bool keeps_together(const std::vector<Node> &one, const std::vector<Node> &other) const;
    // How long a route takes, where that is a term of the objective.
    double takes(int type, const Node *stops, int count) const;
    struct Measures {
        double longest, shortest;
    };
    Measures measures() const;
    // Compulsory customers of a unit.
    int weight(Node head) const;

    void to_bank(Node head);
    void from_bank(Node head);

    RouteRules &rules() const { return rules_; } // of the route evaluated last
    // The least that a route with so much driving and service costs beyond its length.
    double least_extra(int type, double busy) const { return rules_.least_extra(type, busy); }

    const Model &model;
    std::vector<Route> route;
    std::vector<int> active;                      // routes with customers
    std::vector<std::int32_t> route_of, position; // (N,); -1 in the bank, -2 not of this plan
    std::vector<Node> bank;                       // heads of units
    std::vector<std::int32_t> bank_slot;
    std::vector<char> is_fixed; // (N,) pinned, or the delivery of a pinned pickup
    std::vector<int> available; // vehicles left of each type
    int routes_left = 0;        // of max_routes
    double travel = 0.0;        // what routes cost but for the fixed costs
    double fixed = 0.0, skipped = 0.0, collected = 0.0;
    int missing = 0;
    int left_out = 0;         // compulsory customers left out, where books are kept
    double lost = 0.0;        // priorities of those left out
    std::vector<Node> chosen; // (groups,) the member that is served, UNSERVED, or NOT_HERE

private:
    bool take(int type, const std::vector<Node> &stops);
    void take_with_one_more(int type, std::vector<Node> stops);
    void reserve(Route &r, int count) const;
    // For stops and arcs that were written into the route already: all is as it was before `from`,
    // and one customer was added, or -1.
    bool refresh(int number, int from, Node added, const double *extra = nullptr);
    void count_in(int number);
    void count_out(int number);
    void change_travel(double more, double less);
    bool refresh_load(Route &r) const;
    bool refresh_time(Route &r) const;
    bool refresh_duration(Route &r) const;
    bool pairs_in_order(const Node *stops, int count) const;
    bool unloads_last_first(const Node *stops, int count) const;
    bool relations_hold(const Node *stops, int count) const;
    bool may_take(const std::vector<Node> &stops) const;
    void leave(Node head);
    void join(Node head);
    void add_terms(Value &value) const;

    std::uint64_t versions_ = 0;
    std::vector<int> free_;
    std::vector<char> known_;       // (N,) in a route that was taken over
    mutable std::vector<int> seen_; // (N,) stamps of a check of pairs
    mutable int stamp_ = 0;
    mutable RouteRules rules_;
    bool keeps_books_ = false; // of groups and priorities
    mutable std::vector<Node> with_pair_, stack_;
    mutable std::vector<double> low_, high_, sum_, out_; // (kind,)
};

} // namespace spacevrp
