// The rules, one function each, in the order and with the arithmetic of the plain referee
// (problems/referee/verdict.py), which is the definition: costs agree to the last bit.
#include "sheet.hpp"

#include <algorithm>
#include <cmath>

namespace spacevrp::judge {
namespace {

double rounded(double value, Rounding rounding) {
    switch (rounding) {
    case Rounding::nearest:
        return std::floor(value + 0.5);
    case Rounding::up:
        return std::ceil(value);
    case Rounding::down:
        return std::floor(value);
    case Rounding::one_decimal:
        return std::floor(value * 10.0) / 10.0;
    case Rounding::none:
        break;
    }
    return value;
}

double measured(Geometry geometry, double across, double along) {
    switch (geometry) {
    case Geometry::manhattan:
        return std::abs(across) + std::abs(along);
    case Geometry::chebyshev:
        return std::max(std::abs(across), std::abs(along));
    case Geometry::att:
        return std::sqrt((across * across + along * along) / 10.0);
    case Geometry::euclidean:
        break;
    }
    return std::sqrt(across * across + along * along);
}

// A route with customers: everything on the way, and the customers among it.
struct Trip {
    std::span<const Node> nodes;
    std::span<const Node> customers;
    const Type &type;
};

class Referee {
public:
    Referee(const Sheet &sheet, Scratch &scratch) : sheet_(sheet), scratch_(scratch) {
        scratch_.visits.assign(static_cast<std::size_t>(sheet.size), {});
        scratch_.used.assign(sheet.types.size(), 0);
    }

    std::optional<double> plan(std::span<const Route> routes) {
        std::int64_t trips = 0;
        for (std::size_t number = 1; number <= routes.size(); ++number) {
            const Route &route = routes[number - 1];
            const Type &type = sheet_.types[route.type];
            if (stays_at_home(route.nodes))
                continue;
            const auto customers = customers_of(route.nodes, type);
            if (customers.empty())
                return std::nullopt; // the form of the route is wrong
            const Trip trip{route.nodes, customers, type};
            if (!(is_permitted(trip, route.type) && is_visited_once(trip, number) &&
                  fits_in(trip) && is_in_order(trip) && travel(trip) && is_in_time(trip)))
                return std::nullopt;
            ++scratch_.used[route.type];
            ++trips;
        }
        if ((sheet_.max_routes >= 0 && trips > sheet_.max_routes) || !are_enough() ||
            !are_all_visited() || !are_pairs_served() || !is_enough_prize())
            return std::nullopt;
        return sheet_.maximise_prize ? -1.0 * collected() + 0.0 : with_penalties();
    }

private:
    bool is_depot(Node node) const { return sheet_.is_depot[static_cast<std::size_t>(node)] != 0; }
    bool is_visited(Node node) const {
        return scratch_.visits[static_cast<std::size_t>(node)].route != 0;
    }

    // ------------------------------------------------------------------------- a route's form

    bool stays_at_home(std::span<const Node> nodes) const {
        if (nodes.empty())
            return true;
        if (nodes.size() > 2 || !std::ranges::all_of(nodes, [&](Node n) { return is_depot(n); }))
            return false;
        return !sheet_.uniform || nodes.front() == nodes.back();
    }

    // The customers of a route; none where its form is wrong.
    std::span<const Node> customers_of(std::span<const Node> nodes, const Type &type) const {
        if (!sheet_.has_depots) // the way from the last node to the first is understood
            return nodes.size() > 1 && nodes.front() == nodes.back() ? nodes.first(0) : nodes;
        const Node first = nodes.front();
        if (sheet_.uniform ? !is_depot(first) : first != type.start)
            return {};
        const bool is_open = sheet_.uniform ? sheet_.open_routes : type.end < 0;
        auto inner = nodes.subspan(1);
        if (!is_open) {
            const Node home = sheet_.uniform ? first : type.end;
            if (inner.empty() || inner.back() != home)
                return {};
            inner = inner.first(inner.size() - 1);
        }
        return std::ranges::any_of(inner, [&](Node n) { return is_depot(n); }) ? inner.first(0)
                                                                               : inner;
    }

    // --------------------------------------------------------------------- rules of one route

