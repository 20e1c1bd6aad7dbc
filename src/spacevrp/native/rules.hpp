// Rules and costs of whole routes, which no constant-time check can see: one exact evaluation.
#pragma once

#include "model.hpp"

#include <cstdint>
#include <vector>

namespace spacevrp {

// Of the slack of times: what adding and taking away the same numbers may leave behind.
inline constexpr double DUST = 2e-3;

// What a route costs beyond weight * length and the fixed cost.
struct RouteValue {
    bool feasible = false;
    double extra = 0.0;
};

// A depot on the way: after how many customers, and which.
struct Reload {
    int after = 0;
    Node depot = -1;
};

// Everything happens as early as possible, which gives the end; then the vehicle leaves as late as
// it can with the same end.
struct Schedule {
    double departure = 0.0, end = 0.0;
    double duration() const { return end - departure; }
};

// Lengths of trips that fit, whatever the time, by the customers served: (count + 1,).
struct TripLengths {
    std::vector<double> head;      // least from the start to a depot after so many customers
    std::vector<double> rest;      // least from a depot to the end; a bound without its last trip
    std::vector<double> out, back; // between a depot and the customer of that number, from 1
    std::vector<double> load;      // handed over up to there, of plain loads; otherwise 0
};

// What an evaluation need not look at: a route with an inserted customer that costs more.
struct Limit {
    double most = INFINITE;       // cost, without the fixed cost
    const double *rest = nullptr; // of the route without it: as in TripLengths
    int inserted = 0;             // its position among the customers
    double shortcut = 0.0;        // how much shorter it can make the rest, where it is on the way
};

// Each plan has one of its own: an evaluation needs room to work in.
class RouteRules {
public:
    explicit RouteRules(const Model &problem);

    // For stops whose constant-time checks have been passed.
    RouteValue evaluate(int type, const Node *stops, int count, const Limit &limit = {});
    void find_lengths(int type, const Node *stops, int count, TripLengths &trips);
    // The least length of all trips with a customer inserted after a position; `nodes` begin and
    // end with the depots of the route, and `so_far` says how far it is to each of them. `out` and
    // `back` are the least from a depot to the customer and to one from there.
    double least_length(int type, const TripLengths &trips, const Node *nodes, const double *so_far,
                        int count, int after, Node node, double out, double back) const;
    // When positions 1 to count are left at the earliest, and must be reached at the latest, with
    // the depots that the loads ask for on the way.
    void bound_times(int type, const Node *stops, int count, double *leave, double *late);
    double nearest_depot(int type, Node node, bool back) const;
    // How much shorter a trip can get by a customer between two others, or one and a depot: not at
    // all where distances are metric. (What is not a number comes last and is no maximum.)
    double shortcut(int type, Node last, Node node, Node next) const;
    // How long such a route takes.
    double duration(int type, const Node *stops, int count);
    // The least that a route with so much driving and service costs beyond its length.
    double least_extra(int type, double busy) const;
    // Of the last route that was evaluated and is feasible; the times where its type is scheduled.
    const Schedule &schedule() const { return schedule_; }
    const std::vector<Reload> &reloads() const { return reloads_; }

    // The slow twin of the quick schedule, and of choosing trips: for tests.
    bool always_slow = false;
    // What evaluating whole routes has taken so far: a step is a stop of a route looked at once.
    std::int64_t steps = 0;

private:
    RouteValue whole_route(int type, const Node *stops, int count, const Limit &limit);
    // --- rides on the route at hand, with the slack that is used
    struct Ride {
        Node pickup, delivery;
        double limit; // from the end of service to its beginning
        double least; // what ways and stops alone take
    };
    bool read_rides(int type, const Node *stops, int count, double slack);
    bool ride_schedule(int type, const Node *visits, int count);
    void place_breaks(int type, const Node *visits, int count, const Schedule &found);
    bool is_beaten(int type, const Schedule &bound) const;
    bool times_with_rides(int type, const Node *visits, int count, Schedule &found);
    bool earliest_with_rides(int type, const Node *visits, int count, double departure,
                             double &end);
    bool drive_held(int type, const Node *visits, int count, double departure, double &end);
    double latest_with_rides(int type, const Node *visits, int count, double end);
    double short_from(const TypeRules &own, const Node *visits, const Ride &ride) const;
    std::size_t most_rounds(const TypeRules &own, const Node *visits, int count) const;
    std::vector<Ride> rides_;
    std::vector<double> held_; // (N + 1,) what no pickup is left before, whatever else waits
    std::vector<int> place_;   // (N + 1,) of customers on the route at hand
    // By the position among the visits: when it begins, at the earliest and at the latest, and so
    // on; breaks taken before each, from the departure to the end.
    std::vector<double> begins_, services_, ready_, holds_, by_then_;
    std::vector<double>
        soonest_; // when stops can begin, by the breaks behind them where these move
    std::vector<std::size_t> taken_;
    std::vector<int> places_; // where the first breaks are taken
    Schedule best_schedule_;
    int tried_ = 0;
    // --- schedules of customers and depots on the way, without the depots at the ends
    bool find_schedule(int type, const Node *visits, int count);
    bool quick_schedule(int type, const Node *visits, int count);
    bool full_schedule(int type, const Node *visits, int count);
    double travel(const TypeRules &own, Node from, Node to, double leaving) const;
    double latest_leaving(const TypeRules &own, Node from, Node to, double arrival) const;
    double service_of(const TypeRules &own, Node before, Node node) const;
    // When everything is there that the next customers receive, up to a depot.
    double released(const TypeRules &own, const Node *visits, int count) const;
    double begin_service(Node node, double arrival) const;
    double left_at(Node node, double arrival, double service) const;
    double begin_break(const Break &one, double clock) const;
    bool fit_after(const std::vector<Break> &breaks, std::size_t number, double clock) const;
    double latest_arrival(Node node, double begin, double soonest) const;
    bool set_out(const TypeRules &own, double earliest);
    bool forward(const TypeRules &own, Node before, Node node, bool is_end);
    void backward(const TypeRules &own, Node before, Node node);
    // The latest departure that takes these breaks on the way and arrives by then.
    double leave_by(const TypeRules &own, Node before, Node node, std::size_t taken,
                    std::size_t then, double arrival) const;
    bool needs_duration(int type) const; // and not only when the route ends

