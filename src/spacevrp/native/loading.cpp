// Plans that are given: what of them keeps the rules, and where a search begins without them.
#include "plan.hpp"

#include <algorithm>

namespace spacevrp {
namespace {

std::size_t at(int i) { return static_cast<std::size_t>(i); }

} // namespace

bool Plan::take(int type, const std::vector<Node> &stops) {
    const VehicleType &vehicle = model.vehicles[at(type)];
    if (available[at(type)] <= 0 || routes_left <= 0 || stops.size() < vehicle.pinned.size())
        return false;
    if (!std::equal(vehicle.pinned.begin(), vehicle.pinned.end(), stops.begin()))
        return false;
    known_.resize(at(model.size()), 0);
    ++stamp_;
    for (const Node node : stops) {
        if (node < 0 || node >= model.size() || !model.is_customer[at(node)] || known_[at(node)] ||
            seen_[at(node)] == stamp_)
            return false;
        seen_[at(node)] = stamp_;
    }
    if (checked_cost(type, stops.data(), static_cast<int>(stops.size())) == INFINITE)
        return false;
    if (model.relations.present && !may_take(stops))
        return false;
    for (const Node node : stops)
        known_[at(node)] = 1;
    const int number = empty_route();
    assign(number, type, stops.data(), static_cast<int>(stops.size()));
    for (const Node node : stops)
        if (model.is_head(node))
            from_bank(node);
    return true;
}

void Plan::load_part(const Routes &part, const std::vector<Node> &unserved,
                     const std::vector<int> &vehicles_left, int routes_allowed) {
    available = vehicles_left;
    routes_left = routes_allowed;
    for (const Node head : unserved)
        to_bank(head);
    for (std::size_t i = 0; i < part.stops.size(); ++i) {
        for (const Node node : part.stops[i])
            if (model.is_head(node))
                to_bank(node);
        take(part.types[i], part.stops[i]);
    }
}

void Plan::load(const Routes &plan) {
    known_.assign(at(model.size()), 0);
    for (const Node node : model.customers) {
        route_of[at(node)] = -1;
        if (model.is_head(node))
            to_bank(node);
    }
    collected = 0.0;
    std::vector<char> has_pins(model.vehicles.size(), 0);
    // Vehicles with pinned customers leave in any case, so they come first.
    for (const bool of_pinned : {true, false})
        for (std::size_t i = 0; i < plan.stops.size(); ++i) {
            const int type = i < plan.types.size() ? plan.types[i] : 0;
            if (type < 0 || type >= model.types() || plan.stops[i].empty())
                continue;
            if (model.vehicles[at(type)].pinned.empty() == of_pinned)
                continue;
            if (take(type, plan.stops[i]) && of_pinned)
                has_pins[at(type)] = 1;
        }
    for (int type = 0; type < model.types(); ++type) {
        std::vector<Node> stops = model.vehicles[at(type)].pinned;
        if (stops.empty() || has_pins[at(type)])
            continue;
        for (const Node node : model.vehicles[at(type)].pinned) {
            const Node other = model.partner[at(node)];
            if (other >= 0 && std::find(stops.begin(), stops.end(), other) == stops.end())
                stops.push_back(other);
        }
        if (!take(type, stops))
            take_with_one_more(type, stops);
    }
}

// Pinned customers who break a rule alone (the last may have no arc to the end, say), with the
// unit after them that keeps all at the least cost.
void Plan::take_with_one_more(int type, std::vector<Node> stops) {
    std::vector<std::pair<double, Node>> found;
    const auto before = static_cast<std::ptrdiff_t>(stops.size());
    const auto with = [&](Node head) {
        stops.erase(stops.begin() + before, stops.end());
        stops.push_back(head);
        if (model.partner[at(head)] >= 0)
            stops.push_back(model.partner[at(head)]);
    };
    for (const Node head : bank) {
        if (is_fixed[at(head)])
            continue;
        with(head);
        const double cost =
            checked_cost(type, stops.data(), static_cast<int>(stops.size())) - model.skip[at(head)];
        if (cost < INFINITE)
            found.emplace_back(cost, head);
    }
    std::sort(found.begin(), found.end());
    for (const auto &[cost, head] : found) {
        with(head);
        if (take(type, stops))
            return;
    }
}

Routes Plan::routes() const {
    Routes result;
    std::vector<int> order = active;
    std::sort(order.begin(), order.end());
    for (const int number : order) {
        const Route &r = route[at(number)];
        result.stops.emplace_back(r.node.begin() + 1, r.node.begin() + 1 + r.size);
        result.types.push_back(r.type);
    }
    return result;
}

} // namespace spacevrp
