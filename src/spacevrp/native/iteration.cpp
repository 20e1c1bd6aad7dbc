// One iteration: what is taken out, in which order it goes back, and how all of it is undone.
#include "search.hpp"

#include <algorithm>
#include <cmath>

namespace spacevrp {
namespace {

std::size_t at(int i) { return static_cast<std::size_t>(i); }

// Units of the bank that an iteration tries, beside those just taken out.
constexpr int FROM_BANK = 12, INVITED = 60;
constexpr double NEAR_BANK = 0.5, BY_WORTH = 0.6;
// Share of ruins that take the nearest customers instead of strings.
constexpr double RADIAL = 0.1;
// Where customers are left out, so often their neighbours are taken out.
constexpr double MAKES_ROOM = 0.4;
// Share of ruins that take out all who must be on one route, and of members of a group that an
// insertion overlooks.
constexpr double WHOLE_SETS = 0.7, OVERLOOKED = 0.05;
// How much dearer it becomes with each iteration to leave a customer out, as a share of the price:
// by so much divided by the number of customers, within bounds. When one is so many times the price
// it began with, all rises are halved: what matters is who was left out of late, and rises without
// bounds would outweigh all costs.
constexpr double DEARER = 0.04, LEAST_DEARER = 0.0002, MOST_DEARER = 0.001, DEAREST = 1.5;

} // namespace

void Search::touch(int number) {
    if (at(number) >= touched_.size())
        touched_.resize(plan.route.size(), 0);
    if (touched_[at(number)] == stamp_)
        return;
    touched_[at(number)] = stamp_;
    const Route &r = plan.route[at(number)];
    const int size = r.slot < 0 ? 0 : r.size;
    saved_.push_back({number, r.type, static_cast<int>(arena_.size()), size,
                      static_cast<int>(arcs_.size()), r.version, r.extra});
    if (size > 0) {
        arena_.insert(arena_.end(), r.node.begin() + 1, r.node.begin() + 1 + size);
        arcs_.insert(arcs_.end(), r.arc.begin(), r.arc.begin() + 1 + size);
    }
}

void Search::forget_saved() {
    saved_.clear();
    arena_.clear();
    arcs_.clear();
}

void Search::undo() {
    // Those taken from the bank go back to it, those taken out go back to their routes.
    for (const Node head : taken_from_bank_)
        plan.to_bank(head);
    for (const Node head : removed_)
        plan.from_bank(head);
    // New routes are emptied first, and those that another vehicle drives: then there are vehicles
    // for the old ones.
    for (const Saved &saved : saved_) {
        const Route &r = plan.route[at(saved.route)];
        if (r.slot >= 0 && (saved.size == 0 || r.type != saved.type))
            plan.assign(saved.route, r.type, nullptr, 0);
    }
    for (const Saved &saved : saved_)
        if (saved.size > 0)
            put_back(saved);
}

void Search::put_back(const Saved &saved) {
    plan.assign(saved.route, saved.type, arena_.data() + saved.first, saved.size,
                arcs_.data() + saved.first_arc, &saved.extra);
    plan.route[at(saved.route)].version = saved.version; // what is known of it is true again
}

// A route that has become what it was is known.
void Search::recognise(const Saved &saved) {
    Route &r = plan.route[at(saved.route)];
    if (r.slot >= 0 && r.size == saved.size && r.type == saved.type &&
        std::equal(r.node.begin() + 1, r.node.begin() + 1 + r.size, arena_.begin() + saved.first))
        r.version = saved.version;
}

void Search::mark(Node node) {
    if (plan.is_fixed[at(node)] || gone_[at(node)] == stamp_)
        return;
    gone_[at(node)] = stamp_;
    removed_.push_back(model_.head(node));
    const Node other = model_.partner[at(node)];
    if (other >= 0)
        gone_[at(other)] = stamp_;
    if (whole_sets_)
        for (const Node one : {node, other})
            if (one >= 0)
                for (const Node mate : model_.relations.together[at(one)])
                    if (plan.route_of[at(mate)] >= 0) {
                        touch(plan.route_of[at(mate)]);
                        mark(mate);
                    }
}

void Search::take_string(Node node, int length) {
    const int number = plan.route_of[at(node)];
    const Route &r = plan.route[at(number)];
    touch(number);
    int kept = 0;
    if (length > 1 && length < r.size && random_.uniform() < 0.5) {
        kept = 1;
        while (length + kept < r.size && random_.uniform() < 0.01)
            ++kept;
    }
    const int window = length + kept;
    const int here = plan.position[at(node)];
    const int low = std::max(1, here - window + 1), high = std::min(here, r.size - window + 1);
    const int first = low + random_.below(std::max(high - low + 1, 1));
    const int gap = kept > 0 ? first + random_.below(length + 1) : first + window;
    for (int p = first; p < first + window && p <= r.size; ++p)
        if (p < gap || p >= gap + kept)
            mark(r.node[at(p)]);
}

void Search::take_radius(Node seed, int count) {
    const auto take = [&](Node node) {
        if (plan.route_of[at(node)] < 0 || gone_[at(node)] == stamp_)
            return;
        touch(plan.route_of[at(node)]);
        mark(node);
        --count;
    };
    take(seed);
    const Node *near = model_.near(seed);
    for (int i = 0; i < model_.width && near[i] >= 0 && count > 0; ++i)
        if (random_.uniform() < 0.7)
            take(near[i]);
}

void Search::ruin() {
    ++stamp_;
    forget_saved();
    removed_.clear();
    taken_from_bank_.clear();
    const int routes = static_cast<int>(plan.active.size());
    if (units_.empty())
        return;
    if (routes == 0) {
        seed_ = units_[at(random_.below(static_cast<int>(units_.size())))];
        return;
    }
    whole_sets_ = !model_.relations.together.empty() && random_.uniform() < WHOLE_SETS;
    const bool makes_room = plan.missing > 0 && random_.uniform() < MAKES_ROOM;
    const std::vector<Node> &from = makes_room && !plan.bank.empty() ? plan.bank : units_;
    const Node seed = seed_ = from[at(random_.below(static_cast<int>(from.size())))];
    const double served = static_cast<double>(units_.size());
    const double longest = std::min(options_.longest_string, std::max(served / routes, 1.0));
    const double most = 4.0 * options_.removed / (1.0 + longest) - 1.0;
    const int strings = static_cast<int>(std::floor(random_.uniform() * most + 1.0));
    if (random_.uniform() < RADIAL) {
        take_radius(seed, 1 + random_.below(static_cast<int>(2.0 * options_.removed)));
        return;
    }
    // With few routes several strings may come from one.
    const bool repeat = routes < 2 * strings;
    int done = 0;
    const Node *near = model_.near(seed);
    for (int i = -1; i < model_.width && done < strings; ++i) {
        const Node node = i < 0 ? seed : near[i];
        if (node < 0)
            break;
        const int number = plan.route_of[at(node)];
        if (number < 0 || gone_[at(node)] == stamp_)
            continue;
        if (at(number) >= touched_.size())
            touched_.resize(plan.route.size(), 0);
        if (touched_[at(number)] == stamp_ && (!repeat || random_.uniform() < 0.5))
            continue;
        const int size = plan.route[at(number)].size;
        const double limit = std::min(longest, static_cast<double>(size));
        const int length = std::min(size, static_cast<int>(random_.uniform() * limit) + 1);
        take_string(node, length);
        ++done;
    }
}

bool Search::commit_ruin() {
    bool some_stay = false;
    for (const Saved &saved : saved_) {
        const Route &r = plan.route[at(saved.route)];
        scratch_.clear();
        scratch_arcs_.clear();
        // An arc between two that stay is known.
        const auto arc_to = [&](int p) {
            const Node last = scratch_.empty() ? r.node[0] : scratch_.back();
            scratch_arcs_.push_back(last == r.node[at(p - 1)]
                                        ? r.arc[at(p - 1)]
                                        : model_.distance(last, r.node[at(p)]));
        };
        for (int p = 1; p <= r.size; ++p)
            if (gone_[at(r.node[at(p)])] != stamp_) {
                arc_to(p);
                scratch_.push_back(r.node[at(p)]);
            }
        const int left = static_cast<int>(scratch_.size());
        if (left == saved.size)
            continue;
        arc_to(r.size + 1);
        // Without the customers taken out a rule may be broken that was not: an arc may be
        // missing, or a pickup that made room. Then the route stays as it was.
        if (!plan.assign(saved.route, saved.type, scratch_.data(), left, scratch_arcs_.data()) &&
            left > 0) {
            for (int i = 0; i < saved.size; ++i)
                gone_[at(arena_[at(saved.first + i)])] = 0;
            put_back(saved);
            some_stay = true;
        }
    }
    if (some_stay)
        std::erase_if(removed_, [&](Node head) { return gone_[at(head)] != stamp_; });
    for (const Node head : removed_)
        plan.to_bank(head);
    return !removed_.empty();
}

void Search::order_units() {
    todo_ = removed_;
    const bool grouped = !plan.chosen.empty();
    listed_group_.resize(plan.chosen.size(), 0);
    // One member stands for its group.
    const auto is_listed = [&](Node head) {
        const int group = model_.relations.group(head);
        if (group < 0)
            return false;
        const bool listed = plan.chosen[at(group)] >= 0 || listed_group_[at(group)] == stamp_;
        listed_group_[at(group)] = stamp_;
        return listed;
    };
    if (grouped)
        std::erase_if(todo_, is_listed);
    // Some of those left out before get a chance, too: the nearest, or any.
    int waiting = static_cast<int>(plan.bank.size() - removed_.size());
    if (grouped && !model_.has_optional && plan.missing == static_cast<int>(removed_.size()))
        waiting = 0; // the others are of groups that are served
    const auto is_waiting = [&](Node head) {
        return plan.bank_slot[at(head)] >= 0 && gone_[at(head)] != stamp_ &&
               !plan.is_fixed[at(head)] && !(grouped && is_listed(head));
    };
    const int most = eagerness_ > 1.0 ? INVITED : FROM_BANK;
    if (waiting > most && (eagerness_ > 1.0 || random_.uniform() < NEAR_BANK)) {
        const Node *near = model_.near(seed_);
        for (int i = -1, count = 0; i < model_.width && count < most; ++i) {
            const Node node = i < 0 ? seed_ : near[i];
            if (node < 0)
                break;
            if (model_.is_head(node) && is_waiting(node)) {
                todo_.push_back(node);
                ++count;
            }
        }
    } else if (waiting > 0) {
        const double share = static_cast<double>(most) / waiting;
        for (const Node head : plan.bank)
            if (is_waiting(head) && (share >= 1.0 || random_.uniform() < share))
                todo_.push_back(head);
    }
    if (todo_.size() < 2)
        return;
    const int draw = random_.below(model_.timed ? 17 : 11);
    const double choice = model_.has_optional ? random_.uniform() : 1.0;
    const bool by_price = choice < 0.15, by_worth = !by_price && choice < BY_WORTH;
    const double unit = model_.arc_weight * model_.typical_arc;
    keys_.clear();
    for (const Node head : todo_) {
        double key = 0.0;
        if (by_worth)
            key = -model_.skip[at(head)] * (0.5 + random_.uniform()) /
                  std::max(best_place(head, 0.0).delta, 1e-3 * unit);
        else if (by_price)
            key = -model_.skip[at(head)] / (0.1 + random_.uniform());
        else if (draw < 4)
            key = random_.uniform();
        else if (draw < 8)
            for (int kind = 0; kind < model_.kinds(); ++kind)
                key -= std::abs(model_.demand(head, kind));
        else if (draw < 10)
            key = -model_.reach[at(head)];
        else if (draw < 11)
            key = model_.reach[at(head)];
        else if (draw < 13)
            key = model_.closing[at(head)] - model_.opening[at(head)];
        else if (draw < 15)
            key = model_.opening[at(head)];
        else
            key = -model_.closing[at(head)];
        keys_.emplace_back(key, head);
    }
    std::sort(keys_.begin(), keys_.end());
    for (std::size_t i = 0; i < keys_.size(); ++i)
        todo_[i] = keys_[i].second;
}

bool Search::is_optional_unit(Node head) const {
    return !model_.compulsory[at(head)] && !model_.relations.is_required(head);
}

bool Search::better_elsewhere(Node head, double delta) const {
    if (!is_optional_unit(head))
        return false;
    double price = eagerness_ * worth_ * model_.skip[at(head)];
    if (model_.min_prize > 0.0)
        price += shortage_price_ * std::min(model_.unit_prize[at(head)], plan.shortage());
    return !(delta < price);
}

// Whether an optional unit costs more than it is worth; then it leaves its route.
bool Search::leaves(Node head) {
    const int number = plan.route_of[at(head)];
    if (number < 0 || plan.is_fixed[at(head)] || !is_optional_unit(head))
        return false;
    const Route &r = plan.route[at(number)];
    scratch_.clear();
    for (int p = 1; p <= r.size; ++p)
        if (model_.head(r.node[at(p)]) != head)
            scratch_.push_back(r.node[at(p)]);
    const int left = static_cast<int>(scratch_.size());
    const double cost = left > 0 ? plan.checked_cost(r.type, scratch_.data(), left)
                                 : -model_.vehicles[at(r.type)].price;
    double price = worth_ * model_.skip[at(head)];
    if (model_.min_prize > 0.0) {
        const double spare = std::max(plan.collected - model_.min_prize, 0.0);
        price += shortage_price_ * std::max(model_.unit_prize[at(head)] - spare, 0.0);
    }
    if (!(r.cost - cost > price))
        return false;
    plan.to_bank(head);
    plan.assign(number, r.type, scratch_.data(), left);
    return true;
}

bool Search::recreate(double blink, double limit) {
    // Where all must be served and were, costs only rise from here on: what is too dear already
    // is given up.
    const bool may_give_up =
        !model_.has_optional && plan.missing == static_cast<int>(removed_.size());
    for (const Node listed : todo_) {
        Node head = listed;
        const Place place =
            model_.relations.group(head) < 0 ? best_place(head, blink) : best_of_group(head, blink);
        if (!place.found() && may_give_up && limit < INFINITE)
            return false;
        if (!place.found() || better_elsewhere(head, place.delta))
            continue;
        if (place.route >= 0)
            touch(place.route);
        const int number = plan.insert(head, place);
        if (place.route < 0 && (at(number) >= touched_.size() || touched_[at(number)] != stamp_)) {
            if (at(number) >= touched_.size())
                touched_.resize(plan.route.size(), 0);
            touched_[at(number)] = stamp_;
            saved_.push_back({number, place.type, 0, 0, 0, 0, 0.0});
        }
        plan.from_bank(head);
        if (gone_[at(head)] != stamp_)
            taken_from_bank_.push_back(head);
        if (may_give_up &&
            plan.travel + plan.fixed +
                    model_.relations.route_price * static_cast<double>(plan.active.size()) >
                limit)
            return false;
    }
    return true;
}

Place Search::best_of_group(Node &head, double blink) {
    const Group &group = model_.relations.groups[at(model_.relations.group(head))];
    Place best;
    double least = INFINITE;
    for (const Node node : group.nodes) {
        if (plan.bank_slot[at(node)] < 0 || plan.is_fixed[at(node)] ||
            (blink > 0.0 && random_.uniform() < OVERLOOKED))
            continue;
        const Place place = best_place(node, blink);
        if (place.delta - model_.skip[at(node)] < least) {
            least = place.delta - model_.skip[at(node)];
            best = place;
            head = node;
        }
    }
    return best;
}

// What a route costs with a vehicle of another type, below a bound; its order in `turned_`. On a
// round trip without windows or pairs the vehicle may begin at any of its stops.
double Search::cheapest_cut(const Route &r, int type, double bound) {
    const VehicleType &vehicle = model_.vehicles[at(type)];
    const double fixed = model_.maximise_prize ? 0.0 : vehicle.price;
    const int m = r.size, cuts = model_.timed || model_.paired || model_.backhaul_last ? 1 : m;
    const double inner = r.so_far[at(m)] - r.so_far[1];
    double least = bound;
    for (int first = 1; first <= cuts; ++first) {
        const Node head = r.node[at(first)], tail = r.node[at(first == 1 ? m : first - 1)];
        double length =
            model_.distance(vehicle.start, head) + inner + model_.distance(tail, vehicle.end);
        if (first > 1)
            length += model_.distance(r.node[at(m)], r.node[1]) - r.arc[at(first - 1)];
        if (!(vehicle.weight * length + fixed < least))
            continue;
        scratch_.assign(r.node.begin() + first, r.node.begin() + 1 + m);
        scratch_.insert(scratch_.end(), r.node.begin() + 1, r.node.begin() + first);
        const double cost = plan.checked_cost(type, scratch_.data(), m) + fixed;
        if (cost < least) {
            least = cost;
            turned_ = scratch_;
        }
    }
    return least;
}

// Another vehicle drives some of the routes that customers left: one with more room, perhaps.
bool Search::change_types() {
    bool changed = false;
    for (const Saved &saved : saved_) {
        const Route &r = plan.route[at(saved.route)];
        const std::vector<int> &others = alike_[at(r.type)];
        if (r.slot < 0 || others.empty() || random_.uniform() < 0.5)
            continue;
        const int type = others[at(random_.below(static_cast<int>(others.size())))];
        scratch_.assign(r.node.begin() + 1, r.node.begin() + 1 + r.size);
        if (plan.available[at(type)] <= 0 ||
            plan.checked_cost(type, scratch_.data(), r.size) == INFINITE)
            continue;
        plan.assign(saved.route, type, scratch_.data(), static_cast<int>(scratch_.size()));
        changed = true;
    }
    return changed;
}

// A vehicle from elsewhere drives what is left of one ruined route, begun where that costs least.
bool Search::change_depots() {
    if (saved_.empty())
        return false;
    const int number = saved_[at(random_.below(static_cast<int>(saved_.size())))].route;
    const Route &r = plan.route[at(number)];
    const std::vector<int> &others = elsewhere_[at(r.type)];
    if (r.slot < 0 || r.pinned > 0 || others.empty())
        return false;
    const int type = others[at(random_.below(static_cast<int>(others.size())))];
    if (plan.available[at(type)] <= 0 || cheapest_cut(r, type, INFINITE) == INFINITE)
        return false;
    plan.assign(number, type, turned_.data(), static_cast<int>(turned_.size()));
    return true;
}

// A vehicle of another type may drive a changed route for less.
void Search::retype() {
    for (std::size_t i = 0; i < saved_.size(); ++i) {
        const int number = saved_[i].route;
        const Route &r = plan.route[at(number)];
        if (r.slot < 0 || r.pinned > 0)
            continue;
        const VehicleType &now = model_.vehicles[at(r.type)];
        const double fixed = model_.maximise_prize ? 0.0 : now.price;
        double least = r.cost + fixed - 1e-9;
        int best = -1;
        for (int type = 0; type < model_.types(); ++type) {
            if (type == r.type || plan.available[at(type)] <= 0 ||
                !model_.vehicles[at(type)].pinned.empty())
                continue;
            const double cost = cheapest_cut(r, type, least);
            if (cost < least) {
                least = cost;
                best = type;
            }
        }
        if (best >= 0)
            plan.assign(number, best, turned_.data(), static_cast<int>(turned_.size()));
    }
}

// Those who are left out again and again become dearer, so that others make room.
void Search::raise_prices(double customers) {
    const double dearer = std::clamp(DEARER / customers, LEAST_DEARER, MOST_DEARER) * price_.back();
    bool dearest = false;
    const auto raise = [&](Node head) {
        price_[at(head)] += dearer;
        dearest = dearest || price_[at(head)] > DEAREST * first_price_[at(head)];
    };
    for (const Node head : plan.bank)
        if (model_.compulsory[at(head)])
            raise(head);
    for (std::size_t i = 0; i < plan.chosen.size(); ++i)
        if (plan.chosen[i] == Plan::UNSERVED)
            raise(model_.relations.groups[i].nodes.front());
    if (dearest)
        for (std::size_t i = 0; i < price_.size(); ++i)
            price_[i] = 0.5 * (price_[i] + first_price_[i]);
}

} // namespace spacevrp
