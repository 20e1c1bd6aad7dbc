// How hot an annealing is, and a long one in stages: trajectories from the plans that were given,
// or from the only one, then children of the best plans found, which have some routes of one parent
// in place of those of the other (selective route exchange: Nagata and Braysy 2010); each stage
// cools down once. Where fewest routes come first, there is a stage that gives routes up.
#include "search.hpp"

#include <algorithm>
#include <cmath>

namespace spacevrp {
namespace {

std::size_t at(int i) { return static_cast<std::size_t>(i); }

// How an annealing is divided: the share of the time for trajectories, how many of them there are
// in one just long enough to go in stages and at most, and how long a child takes, as a share of
// that.
struct Division {
    double share, trajectories, most, child;
};
// From one plan trajectories must be long to find others. Where each begins with a plan of its own,
// many short ones are better, and stages pay sooner.
constexpr Division FROM_ONE{0.5, 1.25, 5.0, 0.15}, FROM_SEVERAL{0.8, 4.0, 8.0, 0.05};
constexpr double SOONER = 0.35;
// The share where there are as many trajectories as there may be.
constexpr double SHARE_OF_MOST = 0.6;
// How hot a child begins, next to an annealing as long.
constexpr double CHILD_HEAT = 0.4;
constexpr std::size_t ELITE = 6;
constexpr int FEWEST_ROUTES = 3;
// Times its penalty that an optional visit is worth at first, without and with times, and the share
// of the time after which it is worth no more than that. Measured; see records/.
constexpr double WORTH = 1.3, WORTH_TIMED = 1.5, WORTH_FALLS_UNTIL = 0.6;
// Customers to try for a child that differs from its first parent.
constexpr int TRIES = 10;

// Temperature at the start, in typical arcs, by the iterations that each customer gets.
constexpr double HEAT = 0.08, HEAT_POWER = 0.3, HOTTEST = 2.0;
// In large plans, times a power of the customers of a route by these, if there are more.
constexpr double STOPS = 25.0, STOPS_POWER = 1.5, MOST_TIMES = 6.0;
constexpr int LARGE = 300;

} // namespace

Annealing annealing_for(const Model &model) {
    if (model.maximise_prize)
        return {25.0, 0.3, 15.0};
    if (model.paired)
        return {7.0, 0.2, 7.0};
    if (model.timed)
        return {3.0, 0.1, 10.0};
    const bool plain = model.types() == 1 && model.plain_load && model.symmetric;
    const double more = model.routes_are_a_choice() ? 2.0 : 1.0; // for some to go again
    return plain ? Annealing{more, 0.03, 10.0} : Annealing{1.4 * more, 0.05, 10.0};
}

double heat_for(const Model &model, double iterations_per_customer, double customers,
                double routes) {
    const double heat = HEAT * std::pow(std::max(iterations_per_customer, 1.0), HEAT_POWER);
    // Long routes change places with their neighbours in many small steps, over dearer plans.
    const bool long_routes = !model.timed && !model.paired && !model.maximise_prize &&
                             customers >= LARGE && routes > 1.0;
    const double times = std::pow(customers / std::max(routes, 1.0) / STOPS, STOPS_POWER);
    return annealing_for(model).heat * std::min(heat, HOTTEST) *
           (long_routes ? std::clamp(times, 1.0, MOST_TIMES) : 1.0);
}

void Search::divide_annealing(double iterations) {
    const double each = iterations / static_cast<double>(units_.size());
    const double least = options_.staged * (others_.empty() ? 1.0 : SOONER);
    if (each < least || options_.no_gain >= 0 || options_.progress_from > 0.0 ||
        options_.progress_to < 1.0 || static_cast<int>(plan.active.size()) < FEWEST_ROUTES)
        return;
    first_ = {best_routes(), best_value_};
    const double times = each / std::max(options_.staged, 1.0);
    if (others_.empty()) {
        const double wanted = FROM_ONE.trajectories * times;
        stage_.trajectories = static_cast<int>(std::clamp(wanted, 1.0, FROM_ONE.most));
        stage_.share = FROM_ONE.share;
        stage_.child = FROM_ONE.child;
    } else {
        const double wanted = FROM_SEVERAL.trajectories * std::sqrt(times);
        const double count = std::min(FROM_SEVERAL.most, static_cast<double>(others_.size()) + 1.0);
        stage_.trajectories = static_cast<int>(std::round(std::min(wanted, count)));
        stage_.share = wanted < FROM_SEVERAL.most ? FROM_SEVERAL.share : SHARE_OF_MOST;
        stage_.child = FROM_SEVERAL.child;
    }
    stage_.to = stage_.share / stage_.trajectories;
}

double Search::heat_of_stage() const { return is_child() ? CHILD_HEAT : 1.0; }

// Insertion opens no route that its first customer alone does not pay for, though several together
// would. So penalties count for more at first, as long as a route may open.
double Search::worth_of_serving() const {
    const bool ends = options_.iterations >= 0 || options_.seconds >= 0.0;
    if (!model_.routes_are_a_choice() || !ends || !plan.may_open_any())
        return 1.0;
    return std::pow(model_.timed ? WORTH_TIMED : WORTH,
                    std::max(0.0, 1.0 - share_done_ / WORTH_FALLS_UNTIL));
}

void Search::next_stage(double iterations) {
    end_stage();
    ++stage_.number;
    stage_.from = stage_.to;
    if (!is_child()) {
        stage_.to = stage_.share * (stage_.number + 1) / stage_.trajectories;
        begin_stage(others_.empty() ? first_.routes : others_[at(stage_.number - 1)]);
        return;
    }
    const double left = 1.0 - stage_.from;
    const double each = iterations / static_cast<double>(units_.size());
    const double children = std::round(left * each / (stage_.child * options_.staged));
    stage_.to = children > 1.0 ? stage_.from + left / children : 1.0;
    begin_stage(make_child());
}

// The best plan of all cools down for the rest of the time.
void Search::last_stage() {
    end_stage();
    stage_.from = share_done_;
    stage_.to = 1.0;
    begin_stage(best_before_.routes);
}

void Search::end_stage() {
    if (is_best_of_all_) {
        best_before_ = {best_routes(), best_value_};
        is_best_of_all_ = false;
    }
    const auto is_equal = [&](const Kept &one) {
        return !one.value.better_than(best_value_) && !best_value_.better_than(one.value);
    };
    if (std::any_of(elite_.begin(), elite_.end(), is_equal))
        return;
    const auto worse = std::find_if(elite_.begin(), elite_.end(), [&](const Kept &one) {
        return best_value_.better_than(one.value);
    });
    elite_.insert(worse, {best_routes(), best_value_});
    if (elite_.size() > ELITE)
        elite_.pop_back();
}

// From routes of which some may break rules; who is left out goes to the best places.
void Search::begin_stage(const Routes &start) {
    price_ = first_price_;
    load_again({});
    plan.load(start);
    for (const int number : plan.active)
        set_dirty(number);
    insert_bank();
    keep_best();
}

Routes Search::make_child() {
    const int count = static_cast<int>(elite_.size());
    if (count < 2)
        return best_before_.routes;
    const int one = std::min(random_.below(count), random_.below(count));
    const int other = random_.below(count - 1);
    return with_routes_of(elite_[at(other + (other >= one))].routes, elite_[at(one)].routes);
}

// Routes of the other plan around a customer; as many of this one make room, those that lose the
// largest shares of their customers, and the customers they still had are left out.
Routes Search::with_routes_of(const Routes &other, const Routes &one) {
    const int routes = static_cast<int>(other.stops.size());
    std::vector<int> number(at(model_.size()), -1);
    for (int i = 0; i < routes; ++i)
        for (const Node node : other.stops[at(i)])
            number[at(node)] = i;
    std::vector<char> taken;
    const auto is_taken = [&](Node node) {
        return number[at(node)] >= 0 && taken[at(number[at(node)])] != 0;
    };
    for (int attempt = 0; attempt < TRIES; ++attempt) {
        Routes child;
        taken.assign(at(routes), 0);
        const std::size_t wanted = at(1 + random_.below(std::max(routes / 2, 1)));
        const Node seed = units_[at(random_.below(static_cast<int>(units_.size())))];
        const Node *near = model_.near(seed);
        for (int i = -1; i < model_.width && child.stops.size() < wanted; ++i) {
            const Node node = i < 0 ? seed : near[i];
            if (node < 0)
                break;
            if (number[at(node)] < 0 || is_taken(node))
                continue;
            taken[at(number[at(node)])] = 1;
            child.stops.push_back(other.stops[at(number[at(node)])]);
            child.types.push_back(other.types[at(number[at(node)])]);
        }
        bool differs = false;
        std::vector<std::pair<double, std::size_t>> kept; // share of customers, route
        for (std::size_t i = 0; i < one.stops.size(); ++i) {
            const auto lost = std::count_if(one.stops[i].begin(), one.stops[i].end(), is_taken);
            const auto size = static_cast<double>(one.stops[i].size());
            kept.emplace_back(1.0 - static_cast<double>(lost) / size, i);
            differs = differs || (lost > 0 && kept.back().first > 0.0);
        }
        if (!differs)
            continue;
        std::sort(kept.begin(), kept.end());
        const std::size_t gone = std::min(child.stops.size(), kept.size());
        for (std::size_t k = 0; k < kept.size(); ++k) {
            const auto &[share, i] = kept[k];
            if (k < gone && share < 1.0)
                continue;
            child.stops.emplace_back();
            child.types.push_back(one.types[i]);
            for (const Node node : one.stops[i])
                if (!is_taken(model_.head(node)))
                    child.stops.back().push_back(node);
        }
        return child;
    }
    return one;
}

// ----------------------------------------------------------------------------- fewest vehicles

// The customers of the smallest route have to find places in the others, and no route may be opened
// in its stead. False where there is none to give up.
bool Search::drop_route() {
    int smallest = -1;
    for (const int number : plan.active) {
        const Route &r = plan.route[at(number)];
        if (r.pinned == 0 && (smallest < 0 || r.size < plan.route[at(smallest)].size))
            smallest = number;
    }
    if (smallest < 0 || plan.missing > 0 || plan.active.size() < 2)
        return false;
    const Route &r = plan.route[at(smallest)];
    for (int p = 1; p <= r.size; ++p)
        if (model_.is_head(r.node[at(p)]))
            plan.to_bank(r.node[at(p)]);
    plan.assign(smallest, r.type, nullptr, 0);
    set_dirty(smallest);
    lower_cap_ += plan.routes_left;
    plan.routes_left = 0;
    return true;
}

void Search::end_of_dropping() {
    restore_best();
    price_ = first_price_;
    plan.routes_left += lower_cap_;
    lower_cap_ = 0;
    dropping_ = false;
}

} // namespace spacevrp
