// A routing problem as the search sees it: validated arrays, neutral where a feature is absent.
#pragma once

#include "relation_data.hpp"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

namespace spacevrp {

inline constexpr double INFINITE = std::numeric_limits<double>::infinity();

// Mixed: jobs beside pairs, or stops that both receive and hand over.
enum class LoadRule { single, separate, pairs, mixed };
enum class Geometry { euclidean, manhattan, chebyshev, att, geo };
enum class Rounding { none, nearest, up, down, one_decimal };

struct VehicleType {
    Node start = 0;
    Node end = 0;                 // the virtual node `nowhere` for an open route
    std::vector<double> capacity; // (D,)
    double fixed_cost = 0.0;
    double price = 0.0;     // that, and what a route counts in the objective of the search
    double unit_cost = 1.0; // of length
    double weight = 1.0;    // of length in the objective of the search
    double max_length = INFINITE;
    double max_duration = INFINITE; // service and waiting included, from the latest departure
    double leaves = 0.0;            // earliest departure
    double back_by = INFINITE;      // latest end, the closing of the end depot included
    int count = -1;                 // vehicles of this type, -1 for any number
    std::vector<Node> pinned;       // the first customers of its only route
};

// Everything as it comes from the caller; `Model` checks it.
struct Input {
    int size = 0;                    // N nodes, depots included
    int kinds = 1;                   // D kinds of load
    std::vector<double> coordinates; // (N, 2) or empty
    Geometry geometry = Geometry::euclidean;
    Rounding rounding = Rounding::none;
    std::vector<double> distances;                 // (N, N) or empty
    std::vector<double> durations;                 // (N, N) or empty: the distances
    std::vector<double> demand;                    // (N, D)
    std::vector<double> opening, closing, service; // (N,)
    bool timed = false;
    std::vector<double> penalty, prize; // (N,)
    bool maximise_prize = false;
    double min_prize = 0.0;
    std::vector<std::int32_t> partner;   // (N,)
    std::vector<std::uint8_t> is_pickup; // (N,)
    std::vector<Node> customers;
    std::vector<Node> start, end;                                     // (K,)
    std::vector<double> capacity;                                     // (K, D)
    std::vector<double> fixed_cost, max_length, leaves_from, back_by; // (K,)
    std::vector<double> unit_cost, max_duration;                      // (K,)
    std::vector<std::int32_t> count;                                  // (K,)
    std::vector<std::uint8_t> allowed;                                // (K, N) or empty
    std::vector<std::vector<Node>> pinned;
    LoadRule load_rule = LoadRule::single;
    bool backhaul_last = false;
    int max_routes = -1;
    double time_slack = 0.0;
    std::vector<Node> candidates; // (N, C) or empty: neighbours to look at, nearest first, -1 ends
    int candidate_width = 0;
    RuleInput rules;
    RelationInput relations;
};

class Model {
public:
    // Throws std::invalid_argument, which says what was expected and what was received.
    explicit Model(Input input);

    int size() const { return size_; }
    Node nowhere() const { return size_; } // costs nothing to go to: the end of open routes
    int kinds() const { return kinds_; }
    int types() const { return static_cast<int>(vehicles.size()); }

    double distance(Node from, Node to) const {
        return matrix_.empty() ? measured(from, to) : matrix_[index(from, to)];
    }
    double duration(Node from, Node to) const {
        return durations_.empty() ? distance(from, to) : durations_[index(from, to)];
    }
    // Distances from a node to all (N + 1,), and to it from all; null without a matrix.
    const double *from(Node node) const {
        return matrix_.empty() ? nullptr : matrix_.data() + index(node, 0);
    }
    const double *to(Node node) const {
        if (matrix_.empty())
            return nullptr;
        return (transposed_.empty() ? matrix_.data() : transposed_.data()) + index(node, 0);
    }
    // The same for durations.
    const double *time_from(Node node) const {
        return durations_.empty() ? from(node) : durations_.data() + index(node, 0);
    }
    const double *time_to(Node node) const {
        return durations_.empty() ? to(node) : durations_back_.data() + index(node, 0);
    }
    bool has_matrix() const { return !matrix_.empty(); }
    // Whether it is a choice who is served, at a price, and by how many routes.
    bool serving_is_a_choice() const { return has_optional && !maximise_prize; }
    bool routes_are_a_choice() const {
        const bool one_route = max_routes == 1 || (types() == 1 && vehicles.front().count == 1);
        return serving_is_a_choice() && !one_route;
    }

    double demand(Node node, int kind) const {
        return demands[static_cast<std::size_t>(node) * static_cast<std::size_t>(kinds_) +
                       static_cast<std::size_t>(kind)];
    }
    // What of the demand lies in the vehicle from the start.
    double delivered(Node node, int kind) const {
        return deliveries[static_cast<std::size_t>(node) * static_cast<std::size_t>(kinds_) +
                          static_cast<std::size_t>(kind)];
    }
    bool may_serve(int type, Node node) const {
        return allowed_.empty() ||
               allowed_[static_cast<std::size_t>(type) * static_cast<std::size_t>(size_) +
                        static_cast<std::size_t>(node)] != 0;
    }
    // A unit is a customer, or a pickup with its delivery; its head stands for it.
    bool is_head(Node node) const { return partner[at(node)] < 0 || is_pickup[at(node)] != 0; }
    Node head(Node node) const { return is_head(node) ? node : partner[at(node)]; }

