// Stages of a long annealing: several trajectories from the same start, then children of the plans
// that they found (routes of one parent in the place of routes of the other), each annealed anew.
#include "search.hpp"

#include <algorithm>
#include <cstdlib>

namespace spacevrp {
namespace {

std::size_t at(int i) { return static_cast<std::size_t>(i); }

double env(const char *name, double usual) {
    const char *text = std::getenv(name);
    return text == nullptr ? usual : std::atof(text);
}

// Seeds to try for a child that differs from its first parent.
constexpr int TRIES = 10;

} // namespace

void Search::end_stage() {
    if (is_top_) {
        top_routes_ = best_routes();
        top_value_ = best_value_;
        is_top_ = false;
    }
    for (const Elite &one : elite_)
        if (!one.value.better_than(best_value_) && !best_value_.better_than(one.value))
            return; // known
    elite_.push_back({best_routes(), best_value_});
    std::stable_sort(elite_.begin(), elite_.end(), [](const Elite &a, const Elite &b) {
        return a.value.better_than(b.value);
    });
    if (elite_.size() > static_cast<std::size_t>(env("SV_ELITE", 6.0)))
        elite_.pop_back();
}

void Search::begin_stage(const Routes &from) {
    price_ = first_price_;
    load_again({});
    plan.load(from);
    for (const int number : plan.active)
        set_dirty(number);
    // Who is left out goes to the best place.
    ++stamp_;
    forget_saved();
    removed_.clear();
    taken_from_bank_.clear();
    for (const Node head : plan.bank)
        if (!plan.is_fixed[at(head)]) {
            removed_.push_back(head);
            gone_[at(head)] = stamp_;
        }
    std::sort(removed_.begin(), removed_.end());
    if (!removed_.empty()) {
        order_units();
        recreate(0.0, INFINITE);
        for (const Saved &saved : saved_)
            set_dirty(saved.route);
    }
    keep_best();
}

Routes Search::make_child() {
    const int count = static_cast<int>(elite_.size());
    const int how = static_cast<int>(env("SV_CROSS", 1.0));
    if (count < 2 || how == 0)
        return top_routes_;
    // The better of two, and any other.
    const int one = std::min(random_.below(count), random_.below(count));
    int other = random_.below(count - 1);
    if (other >= one)
        ++other;
    return cross(elite_[at(one)].routes, elite_[at(other)].routes);
}

Routes Search::cross(const Routes &one, const Routes &other) {
    const std::size_t n = at(model_.size());
    std::vector<int> of_one(n, -1), of_other(n, -1);
    const auto number = [](const Routes &routes, std::vector<int> &of) {
        for (std::size_t i = 0; i < routes.stops.size(); ++i)
            for (const Node node : routes.stops[i])
                of[at(node)] = static_cast<int>(i);
    };
    number(one, of_one);
    number(other, of_other);
    const int routes = static_cast<int>(other.stops.size());
    for (int attempt = 0; attempt < TRIES; ++attempt) {
        // Routes of the other around a customer.
        const int wanted = 1 + random_.below(std::max(routes / 2, 1));
        const Node seed = units_[at(random_.below(static_cast<int>(units_.size())))];
        std::vector<char> is_taken(at(routes), 0);
        std::vector<int> taken;
        const Node *near = model_.near(seed);
        for (int i = -1; i < model_.width && static_cast<int>(taken.size()) < wanted; ++i) {
            const Node node = i < 0 ? seed : near[i];
            if (node < 0)
                break;
            const int from = of_other[at(node)];
            if (from >= 0 && !is_taken[at(from)]) {
                is_taken[at(from)] = 1;
                taken.push_back(from);
            }
        }
        // As many routes of the first make room: those that lose most.
        std::vector<std::pair<double, int>> loss;
        bool differs = false;
        for (std::size_t i = 0; i < one.stops.size(); ++i) {
            int lost = 0;
            for (const Node node : one.stops[i])
                lost += of_other[at(node)] >= 0 && is_taken[at(of_other[at(node)])];
            const int size = static_cast<int>(one.stops[i].size());
            differs = differs || (lost > 0 && lost < size);
            loss.emplace_back(-static_cast<double>(lost) / size, static_cast<int>(i));
        }
        if (!differs)
            continue;
        std::sort(loss.begin(), loss.end());
        std::vector<char> is_gone(one.stops.size(), 0);
        for (std::size_t i = 0; i < loss.size() && i < taken.size(); ++i)
            if (loss[i].first < 0.0)
                is_gone[at(loss[i].second)] = 1;
        Routes child;
        for (const int from : taken) {
            child.stops.push_back(other.stops[at(from)]);
            child.types.push_back(other.types[at(from)]);
        }
        for (std::size_t i = 0; i < one.stops.size(); ++i) {
            if (is_gone[i])
                continue;
            std::vector<Node> stops;
            for (const Node node : one.stops[i]) {
                const Node head = model_.head(node);
                if (of_other[at(head)] < 0 || !is_taken[at(of_other[at(head)])])
                    stops.push_back(node);
            }
            if (!stops.empty()) {
                child.stops.push_back(std::move(stops));
                child.types.push_back(one.types[i]);
            }
        }
        return child;
    }
    return one;
}

} // namespace spacevrp