    bool is_permitted(const Trip &trip, std::size_t number) const {
        if (sheet_.uniform)
            return true;
        const Type &type = trip.type;
        for (const Node node : trip.customers) {
            const auto at = static_cast<std::size_t>(node);
            if (!type.forbidden.empty() && type.forbidden[at])
                return false;
            if (!sheet_.pinned_to.empty() && sheet_.pinned_to[at] >= 0 &&
                static_cast<std::size_t>(sheet_.pinned_to[at]) != number)
                return false;
        }
        return type.pinned.size() <= trip.customers.size() &&
               std::ranges::equal(type.pinned, trip.customers.first(type.pinned.size()));
    }

    bool is_visited_once(const Trip &trip, std::size_t number) {
        for (std::size_t position = 0; position < trip.customers.size(); ++position) {
            auto &visit = scratch_.visits[static_cast<std::size_t>(trip.customers[position])];
            if (visit.route != 0)
                return false;
            visit = {number, position};
        }
        return true;
    }

    bool fits_in(const Trip &trip) const {
        for (std::size_t kind = 0; kind < sheet_.kinds; ++kind) {
            const double capacity = trip.type.capacity[kind];
            if (std::isinf(capacity))
                continue;
            if (!(most_needed(trip.customers, kind) <= capacity + trip.type.slack[kind]))
                return false;
        }
        return true;
    }

    // The largest capacity that a kind of load needs anywhere on the route.
    double most_needed(std::span<const Node> customers, std::size_t kind) const {
        const auto demand = [&](Node node) {
            return sheet_.loads[static_cast<std::size_t>(node) * sheet_.kinds + kind];
        };
        double most = 0.0;
        if (sheet_.load_rule == LoadRule::pairs) { // the vehicle leaves empty
            double load = 0.0;
            for (const Node node : customers) {
                load -= demand(node);
                most = std::max(most, load);
            }
        } else if (sheet_.load_rule == LoadRule::separate) {
            // Deliveries still on board, and all that was collected.
            double to_deliver = 0.0, collected = 0.0;
            for (const Node node : customers)
                to_deliver += std::max(demand(node), 0.0);
            most = to_deliver;
            for (const Node node : customers) {
                if (demand(node) > 0.0)
                    to_deliver -= demand(node);
                else
                    collected -= demand(node);
                most = std::max(most, to_deliver + collected);
            }
        } else { // some starting load keeps the load between 0 and the capacity
            double prefix = 0.0, lowest = 0.0, highest = 0.0;
            for (const Node node : customers) {
                prefix += demand(node);
                lowest = std::min(lowest, prefix);
                highest = std::max(highest, prefix);
                most = std::max(most, highest - lowest);
            }
        }
        return most;
    }

    // Where backhauls come last, no delivery follows one.
    bool is_in_order(const Trip &trip) const {
        if (!sheet_.backhaul_last)
            return true;
        bool has_collected = false;
        for (const Node node : trip.customers) {
            const std::span loads(sheet_.loads + static_cast<std::size_t>(node) * sheet_.kinds,
                                  sheet_.kinds);
            if (std::ranges::any_of(loads, [](double load) { return load < 0.0; }))
                has_collected = true;
            else if (has_collected &&
                     std::ranges::any_of(loads, [](double load) { return load > 0.0; }))
                return false;
        }
        return true;
    }

    template <class Action> bool over_legs(const Trip &trip, Action &&action) const {
        for (std::size_t i = 1; i < trip.nodes.size(); ++i)
            if (!action(trip.nodes[i - 1], trip.nodes[i]))
                return false;
        return sheet_.has_depots || action(trip.nodes.back(), trip.nodes.front());
    }

    // Adds up the cost; every arc exists, and the route is not too long.
    bool travel(const Trip &trip) {
        cost_ += trip.type.fixed_cost;
        double length = 0.0;
        const bool exists = over_legs(trip, [&](Node origin, Node target) {
            const double leg = sheet_.distances.between(origin, target);
            length += leg;
            cost_ += leg;
            return !std::isinf(leg) &&
                   !(sheet_.durations && std::isinf(sheet_.durations->between(origin, target)));
        });
        return exists &&
               (std::isinf(length) || length <= trip.type.max_length + sheet_.length_slack);
    }

