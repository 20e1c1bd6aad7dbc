// What whole routes must keep or pay beyond loads, lengths and windows; neutral where absent.
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

namespace spacevrp {

using Node = std::int32_t;

inline constexpr int ANY_NUMBER = std::numeric_limits<int>::max();

struct Interval {
    double from = 0.0, until = 0.0;
};

struct Break {
    double duration = 0.0;
    std::vector<Interval> windows; // in order; it starts in one of them
};

struct TypeRules {
    int max_stops = ANY_NUMBER;
    double latest_start = std::numeric_limits<double>::infinity();
    double regular = std::numeric_limits<double>::infinity(); // duration without overtime
    double overtime_cost = 0.0, duration_cost = 0.0;
    double slowness = 1.0;           // times the durations of the model, at least 1
    std::vector<double> service;     // (N + 1,) or empty: as the model says
    std::vector<Break> breaks;       // in the order in which they are taken
    std::vector<Node> reload_depots; // where a new trip may begin
    int max_reloads = ANY_NUMBER;    // on a route
    bool under_way = false;          // it carries the goods of some deliveries already
    std::vector<Node> carries;       // those deliveries
    // What the model makes of it.
    std::vector<std::uint8_t> on_board; // (N + 1,) the same, or empty
    std::vector<double> carried;        // (D,) the load of all of them
    std::vector<double> capacity;       // (D,) of one trip
    bool scheduled = false;             // constant-time checks do not see all of its times
    bool plain_times = true;            // no breaks, one window a stop, travel times that stay
    bool priced_by_time = false;
};

struct RuleInput {
    std::vector<TypeRules> types;               // (K,) or empty
    std::vector<std::vector<Interval>> closed;  // (N,) gaps between windows, or empty
    std::vector<double> release, setup;         // (N,) or empty
    std::vector<double> moments;                // (M,) rising
    std::vector<std::vector<double>> durations; // M times (N, N)
    bool backhaul_last = false;                 // in each trip, where vehicles reload
};

} // namespace spacevrp