    // --- trips
    void begin_trip(const TypeRules &own, bool is_first);
    bool join_trip(const TypeRules &own, Node node);
    bool in_one_trip(int type, const Node *stops, int count);
    bool choose_trips(int type, const Node *stops, int count, const Limit &limit);
    // The same where a sum says what fits on a trip, and times are plain.
    bool quick_trips(int type, const Node *stops, int count, const Limit &limit);
    bool split_trips(int type, const Node *stops, int count);
    bool is_quick(int type) const {
        return sums_loads_[static_cast<std::size_t>(type)] != 0 && !always_slow;
    }
    struct Label;
    // Between a depot and a customer; the service is that of the one where it ends.
    struct Leg {
        double arc, way, service;
    };
    void look_ahead(const TypeRules &own, const Node *stops, int count);
    Leg leg(const TypeRules &own, Node from, Node to) const;
    void drive_trip(int type, const Node *stops, int count, int number);
    void offer_quick(const TypeRules &own, const Label &label);
    void extend(int type, const Node *stops, int count, int number);
    void offer(const TypeRules &own, const Label &label);
    // The least from a depot behind so many customers to the end, where the cost is limited.
    double rest_behind(int boundary) const {
        if (limit_.shortcut == INFINITE) // it bridges a missing arc
            return 0.0;
        return boundary <= limit_.inserted
                   ? limit_.rest[static_cast<std::size_t>(boundary)] - limit_.shortcut
                   : limit_.rest[static_cast<std::size_t>(boundary - 1)];
    }
    double price(int type, const Node *stops, int count, const Label &label);
    void read_reloads(const Label &label);
    void write_visits(const Node *stops, int count);

    const Model &model_;
    Schedule schedule_;
    std::vector<Reload> reloads_;
    std::vector<Node> visits_;
    // Of a full schedule, by breaks taken: departures from the start; earliest departures from a
    // stop and arrivals at the next, and latest ones.
    std::vector<double> starts_, earliest_, reached_, latest_, by_;
    std::vector<int> origin_, origin_reached_; // breaks taken before the vehicle left

    // A vehicle that stands at a depot after some customers.
    struct Label {
        double clock = 0.0, length = 0.0;
        // Earliest and latest departure from the start, driving and service since: where times are
        // plain, with one window a stop and no breaks.
        double start = 0.0, latest = 0.0, busy = 0.0;
        int reloads = 0, breaks = 0, before = -1, boundary = 0;
        Node depot = -1;
        int place = -1; // of that depot among those to reload at; -1 for the start
        int next = -1;  // label after the same customers, of quick trips
    };
    // A customer on the way, from the one before.
    struct Ahead {
        double amount, arc, way, service, release, opening, closing;
        double onward; // the least from there to the end, where the cost is limited
    };
    // A customer that may begin a trip.
    struct Split {
        double arc = INFINITE;    // from the customer before
        double detour = INFINITE; // the same by the best depot
        double length = INFINITE; // least to the customer from the start, its trip the first or not
        Node depot = -1;
        int before = -1; // where the trip before begins
    };
    std::vector<char> sums_loads_; // (K,) types with quick trips
    std::vector<Split> split_;
    std::vector<double> trip_ready_, trip_left_, trip_by_; // of bound_times
    std::vector<Ahead> ahead_;
    std::vector<Leg> out_, back_;  // (customers, depots) from a depot, and to it
    std::vector<int> first_label_; // by the customers served, or -1
    bool by_duration_ = false;     // how long the route takes matters, and not only when it ends
    bool plain_times_ = true;
    std::vector<Label> labels_;
    std::vector<std::vector<int>> at_; // labels by the customers served
    // The cheapest label that is complete, and what it costs.
    Label best_;
    double least_ = INFINITE;
    Limit limit_;
    // Of the trip that is looked at: what it handed over, by kind of load, and open pairs.
    std::vector<double> handed_, high_, low_, deliveries_;
    int open_ = 0;
    bool collecting_ = false, first_trip_ = true;
};

} // namespace spacevrp