    bool is_in_time(const Trip &trip) const {
        const auto opening = [&](Node n) {
            return sheet_.windows[2 * static_cast<std::size_t>(n)];
        };
        const auto closing = [&](Node n) {
            return sheet_.windows[2 * static_cast<std::size_t>(n) + 1];
        };
        const auto service = [&](Node n) { return sheet_.service[static_cast<std::size_t>(n)]; };
        if (std::isinf(trip.type.back_by) &&
            std::ranges::all_of(trip.nodes, [&](Node n) { return std::isinf(closing(n)); }))
            return true; // nothing closes
        const Node first = trip.nodes.front();
        const Roads &roads = sheet_.durations ? *sheet_.durations : sheet_.distances;
        double clock = std::max(opening(first), trip.type.leaves_from);
        if (!is_depot(first))
            clock += service(first);
        bool is_late = false;
        over_legs(trip, [&](Node origin, Node target) {
            clock += roads.between(origin, target);
            if (std::isinf(clock))
                return false; // no time is known from here on
            is_late = clock > closing(target) + sheet_.time_slack;
            if (!is_depot(target))
                clock = std::max(clock, opening(target)) + service(target);
            return !is_late;
        });
        return !is_late && !(std::isfinite(clock) && clock > trip.type.back_by + sheet_.time_slack);
    }

    // -------------------------------------------------------------------- rules of the whole plan

    // No more vehicles of a type than there are, and those with pinned customers leave.
    bool are_enough() const {
        if (sheet_.uniform)
            return true;
        for (std::size_t number = 0; number < sheet_.types.size(); ++number) {
            const Type &type = sheet_.types[number];
            if (type.count >= 0 && scratch_.used[number] > type.count)
                return false;
            if (!type.pinned.empty() && scratch_.used[number] == 0)
                return false;
        }
        return true;
    }

    bool are_all_visited() const {
        for (Node node = 0; node < sheet_.size; ++node)
            if (!is_depot(node) && !is_visited(node) &&
                std::isinf(sheet_.penalty[static_cast<std::size_t>(node)]))
                return false;
        return true;
    }

    // Both of a pair or none, by the same vehicle, the pickup first.
    bool are_pairs_served() const {
        return std::ranges::all_of(sheet_.pairs, [&](const auto &pair) {
            const auto &pickup = scratch_.visits[static_cast<std::size_t>(pair.first)];
            const auto &delivery = scratch_.visits[static_cast<std::size_t>(pair.second)];
            return pickup.route == delivery.route &&
                   (pickup.route == 0 || pickup.position <= delivery.position);
        });
    }

    bool is_enough_prize() const {
        double found = 0.0, total = 0.0;
        bool is_all = true;
        for (Node node = 0; node < sheet_.size; ++node) {
            if (is_depot(node))
                continue;
            const double prize = sheet_.real_prize[static_cast<std::size_t>(node)];
            total += prize;
            if (is_visited(node))
                found += prize;
            else
                is_all = false;
        }
        return is_all || found >= std::min(sheet_.min_prize, total) - sheet_.prize_slack;
    }

    double collected() const {
        double prize = 0.0;
        for (Node node = 0; node < sheet_.size; ++node)
            if (!is_depot(node) && is_visited(node))
                prize += sheet_.prize[static_cast<std::size_t>(node)];
        return prize;
    }

    double with_penalties() const {
        double cost = cost_;
        for (Node node = 0; node < sheet_.size; ++node) {
            const double penalty = sheet_.penalty[static_cast<std::size_t>(node)];
            if (!is_depot(node) && !is_visited(node) && std::isfinite(penalty))
                cost += penalty;
        }
        return cost;
    }

    const Sheet &sheet_;
    Scratch &scratch_;
    double cost_ = 0.0;
};

} // namespace

double Roads::between(Node origin, Node target) const {
    if (origin == target)
        return 0.0;
    const auto from = static_cast<std::size_t>(origin), to = static_cast<std::size_t>(target);
    if (!by_points)
        return values[from * size + to];
    const double across = values[2 * from] - values[2 * to];
    const double along = values[2 * from + 1] - values[2 * to + 1];
    return rounded(measured(geometry, across, along), rounding);
}

std::optional<double> judge(const Sheet &sheet, std::span<const Route> routes, Scratch &scratch) {
    return Referee(sheet, scratch).plan(routes);
}

} // namespace spacevrp::judge
