#include "model.hpp"

#include "validation.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

namespace spacevrp {
namespace {

// The floor of a length: without newer instructions std::floor is a call, this is none.
double whole(double length) {
    return length < 1e15 ? static_cast<double>(static_cast<std::int64_t>(length))
                         : std::floor(length);
}

double rounded(double x, Rounding rounding) {
    switch (rounding) {
    case Rounding::nearest:
        return whole(x + 0.5);
    case Rounding::up:
        return std::ceil(x);
    case Rounding::down:
        return whole(x);
    case Rounding::one_decimal:
        return whole(x * 10.0) / 10.0;
    case Rounding::none:
        break;
    }
    return x;
}

// TSPLIB's GEO: coordinates DDD.MM, its own pi and radius.
double geo_radians(double degrees_minutes) {
    const double degrees = std::trunc(degrees_minutes);
    return 3.141592 * (degrees + 5.0 * (degrees_minutes - degrees) / 3.0) / 180.0;
}

double geo(const double *a, const double *b) {
    const double q1 = std::cos(geo_radians(a[1]) - geo_radians(b[1]));
    const double q2 = std::cos(geo_radians(a[0]) - geo_radians(b[0]));
    const double q3 = std::cos(geo_radians(a[0]) + geo_radians(b[0]));
    const double cosine = 0.5 * ((1.0 + q1) * q2 - (1.0 - q1) * q3);
    return 6378.388 * std::acos(std::clamp(cosine, -1.0, 1.0)) + 1.0;
}

} // namespace

Model::Model(Input input) {
    size_ = input.size;
    kinds_ = input.kinds;
    if (size_ < 1)
        refuse("size", "at least one node", std::to_string(size_));
    if (kinds_ < 1)
        refuse("demand", "at least one kind of load", std::to_string(kinds_));
    const auto n = static_cast<std::size_t>(size_), d = static_cast<std::size_t>(kinds_);
    check_length("demand", input.demand.size(), n * d);
    check_length("opening", input.opening.size(), n);
    check_length("closing", input.closing.size(), n);
    check_length("service", input.service.size(), n);
    check_length("penalty", input.penalty.size(), n);
    check_length("prize", input.prize.size(), n);
    check_length("partner", input.partner.size(), n);
    check_length("is_pickup", input.is_pickup.size(), n);
    check_values("demand", input.demand, Range::finite);
    check_values("opening", input.opening, Range::finite);
    check_values("closing", input.closing, Range::any);
    check_values("service", input.service, Range::not_negative);
    check_values("penalty", input.penalty, Range::not_negative_or_infinite);
    check_values("prize", input.prize, Range::not_negative);
    check_values("min_prize", {input.min_prize}, Range::finite);
    check_values("time_slack", {input.time_slack}, Range::not_negative);
    read_distances(input);
    is_customer.assign(n + 1, 0);
    for (const Node node : input.customers) {
        if (node < 0 || node >= size_)
            refuse("customers", "nodes from 0 to " + std::to_string(size_ - 1),
                   std::to_string(node));
        if (is_customer[at(node)])
            refuse("customers", "each once", "node " + std::to_string(node) + " twice");
        is_customer[at(node)] = 1;
    }
    customers = input.customers;
    timed = input.timed;
    opening = std::move(input.opening);
    closing = std::move(input.closing);
    service = std::move(input.service);
    time_slack = input.time_slack;
    for (double &time : closing)
        time += time_slack;
    opening.push_back(-INFINITE);
    closing.push_back(INFINITE);
    service.push_back(0.0);
    for (std::size_t i = 0; i <= n; ++i)
        if (!is_customer[i])
            service[i] = 0.0;
    demands = std::move(input.demand);
    demands.resize((n + 1) * d, 0.0);
    deliveries.resize(demands.size());
    for (std::size_t i = 0; i < demands.size(); ++i)
        deliveries[i] = std::max(demands[i], 0.0);
    partner = std::move(input.partner);
    is_pickup = std::move(input.is_pickup);
    prize = std::move(input.prize);
    load_rule = input.load_rule;
    backhaul_last = input.backhaul_last;
    max_routes = input.max_routes < 0 ? -1 : input.max_routes;
    min_prize = std::max(input.min_prize, 0.0);
    maximise_prize = input.maximise_prize;
    read_vehicles(input);
    read_relations(std::move(input.relations));
    read_units(input);
    if (!relations.priority.empty())
        add_up_priorities();
    rich = relations.rides;
    read_rules(std::move(input.rules));
    if (input.candidate_width > 0) {
        check_length("candidates", input.candidates.size(),
                     n * static_cast<std::size_t>(input.candidate_width));
        for (const Node node : input.candidates)
            if (node >= size_ || (node >= 0 && !is_customer[at(node)]))
                refuse("candidates", "customers, or -1", std::to_string(node));
    }
    find_neighbours(input);
    double sum = 0.0;
    for (VehicleType &type : vehicles) {
        type.weight = maximise_prize ? arc_weight : type.unit_cost;
        sum += type.weight;
    }
    if (rich)
        sum += priced_time();
    if (sum > 0.0)
        arc_weight = sum / static_cast<double>(vehicles.size());
    price_objective();
}

void Model::read_distances(const Input &input) {
    const auto n = static_cast<std::size_t>(size_);
    if (input.distances.empty()) {
        check_length("coordinates", input.coordinates.size(), 2 * n);
        check_values("coordinates", input.coordinates, Range::finite);
    } else {
        check_length("distances", input.distances.size(), n * n);
        check_values("distances", input.distances, Range::not_negative_or_infinite);
    }
    points_ = input.coordinates;
    if (!points_.empty())
        check_length("coordinates", points_.size(), 2 * n);
    geometry_ = input.geometry;
    rounding_ = input.rounding;
    const auto widened = [&](const std::vector<double> &given) {
        std::vector<double> wide((n + 1) * (n + 1), 0.0);
        for (std::size_t i = 0; i < n; ++i) {
            for (std::size_t j = 0; j < n; ++j)
                wide[i * (n + 1) + j] = i == j ? 0.0 : given[i * n + j];
        }
        return wide;
    };
    if (!input.distances.empty()) {
        matrix_ = widened(input.distances);
        for (std::size_t i = 0; i < n && symmetric; ++i)
            for (std::size_t j = 0; j < i; ++j)
                if (matrix_[i * (n + 1) + j] != matrix_[j * (n + 1) + i]) {
                    symmetric = false;
                    break;
                }
        if (!symmetric) {
            transposed_.resize(matrix_.size());
            for (std::size_t i = 0; i <= n; ++i)
                for (std::size_t j = 0; j <= n; ++j)
                    transposed_[j * (n + 1) + i] = matrix_[i * (n + 1) + j];
        }
    }
    if (!input.durations.empty()) {
        check_length("durations", input.durations.size(), n * n);
        check_values("durations", input.durations, Range::not_negative_or_infinite);
        durations_ = widened(input.durations);
        durations_back_.resize(durations_.size());
        for (std::size_t i = 0; i <= n; ++i)
            for (std::size_t j = 0; j <= n; ++j)
                durations_back_[j * (n + 1) + i] = durations_[i * (n + 1) + j];
        // An arc that cannot be travelled in time cannot be travelled: one look at the distance
        // is then enough wherever times do not matter.
        if (!matrix_.empty()) {
            for (std::size_t i = 0; i < durations_.size(); ++i)
                if (std::isinf(durations_[i])) {
                    matrix_[i] = INFINITE;
                    if (!transposed_.empty())
                        transposed_[(i % (n + 1)) * (n + 1) + i / (n + 1)] = INFINITE;
                }
            if (transposed_.empty()) { // durations may miss arcs in one direction only
                for (std::size_t i = 0; i < n && symmetric; ++i)
                    for (std::size_t j = 0; j < i; ++j)
                        if (matrix_[i * (n + 1) + j] != matrix_[j * (n + 1) + i])
                            symmetric = false;
                if (!symmetric) {
                    transposed_.resize(matrix_.size());
                    for (std::size_t i = 0; i <= n; ++i)
                        for (std::size_t j = 0; j <= n; ++j)
                            transposed_[j * (n + 1) + i] = matrix_[i * (n + 1) + j];
                }
            }
        }
    }
}

double Model::measured(Node from, Node to) const {
    if (from == to || from == size_ || to == size_)
        return 0.0;
    const double *a = points_.data() + 2 * at(from), *b = points_.data() + 2 * at(to);
    const double across = a[0] - b[0], along = a[1] - b[1];
    double raw = 0.0;
    switch (geometry_) {
    case Geometry::euclidean:
        raw = std::sqrt(across * across + along * along);
        break;
    case Geometry::manhattan:
        raw = std::abs(across) + std::abs(along);
        break;
    case Geometry::chebyshev:
        raw = std::max(std::abs(across), std::abs(along));
        break;
    case Geometry::att:
        raw = std::sqrt((across * across + along * along) / 10.0);
        break;
    case Geometry::geo:
        raw = geo(a, b);
        break;
    }
    return rounded(raw, rounding_);
}

void Model::read_vehicles(const Input &input) {
    const auto n = static_cast<std::size_t>(size_), d = static_cast<std::size_t>(kinds_);
    const std::size_t k = input.start.size();
    if (k == 0)
        refuse("start", "at least one vehicle type", "none");
    check_length("end", input.end.size(), k);
    check_length("capacity", input.capacity.size(), k * d);
    check_length("fixed_cost", input.fixed_cost.size(), k);
    check_length("unit_cost", input.unit_cost.size(), k);
    check_length("max_length", input.max_length.size(), k);
    check_length("max_duration", input.max_duration.size(), k);
    check_length("leaves_from", input.leaves_from.size(), k);
    check_length("back_by", input.back_by.size(), k);
    check_length("count", input.count.size(), k);
    check_length("pinned", input.pinned.size(), k);
    check_values("capacity", input.capacity, Range::not_negative_or_infinite);
    check_values("fixed_cost", input.fixed_cost, Range::not_negative);
    check_values("unit_cost", input.unit_cost, Range::not_negative);
    check_values("max_length", input.max_length, Range::not_negative_or_infinite);
    check_values("max_duration", input.max_duration, Range::not_negative_or_infinite);
    check_values("leaves_from", input.leaves_from, Range::any);
    check_values("back_by", input.back_by, Range::any);
    if (!input.allowed.empty()) {
        check_length("allowed", input.allowed.size(), k * n);
        allowed_ = input.allowed;
        restricted = true;
    }
    std::vector<char> taken(n, 0);
    for (std::size_t t = 0; t < k; ++t) {
        VehicleType type;
        type.start = input.start[t];
        type.end = input.end[t] == -1 ? nowhere() : input.end[t];
        for (const Node node : {type.start, input.end[t] == -1 ? type.start : type.end}) {
            if (node < 0 || node >= size_)
                refuse("start and end", "nodes from 0 to " + std::to_string(size_ - 1),
                       std::to_string(node));
            if (is_customer[at(node)])
                refuse("start and end", "depots", "customer " + std::to_string(node));
        }
        type.capacity.assign(input.capacity.begin() + static_cast<std::ptrdiff_t>(t * d),
                             input.capacity.begin() + static_cast<std::ptrdiff_t>((t + 1) * d));
        type.fixed_cost = input.fixed_cost[t];
        type.unit_cost = input.unit_cost[t];
        type.max_length = input.max_length[t];
        type.max_duration = input.max_duration[t];
        type.leaves = std::max(opening[at(type.start)], input.leaves_from[t]);
        type.back_by = std::min(closing[at(type.end)], input.back_by[t]);
        type.count = input.count[t] < 0 ? -1 : input.count[t];
        type.pinned = input.pinned[t];
        for (const Node node : type.pinned) {
            if (node < 0 || node >= size_ || !is_customer[at(node)])
                refuse("pinned", "customers", std::to_string(node));
            if (taken[at(node)])
                refuse("pinned", "each customer once", std::to_string(node) + " twice");
            taken[at(node)] = 1;
        }
        if (!type.pinned.empty() && type.count != 1)
            refuse("count", "1 for a vehicle with pinned customers", std::to_string(type.count));
        for (int kind = 0; kind < kinds_; ++kind)
            loaded = loaded || std::isfinite(type.capacity[static_cast<std::size_t>(kind)]);
        limited_length = limited_length || std::isfinite(type.max_length);
        limited_duration = limited_duration || std::isfinite(type.max_duration);
        vehicles.push_back(std::move(type));
    }
    timed = timed || limited_duration;
    bool up = false, down = false;
    sign.assign(n + 1, 0);
    for (std::size_t i = 0; i < n; ++i)
        for (std::size_t kind = 0; kind < d; ++kind) {
            const double amount = demands[i * d + kind];
            up = up || amount > 0.0;
            down = down || amount < 0.0;
            if (amount != 0.0)
                sign[i] = amount > 0.0 ? 1 : -1;
        }
    loaded = loaded && (up || down || load_rule == LoadRule::mixed);
    plain_load = !(up && down) && load_rule != LoadRule::pairs && load_rule != LoadRule::mixed;
    backhaul_last = backhaul_last && up && down;
}

void Model::read_units(const Input &input) {
    const auto n = static_cast<std::size_t>(size_);
    for (const Node node : customers) {
        const Node other = partner[at(node)];
        if (other < 0) {
            partner[at(node)] = -1;
            continue;
        }
        paired = true;
        if (other >= size_ || !is_customer[at(other)] || other == node ||
            partner[at(other)] != node)
            refuse("partner", "pairs of customers, each the other's partner",
                   std::to_string(node) + " with " + std::to_string(other));
        if ((is_pickup[at(node)] != 0) == (is_pickup[at(other)] != 0))
            refuse("is_pickup", "one pickup and one delivery a pair",
                   std::to_string(node) + " and " + std::to_string(other));
        // The search relies on it: a pair that is served leaves the load as it was.
        for (int kind = 0; kind < kinds_ && is_pickup[at(node)]; ++kind)
            if (!(demand(node, kind) <= 0.0) || demand(node, kind) != -demand(other, kind))
                refuse("demand", "a pickup (negative) equal to the delivery of its pair",
                       text(demand(node, kind)) + " at " + std::to_string(node) + ", " +
                           text(demand(other, kind)) + " at " + std::to_string(other));
    }
    if (paired && load_rule != LoadRule::pairs && load_rule != LoadRule::mixed)
        refuse("load_rule", "pairs or mixed where there are pairs", "another");
    if (paired && input.backhaul_last)
        refuse("backhaul_last", "False where there are pairs", "True");
    for (std::size_t i = 0; i < n; ++i)
        if (!is_customer[i])
            partner[i] = -1;
    node_penalty = input.penalty;
    compulsory_node.assign(n, 0);
    skip.assign(n, 0.0);
    compulsory.assign(n, 0);
    unit_prize.assign(n, 0.0);
    for (const Node node : customers) {
        const Node first = head(node);
        const double price = input.penalty[at(node)];
        if (std::isinf(price)) {
            compulsory_node[at(node)] = 1;
            compulsory[at(first)] = 1;
        }
        // The prize of compulsory customers counts, too.
        if (maximise_prize)
            skip[at(first)] += prize[at(node)];
        else if (std::isfinite(price))
            skip[at(first)] += price;
        unit_prize[at(first)] += prize[at(node)];
    }
    for (const Node node : customers)
        has_optional = has_optional ||
                       (is_head(node) && !compulsory[at(node)] && !relations.is_required(node));
}

double Model::alone(int type, Node first) const {
    const VehicleType &vehicle = vehicles[static_cast<std::size_t>(type)];
    const Node stops[2] = {first, partner[at(first)]};
    const int count = stops[1] < 0 ? 1 : 2;
    double length = 0.0, clock = vehicle.leaves;
    Node last = vehicle.start;
    std::vector<double> load(static_cast<std::size_t>(kinds_), 0.0);
    for (int i = 0; i < count; ++i) {
        const Node node = stops[i];
        if (!may_serve(type, node))
            return INFINITE;
        length += distance(last, node);
        if (timed) {
            clock += duration(last, node);
            if (!(clock <= closing[at(node)]))
                return INFINITE;
            clock = std::max(clock, opening[at(node)]) + service[at(node)];
        }
        for (int kind = 0; kind < kinds_; ++kind) {
            load[static_cast<std::size_t>(kind)] += demand(node, kind);
            const double sum = load[static_cast<std::size_t>(kind)];
            double carried = count == 2 ? std::max(-sum, 0.0) : std::abs(sum);
            if (load_rule == LoadRule::mixed && count == 1)
                carried = std::max(delivered(node, kind), delivered(node, kind) - sum);
            if (!(carried <= vehicle.capacity[static_cast<std::size_t>(kind)]))
                return INFINITE;
        }
        last = node;
    }
    length += distance(last, vehicle.end);
    if (timed && !(clock + duration(last, vehicle.end) <= vehicle.back_by))
        return INFINITE;
    if (!(length <= vehicle.max_length) || !std::isfinite(length))
        return INFINITE;
    if (limited_duration && !in_duration(type, stops, count))
        return INFINITE;
    return length;
}

} // namespace spacevrp
