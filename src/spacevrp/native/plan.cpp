#include "plan.hpp"

#include <algorithm>

namespace spacevrp {
namespace {

constexpr int UNLIMITED = 1 << 29;

std::size_t at(int i) { return static_cast<std::size_t>(i); }

// A length this many times what is left loses too many digits of it.
constexpr double MOST_LOST = 1e6;
// Sums in another order differ by this share at most.
constexpr double ROUNDING = 1e-9;

} // namespace

Plan::Plan(const Model &problem)
    : model(problem), route_of(at(problem.size() + 1), -2), position(at(problem.size() + 1), 0),
      bank_slot(at(problem.size()), -1), seen_(at(problem.size() + 1), 0), rules_(problem),
      low_(at(problem.kinds())), high_(at(problem.kinds())), sum_(at(problem.kinds())),
      out_(at(problem.kinds())) {
    for (const VehicleType &type : model.vehicles)
        available.push_back(type.count < 0 ? UNLIMITED : type.count);
    routes_left = model.max_routes < 0 ? UNLIMITED : model.max_routes;
    chosen.assign(model.relations.groups.size(), NOT_HERE);
    keeps_books_ =
        !chosen.empty() || !model.relations.priority.empty() || model.relations.counts_nodes;
    is_fixed.assign(at(model.size()), 0);
    for (const VehicleType &type : model.vehicles)
        for (const Node node : type.pinned) {
            is_fixed[at(node)] = 1;
            if (model.partner[at(node)] >= 0)
                is_fixed[at(model.partner[at(node)])] = 1;
        }
}

Value Plan::value() const {
    Value result;
    result.missing = missing;
    result.shortage = shortage();
    result.travel = travel;
    // With prize maximised, `skipped` is the prize that is left out.
    result.cost = model.maximise_prize ? skipped : travel + fixed + skipped;
    if (keeps_books_) {
        result.missing = left_out;
        result.lost = lost;
    }
    if (!model.relations.plain_objective)
        add_terms(result);
    return result;
}

// ------------------------------------------------------------------------------ the bank

void Plan::to_bank(Node head) {
    if (bank_slot[at(head)] >= 0)
        return;
    bank_slot[at(head)] = static_cast<int>(bank.size());
    bank.push_back(head);
    route_of[at(head)] = -1;
    const Node other = model.partner[at(head)];
    if (other >= 0)
        route_of[at(other)] = -1;
    if (model.compulsory[at(head)])
        ++missing;
    if (keeps_books_)
        leave(head);
    skipped += model.skip[at(head)];
    collected -= model.unit_prize[at(head)];
}

void Plan::from_bank(Node head) {
    const int slot = bank_slot[at(head)];
    if (slot < 0)
        return;
    bank[at(slot)] = bank.back();
    bank_slot[at(bank.back())] = slot;
    bank.pop_back();
    bank_slot[at(head)] = -1;
    if (model.compulsory[at(head)])
        --missing;
    if (keeps_books_)
        join(head);
    skipped -= model.skip[at(head)];
    collected += model.unit_prize[at(head)];
    if (bank.empty())
        skipped = 0.0; // no rounding errors add up
}

// ---------------------------------------------------------------------------------- routes

int Plan::empty_route() {
    while (!free_.empty()) {
        const int number = free_.back();
        free_.pop_back();
        route[at(number)].listed = false;
        if (route[at(number)].slot < 0) // otherwise it was given back to its customers since
            return number;
    }
    route.emplace_back();
    return static_cast<int>(route.size()) - 1;
}

void Plan::reserve(Route &r, int count) const {
    const std::size_t need = at(count + 2);
    if (r.node.size() >= need)
        return;
    const std::size_t room = need + need / 2 + 8;
    r.node.resize(room);
    r.arc.resize(room);
    r.so_far.resize(room);
    if (!model.symmetric)
        r.reversed.resize(room);
    if (model.timed) {
        r.early.resize(room);
        r.leave.resize(room);
        r.late.resize(room);
        if (model.limited_duration)
            for (auto *array : {&r.busy, &r.latest_start, &r.soonest_end})
                array->resize(room);
    }
    if (model.relations.lifo)
        r.open.resize(room);
    if (model.loaded) {
        const std::size_t kinds = at(model.kinds());
        r.total.resize(kinds);
        r.deliveries.resize(kinds);
        if (!model.plain_load)
            for (auto *array :
                 {&r.handed, &r.highest, &r.lowest, &r.highest_after, &r.lowest_after})
                array->resize(room * kinds);
    }
}

void Plan::count_out(int number) {
    Route &r = route[at(number)];
    if (r.slot < 0)
        return;
    const VehicleType &type = model.vehicles[at(r.type)];
    fixed -= type.fixed_cost;
    ++available[at(r.type)];
    ++routes_left;
    active[at(r.slot)] = active.back();
    route[at(active.back())].slot = r.slot;
    active.pop_back();
    r.slot = -1;
    if (active.empty())
        fixed = 0.0;
    change_travel(0.0, r.cost);
}

void Plan::change_travel(double more, double less) {
    travel += more - less;
    // Next to a huge arc that is gone small ones were lost, and next to a missing one everything:
    // then the routes are added up again.
    if (!(less <= MOST_LOST * std::abs(travel)) || !std::isfinite(travel)) {
        travel = 0.0;
        for (const int number : active)
            travel += route[at(number)].cost;
    }
}

void Plan::count_in(int number) {
    Route &r = route[at(number)];
    const VehicleType &type = model.vehicles[at(r.type)];
    travel += r.cost;
    fixed += type.fixed_cost;
    --available[at(r.type)];
    --routes_left;
    r.slot = static_cast<int>(active.size());
    active.push_back(number);
}

bool Plan::assign(int number, int type, const Node *stops, int count, const double *arcs,
                  const double *extra) {
    Route &r = route[at(number)];
    const bool stays = r.slot >= 0 && r.type == type && count > 0;
    if (!stays)
        count_out(number);
    r.type = type;
    reserve(r, count);
    std::copy(stops, stops + count, r.node.begin() + 1);
    r.size = count;
    r.pinned = static_cast<int>(model.vehicles[at(type)].pinned.size());
    r.node[0] = model.vehicles[at(type)].start;
    r.node[at(count + 1)] = model.vehicles[at(type)].end;
    if (arcs != nullptr)
        std::copy(arcs, arcs + count + 1, r.arc.begin());
    else
        for (int p = 0; p <= count; ++p)
            r.arc[at(p)] = model.distance(r.node[at(p)], r.node[at(p + 1)]);
    const bool legal = refresh(number, 1, -1, extra);
    if (count > 0) {
        if (!stays)
            count_in(number);
    } else if (!r.listed) {
        r.listed = true;
        free_.push_back(number);
    }
    return legal;
}

bool Plan::refresh(int number, int from, Node added, const double *extra) {
    Route &r = route[at(number)];
    r.version = ++versions_;
    const VehicleType &type = model.vehicles[at(r.type)];
    const int m = r.size;
    const double before = r.cost;
    const Node *node = r.node.data();
    double sum = from > 1 ? r.so_far[at(from - 1)] : 0.0;
    for (int p = from - 1; p <= m; ++p) {
        r.so_far[at(p)] = sum;
        sum += r.arc[at(p)];
    }
    r.so_far[at(m + 1)] = sum;
    r.length = sum;
    if (!model.symmetric) {
        double back = 0.0;
        for (int p = 0; p <= m; ++p) {
            r.reversed[at(p)] = back;
            back += p == 0 || p == m ? 0.0 : model.distance(node[p + 1], node[p]);
        }
        r.reversed[at(m + 1)] = back;
    }
    for (int p = from; p <= m; ++p) {
        route_of[at(node[p])] = number;
        position[at(node[p])] = p;
    }
    bool legal = std::isfinite(sum) && sum <= type.max_length;
    r.cost = type.weight * r.length;
    if (model.rich) {
        RouteValue whole{true, extra == nullptr ? 0.0 : *extra};
        if (extra == nullptr)
            whole = legal ? whole_route(r.type, node + 1, m) : RouteValue{};
        r.trips.rest.clear();
        if (m > 0 && !model.rules.types[at(r.type)].reload_depots.empty() &&
            model.load_rule != LoadRule::pairs)
            rules_.find_lengths(r.type, node + 1, m, r.trips);
        r.extra = whole.extra;
        r.cost += whole.extra;
        legal = legal && whole.feasible;
    }
    if (r.slot >= 0)
        change_travel(r.cost, before);
    if (model.relations.measured)
        r.takes = takes(r.type, node + 1, m);
    if (model.relations.lifo) {
        r.open[0] = 0;
        for (int p = 1; p <= m; ++p) {
            const int step = model.partner[at(node[p])] < 0 ? 0
                             : model.is_pickup[at(node[p])] ? 1
                                                            : -1;
            r.open[at(p)] = r.open[at(p - 1)] + step;
        }
    }
    if (model.backhaul_last) {
        r.first_backhaul = m + 1;
        r.last_linehaul = 0;
        for (int p = 1; p <= m; ++p) {
            if (model.sign[at(node[p])] > 0)
                r.last_linehaul = p;
            else if (model.sign[at(node[p])] < 0 && r.first_backhaul > m)
                r.first_backhaul = p;
        }
        legal = legal && r.last_linehaul < r.first_backhaul;
    }
    if (model.loaded && model.plain_load && added >= 0)
        for (int kind = 0; kind < model.kinds(); ++kind) {
            r.total[at(kind)] += model.demand(added, kind);
            legal = legal && std::abs(r.total[at(kind)]) <= type.capacity[at(kind)];
            if (kind == 0)
                r.spare = type.capacity[0] * (1.0 + ROUNDING) - std::abs(r.total[0]);
        }
    else if (model.loaded)
        legal = refresh_load(r) && legal;
    if (model.timed)
        legal = refresh_time(r) && legal;
    return legal;
}

bool Plan::refresh_load(Route &r) const {
    const int m = r.size, kinds = model.kinds();
    const std::vector<double> &capacity = model.vehicles[at(r.type)].capacity;
    bool legal = true;
    for (int kind = 0; kind < kinds; ++kind) {
        double sum = 0.0;
        if (model.plain_load) {
            for (int p = 1; p <= m; ++p)
                sum += model.demand(r.node[at(p)], kind);
            r.total[at(kind)] = sum;
            legal = legal && std::abs(sum) <= capacity[at(kind)];
            if (kind == 0)
                r.spare = capacity[0] * (1.0 + ROUNDING) - std::abs(sum);
            continue;
        }
        double high = 0.0, low = 0.0, deliveries = 0.0;
        const auto cell = [&](int p) { return at(p * kinds + kind); };
        r.handed[cell(0)] = r.highest[cell(0)] = r.lowest[cell(0)] = 0.0;
        for (int p = 1; p <= m; ++p) {
            const double amount = model.demand(r.node[at(p)], kind);
            sum += amount;
            deliveries += model.delivered(r.node[at(p)], kind);
            high = std::max(high, sum);
            low = std::min(low, sum);
            r.handed[cell(p)] = sum;
            r.highest[cell(p)] = high;
            r.lowest[cell(p)] = low;
        }
        r.total[at(kind)] = sum;
        r.deliveries[at(kind)] = deliveries;
        legal = legal && room_needed(model.load_rule, low, high, deliveries) <= capacity[at(kind)];
        high = -INFINITE;
        low = INFINITE;
        r.highest_after[cell(m + 1)] = high;
        r.lowest_after[cell(m + 1)] = low;
        for (int p = m; p >= 0; --p) {
            high = std::max(high, r.handed[cell(p)]);
            low = std::min(low, r.handed[cell(p)]);
            r.highest_after[cell(p)] = high;
            r.lowest_after[cell(p)] = low;
        }
    }
    return legal;
}

bool Plan::refresh_time(Route &r) const {
    const int m = r.size;
    const VehicleType &type = model.vehicles[at(r.type)];
    bool legal = true;
    double clock = type.leaves;
    r.early[0] = r.leave[0] = clock;
    for (int p = 1; p <= m; ++p) {
        const Node node = r.node[at(p)];
        clock += model.duration(r.node[at(p - 1)], node);
        legal = legal && clock <= model.closing[at(node)];
        clock = std::max(clock, model.opening[at(node)]);
        r.early[at(p)] = clock;
        clock += model.service[at(node)];
        r.leave[at(p)] = clock;
    }
    clock += model.duration(r.node[at(m)], type.end);
    r.early[at(m + 1)] = clock;
    legal = legal && clock <= type.back_by;
    double latest = type.back_by;
    r.late[at(m + 1)] = latest;
    for (int p = m; p >= 0; --p) {
        const Node node = r.node[at(p)];
        latest -= model.duration(node, r.node[at(p + 1)]) + model.service[at(node)];
        if (p > 0)
            latest = std::min(latest, model.closing[at(node)]);
        r.late[at(p)] = latest;
    }
    if (!r.trips.rest.empty())
        rules_.bound_times(r.type, r.node.data() + 1, m, r.leave.data(), r.late.data());
    return legal && (!model.limited_duration || refresh_duration(r));
}

int Plan::insert(Node head, const Place &place) {
    const Node other = model.partner[at(head)];
    int number = place.route;
    if (number < 0) {
        number = empty_route();
        const Node stops[2] = {head, other};
        assign(number, place.type, stops, other < 0 ? 1 : 2);
    } else {
        Route &r = route[at(number)];
        reserve(r, r.size + 2);
        const auto put = [&](int after, Node node) {
            std::copy_backward(r.node.begin() + after + 1, r.node.begin() + r.size + 2,
                               r.node.begin() + r.size + 3);
            std::copy_backward(r.arc.begin() + after + 1, r.arc.begin() + r.size + 1,
                               r.arc.begin() + r.size + 2);
            r.node[at(after + 1)] = node;
            r.arc[at(after)] = model.distance(r.node[at(after)], node);
            r.arc[at(after + 1)] = model.distance(node, r.node[at(after + 2)]);
            ++r.size;
        };
        put(place.first, head);
        if (other >= 0)
            put(place.second + 1, other);
        refresh(number, place.first + 1, other < 0 ? head : -1,
                model.rich && r.trips.rest.empty() ? &place.extra : nullptr);
    }
    return number;
}

} // namespace spacevrp