    static std::size_t at(Node node) { return static_cast<std::size_t>(node); }

    // Whether a vehicle may be under way so long: from the latest departure that is in time, for a
    // route with so much driving and service, that ends at `end` if it leaves as soon as it may.
    static bool in_duration(const VehicleType &vehicle, double busy, double end, double latest) {
        return busy <= vehicle.max_duration &&
               end - std::max(vehicle.leaves, latest) <= vehicle.max_duration;
    }
    // The same for these stops, from the first to the last.
    bool in_duration(int type, const Node *stops, int count) const;

    // How long such a route takes if it leaves as late as it can for the same end.
    double least_duration(int type, const Node *stops, int count) const;

    // Cost and feasibility of one vehicle that serves one unit alone; infinite if it cannot.
    double alone(int type, Node head) const;

    std::vector<VehicleType> vehicles;
    std::vector<double> demands;                   // (N + 1, D)
    std::vector<double> deliveries;                // (N + 1, D)
    std::vector<double> opening, closing, service; // (N + 1,); closing holds the slack
    double time_slack = 0.0;
    std::vector<double> skip;     // (N,) price of leaving the unit out, of heads; 0 elsewhere
    std::vector<char> compulsory; // (N,) of heads
    std::vector<double> prize;    // (N,) of single nodes, like the next two
    std::vector<double> node_penalty;
    std::vector<char> compulsory_node;
    std::vector<double> unit_prize; // (N,) of units, by their heads
    std::vector<std::int32_t> partner;
    std::vector<std::uint8_t> is_pickup;
    std::vector<Node> customers;
    std::vector<char> is_customer; // (N + 1,)
    std::vector<signed char> sign; // (N + 1,) 1 for linehauls, -1 for backhauls, 0 without a demand
    LoadRule load_rule = LoadRule::single;
    bool backhaul_last = false, timed = false, paired = false, symmetric = true;
    bool restricted = false; // some vehicle may not serve everybody
    bool loaded = false;     // some capacity can bind
    bool plain_load = true;  // all demands have one sign: the sum says it all
    bool limited_length = false, limited_duration = false; // the latter only where timed
    bool maximise_prize = false, has_optional = false;
    bool rich = false; // some rule holds for whole routes: constant-time checks are necessary only
    bool symmetric_times = true; // only known where rich
    RuleInput rules;             // read where rich: one entry a type, nodes widened by `nowhere`
    Relations relations;
    double min_prize = 0.0;
    int max_routes = -1;
    double arc_weight = 1.0;  // of travel in the objective of the search, the mean of all types
    double typical_arc = 1.0; // median distance to a near neighbour

    // Near neighbours among customers, nearest first: (N, width), -1 where there are fewer.
    int width = 0;
    std::vector<Node> neighbours;
    // Distances to them, where no other customer is nearer than those on the list; empty otherwise.
    std::vector<double> near_lengths;
    const Node *near(Node node) const {
        return neighbours.data() + static_cast<std::size_t>(node) * static_cast<std::size_t>(width);
    }
    const double *near_length(Node node) const { // null where there are none
        return near_lengths.empty() ? nullptr
                                    : near_lengths.data() + static_cast<std::size_t>(node) *
                                                                static_cast<std::size_t>(width);
    }
    std::vector<double> reach; // (N,) length of a route to this node alone: how far out it is

private:
    std::size_t index(Node from, Node to) const {
        return static_cast<std::size_t>(from) * static_cast<std::size_t>(size_ + 1) +
               static_cast<std::size_t>(to);
    }
    double measured(Node from, Node to) const;
    void read_distances(const Input &input);
    void read_vehicles(const Input &input);
    void read_units(const Input &input);
    void read_rules(RuleInput &&input);
    void read_relations(RelationInput &&input);
    void add_up_priorities();
    void price_objective();
    void check_type_rules(std::size_t type, const TypeRules &own) const;
    void check_node_rules(const RuleInput &input) const;
    void read_services();
    void read_loads_of_trips(bool reloads);
    double priced_time() const; // what the time of a typical arc costs, by its length, of all types
    void find_neighbours(const Input &input);
    struct Potentials {
        std::vector<double> leave, enter; // (N,)
    };
    Potentials potentials() const;
    std::vector<double> near_by_matrix();
    void near_by_coordinates();

    int size_ = 0, kinds_ = 1;
    Geometry geometry_ = Geometry::euclidean;
    Rounding rounding_ = Rounding::none;
    std::vector<double> points_;                     // (N, 2)
    std::vector<double> matrix_;                     // (N + 1, N + 1), zero from and to `nowhere`
    std::vector<double> transposed_;                 // the same if asymmetric
    std::vector<double> durations_, durations_back_; // and transposed
    std::vector<std::uint8_t> allowed_;
};

} // namespace spacevrp
