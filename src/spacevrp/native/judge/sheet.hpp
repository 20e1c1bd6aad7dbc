// What the compiled referee knows of a problem, in the user's units; no file is shared with the
// search, so that a mistake there is not repeated here.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace spacevrp::judge {

using Node = std::int32_t;

enum class Geometry { euclidean, manhattan, chebyshev, att };
enum class Rounding { none, nearest, up, down, one_decimal };
enum class LoadRule { single, separate, pairs };

// Distances or durations: from a matrix (N, N), or from points (N, 2) by a metric.
struct Roads {
    const double *values = nullptr;
    bool by_points = false;
    Geometry geometry = Geometry::euclidean;
    Rounding rounding = Rounding::none;
    std::size_t size = 0;

    double between(Node origin, Node target) const;
};

// What holds for the vehicles of one type.
struct Type {
    Node start = -1;              // -1 for any depot, which is also the end of a closed route
    Node end = -1;                // -1 for the last customer
    std::vector<double> capacity; // (D,)
    std::vector<double> slack;    // (D,) of the comparison with the capacity
    double fixed_cost = 0.0;
    double max_length = 0.0;
    double leaves_from = 0.0;
    double back_by = 0.0;
    std::int64_t count = -1; // -1 for any number
    std::vector<Node> pinned;
    std::vector<std::uint8_t> forbidden; // (N,), or empty where all customers are allowed
};

struct Sheet {
    Node size = 0;
    std::size_t kinds = 1;
    Roads distances;
    std::optional<Roads> durations;     // none where they are the distances
    std::vector<std::uint8_t> is_depot; // (N,)
    bool has_depots = false;
    const double *loads = nullptr;      // (N, D)
    const double *windows = nullptr;    // (N, 2)
    const double *service = nullptr;    // (N,)
    const double *penalty = nullptr;    // (N,); infinite where a visit is compulsory
    const double *prize = nullptr;      // (N,)
    const double *real_prize = nullptr; // (N,); what a visit yields
    double min_prize = 0.0;
    double prize_slack = 0.0;
    bool maximise_prize = false;
    bool open_routes = false;
    bool backhaul_last = false;
    LoadRule load_rule = LoadRule::single;
    std::int64_t max_routes = -1; // -1 for any number
    double length_slack = 0.0;
    double time_slack = 0.0;
    std::vector<std::pair<Node, Node>> pairs; // pickup, delivery
    bool uniform = true;                      // all vehicles are alike: then there is one type
    std::vector<Type> types;
    std::vector<std::int32_t> pinned_to; // (N,) number of a type, -1 for none; empty without pins
};

struct Route {
    std::span<const Node> nodes; // all of them from 0 to N - 1
    std::size_t type = 0;        // below the number of types
};

// Memory that is used again from plan to plan.
struct Scratch {
    struct Visit {
        std::size_t route = 0; // counted from 1; 0 for no visit
        std::size_t position = 0;
    };
    std::vector<Visit> visits;      // (N,)
    std::vector<std::int64_t> used; // (K,) routes of each type
};

// The cost of a plan that keeps every rule; none for a plan that does not.
std::optional<double> judge(const Sheet &sheet, std::span<const Route> routes, Scratch &scratch);

} // namespace spacevrp::judge
