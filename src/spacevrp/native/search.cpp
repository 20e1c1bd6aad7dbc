#include "search.hpp"

#include <algorithm>
#include <cmath>

namespace spacevrp {
namespace {

std::size_t at(int i) { return static_cast<std::size_t>(i); }

// Up to this many customers every place of every route is tried.
constexpr int FULL_SCAN = 250;
constexpr int PLACES = 24;
constexpr int CLOCK_EVERY = 8;
// Share of iterations in which other vehicles may take the routes that customers left.
constexpr double OTHER_TYPES = 0.3;
// A tour is improved before it is judged if it is at most so many typical arcs too long.
constexpr double WORTH_IMPROVING = 3.0;
// Where durations are a term, costs of places tell little: in such a share of iterations so many
// of them are overlooked.
constexpr double OFTEN_BLINKS = 0.3, MANY_BLINKS = 0.4;
// A kick of a tour takes about as long as so many iterations, and counts as many.
constexpr std::int64_t KICK = 5;
// So does one whose evaluations of whole routes take as many steps as so many iterations.
constexpr std::int64_t STEPS = 9000;
// Where fewest routes come first: share of the time to look for plans with one less, and how hot.
constexpr double DROPPING = 0.4, DROPPING_HEAT = 0.5;
// The share of the time after which cost alone decides among plans that leave out as few.
constexpr double SETTLED = 0.8;

// Share of iterations in which optional visits may cost more than they are worth, and how much.
constexpr double INVITES = 0.05, MOST_EAGER = 2.3;

double now() {
    using namespace std::chrono;
    return duration<double>(steady_clock::now().time_since_epoch()).count();
}

} // namespace

Search::Search(const Model &problem, const Options &options)
    : plan(problem), model_(problem), options_(options), random_(options.seed) {
    const std::size_t n = at(model_.size() + 1);
    gone_.assign(n, 0);
    queued_.assign(n, 0);
    double mean_prize = 0.0;
    for (const Node node : model_.customers) {
        if (!plan.is_fixed[at(node)])
            units_.push_back(node);
        mean_prize += model_.prize[at(node)];
    }
    if (!model_.customers.empty())
        mean_prize /= static_cast<double>(model_.customers.size());
    if (mean_prize > 0.0)
        shortage_price_ = 20.0 * model_.typical_arc / mean_prize;
    // Leaving a compulsory unit out costs more than any detour that serves it.
    double farthest = model_.typical_arc, dearest = 0.0, weight = 0.0;
    for (const Node node : model_.customers)
        if (std::isfinite(model_.reach[at(node)]))
            farthest = std::max(farthest, model_.reach[at(node)]);
    for (const VehicleType &type : model_.vehicles) {
        dearest = std::max(dearest, type.price);
        // Time costs, too; how much of it a detour takes is not known.
        weight = std::max(weight, model_.rich ? model_.arc_weight : 0.0);
        weight = std::max(weight, type.weight);
    }
    price_.assign(n, 3.0 * (weight * farthest + dearest));
    if (model_.relations.counts_nodes)
        for (const Node node : model_.customers)
            price_[at(node)] *= std::max(plan.weight(node), 1);
    if (!model_.relations.priority.empty())
        for (const Node node : model_.customers) {
            const int group = model_.relations.group(node);
            const double priority = group < 0 ? model_.relations.priority[at(node)]
                                              : model_.relations.group_priority[at(group)];
            const double times = std::min(static_cast<double>(model_.customers.size()), 100.0);
            price_[at(node)] *= 1.0 + priority * times;
        }
    first_price_ = price_;
    alike_.resize(model_.vehicles.size());
    elsewhere_.resize(model_.vehicles.size());
    for (int a = 0; a < model_.types(); ++a)
        for (int b = 0; b < model_.types(); ++b) {
            const VehicleType &one = model_.vehicles[at(a)], &other = model_.vehicles[at(b)];
            if (a != b && one.start == other.start && one.end == other.end && one.pinned.empty() &&
                other.pinned.empty()) {
                alike_[at(a)].push_back(b);
                mixed_ = true;
            } else if (a != b && one.pinned.empty() && other.pinned.empty()) {
                elsewhere_[at(a)].push_back(b);
                depots_ = true;
            }
        }
    const Annealing usual = annealing_for(model_);
    if (options_.cold <= 0.0)
        options_.cold = usual.cold;
    if (options_.removed <= 0.0)
        options_.removed = usual.removed;
    // Few such moves keep the order of pairs, and where whom to visit matters more than the order
    // they gain little; unless distances are asymmetric, and the usual descent finds too little.
    if (model_.rich || (model_.symmetric && (model_.paired || model_.maximise_prize)))
        options_.within = 0.0;
    if (options_.places <= 0)
        options_.places =
            static_cast<int>(model_.customers.size()) <= FULL_SCAN ? model_.width : PLACES;
    tries_all_ = options_.places >= model_.width && (model_.has_matrix() || model_.paired);
    wide_ = tries_all_;
}

double Search::objective() const {
    double sum = plan.travel + worth_ * plan.skipped;
    if (!model_.maximise_prize)
        sum += plan.fixed;
    const Relations &relations = model_.relations;
    if (!relations.plain_objective) {
        sum += relations.route_price * static_cast<double>(plan.active.size());
        if (relations.measured) {
            const Plan::Measures found = plan.measures();
            sum += relations.makespan_price * found.longest +
                   relations.balance_price * (found.longest - found.shortest);
        }
    }
    if (plan.missing > 0) {
        for (const Node head : plan.bank)
            if (model_.compulsory[at(head)])
                sum += price_[at(head)];
        for (std::size_t i = 0; i < plan.chosen.size(); ++i)
            if (plan.chosen[i] == Plan::UNSERVED && relations.groups[i].required)
                sum += price_[at(relations.groups[i].nodes.front())];
    }
    if (model_.min_prize > 0.0)
        sum += shortage_price_ * plan.shortage();
    return sum;
}

void Search::begin_part(const Routes &part, const std::vector<Node> &unserved,
                        const std::vector<int> &vehicles_left, int routes_allowed) {
    plan.load_part(part, unserved, vehicles_left, routes_allowed);
    units_.clear();
    for (const auto &stops : part.stops)
        for (const Node node : stops)
            if (!plan.is_fixed[at(node)])
                units_.push_back(node);
    for (const Node head : unserved)
        if (!plan.is_fixed[at(head)])
            units_.push_back(head);
    begin_here();
}

void Search::begin(const Routes &start, const std::vector<Routes> &others) {
    others_ = others;
    plan.load(start);
    begin_here();
}

void Search::begin_here() {
    best_value_ = plan.value();
    for (const int number : plan.active)
        set_dirty(number);
    keep_best();
}

// ---------------------------------------------------------------------------------- best plan

void Search::set_dirty(int number) {
    if (at(number) >= is_dirty_.size())
        is_dirty_.resize(plan.route.size(), 0);
    if (!is_dirty_[at(number)]) {
        is_dirty_[at(number)] = 1;
        dirty_.push_back(number);
    }
}

void Search::keep_best() {
    for (const int number : dirty_) {
        if (at(number) >= best_stops_.size()) {
            best_stops_.resize(plan.route.size());
            best_type_.resize(plan.route.size(), 0);
        }
        const Route &r = plan.route[at(number)];
        const int size = r.slot < 0 ? 0 : r.size;
        if (size > 0)
            best_stops_[at(number)].assign(r.node.begin() + 1, r.node.begin() + 1 + size);
        else
            best_stops_[at(number)].clear();
        best_type_[at(number)] = r.type;
        is_dirty_[at(number)] = 0;
    }
    dirty_.clear();
    best_value_ = plan.value();
}

void Search::restore_best() {
    for (const int number : dirty_) {
        const Route &r = plan.route[at(number)];
        if (r.slot < 0)
            continue;
        for (int p = 1; p <= r.size; ++p)
            if (model_.is_head(r.node[at(p)]))
                plan.to_bank(r.node[at(p)]);
        plan.assign(number, r.type, nullptr, 0);
    }
    for (const int number : dirty_) {
        is_dirty_[at(number)] = 0;
        if (at(number) >= best_stops_.size() || best_stops_[at(number)].empty())
            continue;
        const std::vector<Node> &stops = best_stops_[at(number)];
        plan.assign(number, best_type_[at(number)], stops.data(), static_cast<int>(stops.size()));
        for (const Node node : stops)
            if (model_.is_head(node))
                plan.from_bank(node);
    }
    dirty_.clear();
}

Routes Search::best_routes() const {
    Routes result;
    for (std::size_t number = 0; number < best_stops_.size(); ++number)
        if (!best_stops_[number].empty()) {
            result.stops.push_back(best_stops_[number]);
            result.types.push_back(best_type_[number]);
        }
    return result;
}

// ------------------------------------------------------------------------------- the whole

Result Search::run(const Hooks &hooks) {
    Result result;
    const double began = now();
    double told = began;
    bool news = false;
    double current = objective();
    const double unit = model_.arc_weight * model_.typical_arc;
    const double customers = std::max(static_cast<double>(units_.size()), 1.0);
    const double cold = options_.cold * unit;
    double hot = 0.0, temperature = 0.0;
    // The more iterations a customer gets, the hotter it pays to start.
    const double routes = static_cast<double>(plan.active.size());
    double planned = options_.iterations > 0 ? static_cast<double>(options_.iterations) : 0.0;
    const auto heat = [&](double iterations) {
        const double here = iterations * (stage_.to - stage_.from) / customers;
        hot = unit *
              (options_.hot > 0.0 ? options_.hot : heat_for(model_, here, customers, routes)) *
              heat_of_stage();
        hot = std::max(hot, cold);
    };
    heat(planned > 0.0 ? planned : 100.0 * customers);
    // What has been done: an iteration counts as one, or as several where it takes as long as they.
    std::int64_t iteration = 0, last_gain = 0;
    bool settled = false; // the prices of those left out no longer rise
    const auto note = [&](double clock) {
        result.trace.push_back({clock - began, iteration, best_of_all()});
    };
    note(began);
    if (units_.empty()) {
        result.routes = best_routes();
        result.value = best_value_;
        return result;
    }
    const double share_of_tour = this->share_of_tour();
    const auto keep_tour = [&] {
        if (take_tour())
            note(now());
    };
    if (share_of_tour > options_.progress_from)
        news = begin_tour();
    if (options_.descend_first && !tour_) {
        descend_all();
        if (plan.value().better_than(best_value_)) {
            keep_best();
            note(now());
            news = true;
        }
        current = objective();
    }
    dropping_ = model_.relations.fewest && options_.progress_from < DROPPING && drop_route();
    if (dropping_)
        current = objective();
    bool divided = model_.relations.fewest; // or it has been seen that it does not pay
    const bool inviting = model_.serving_is_a_choice();
    std::int64_t turn = 0, counted_for_steps = 0, steps = plan.rules().steps;
    while (true) {
        if (options_.iterations >= 0 && iteration >= options_.iterations)
            break;
        if (options_.no_gain >= 0 && iteration - last_gain >= options_.no_gain)
            break;
        if (turn++ % CLOCK_EVERY == 0) {
            const double clock = now();
            share_done_ = 0.0;
            const auto done = static_cast<double>(iteration - counted_for_steps);
            if (options_.iterations > 0) {
                const auto limit = static_cast<double>(options_.iterations);
                share_done_ = static_cast<double>(iteration) / limit;
                if (counted_for_steps > 0) {
                    planned = done / share_done_;
                    heat(planned);
                }
            }
            if (options_.seconds >= 0.0) {
                if (clock - began >= options_.seconds)
                    break;
                const double spent = clock - began;
                share_done_ = std::max(share_done_, spent / options_.seconds);
                if (iteration >= 64 && spent > 0.0) {
                    planned = done / spent * options_.seconds;
                    if (options_.iterations > 0)
                        planned = std::min(planned, static_cast<double>(options_.iterations));
                    heat(planned);
                }
            }
            if (options_.iterations < 0 && options_.seconds < 0.0)
                share_done_ = 0.5; // nothing tells how long it will take
            share_done_ = options_.progress_from +
                          (options_.progress_to - options_.progress_from) * share_done_;
            if (inviting) {
                worth_ = worth_of_serving();
                current = objective();
            }
            if (dropping_ && share_done_ >= DROPPING) {
                end_of_dropping();
                current = objective();
                stage_.from = DROPPING;
            }
            if (!divided && planned > 0.0) {
                divided = true;
                divide_annealing(planned);
                heat(planned);
            }
            if (share_done_ >= stage_.to && stage_.to < 1.0) {
                next_stage(planned);
                heat(planned);
                current = objective();
            }
            if (tour_ && share_done_ >= share_of_tour) {
                keep_tour();
                tour_.reset();
                current = objective();
                stage_.from = share_done_;
                heat(planned);
            }
            const double cooled =
                dropping_ ? DROPPING_HEAT : (share_done_ - stage_.from) / (stage_.to - stage_.from);
            temperature = hot * std::pow(cold / hot, cooled);
            if (clock - told > 0.02) {
                told = clock;
                if (tour_ && news)
                    keep_tour();
                if (hooks.stop && hooks.stop()) {
                    result.interrupted = true;
                    break;
                }
                if (news && hooks.found) {
                    news = false;
                    hooks.found(best_routes_of_all(), best_of_all());
                }
            }
            if (!settled && share_done_ > SETTLED && plan.missing > 0 && !dropping_) {
                // From here on, cost counts among plans that leave out as few.
                settled = true;
                price_ = first_price_;
                restore_best();
                if (stage_.trajectories > 0 && best_of_all().missing > 0) {
                    last_stage();
                    heat(planned);
                }
                current = objective();
            }
        }
        ++iteration;
        if (tour_) {
            if (kick_tour(1.0 - share_done_ / share_of_tour)) {
                last_gain = iteration;
                news = true;
            }
            iteration += KICK - 1;
            continue;
        }
        // A new route may pay by those who follow the first.
        if (inviting)
            eagerness_ =
                random_.uniform() < INVITES ? std::exp(random_.uniform() * MOST_EAGER) : 1.0;
        ruin();
        commit_ruin();
        order_units();
        wide_ = tries_all_ || (model_.has_matrix() && random_.uniform() < options_.wide);
        const double limit = current - temperature * std::log(random_.uniform() + 1e-300);
        double value = INFINITE;
        bool changed = mixed_ && random_.uniform() < OTHER_TYPES && change_types();
        if (depots_ && random_.uniform() < options_.moved)
            changed = change_depots() || changed;
        const bool improves =
            options_.within > 0.0 && plan.active.size() == 1 && random_.uniform() < options_.within;
        const double worth = improves ? limit + WORTH_IMPROVING * unit : limit;
        // What other vehicles cost may be saved again at the end.
        const double blink = model_.relations.measured && random_.uniform() < OFTEN_BLINKS
                                 ? MANY_BLINKS
                                 : options_.blink;
        if (recreate(blink, changed ? INFINITE : worth)) {
            if (changed || (model_.types() > 1 && random_.uniform() < 0.1))
                retype();
            if (eagerness_ > 1.0)
                for (const std::vector<Node> *placed : {&removed_, &taken_from_bank_})
                    for (const Node head : *placed)
                        leaves(head); // where it turns out not to pay
            value = objective();
            if (improves && value < worth) {
                descend_within();
                value = objective();
            }
        }
        if (!(value < limit)) {
            undo();
        } else {
            if (options_.descent > 0.0 && random_.uniform() < options_.descent) {
                enqueue_changed();
                descend();
                value = objective();
            }
            current = value;
            for (const Saved &saved : saved_) {
                recognise(saved);
                set_dirty(saved.route);
            }
            if (plan.value().better_than(best_value_)) {
                keep_best();
                if (is_best_of_all_ || best_value_.better_than(best_before_.value)) {
                    is_best_of_all_ = true;
                    last_gain = iteration;
                    news = true;
                    if (result.trace.size() < 4096)
                        note(now());
                }
                if (dropping_ && plan.missing == 0) {
                    if (!drop_route())
                        end_of_dropping();
                    current = objective();
                }
            }
        }
        if (!settled && plan.missing > 0) {
            raise_prices(customers);
            current = objective();
        }
        const std::int64_t more = (plan.rules().steps - steps) / STEPS;
        steps = plan.rules().steps;
        counted_for_steps += more;
        iteration += more;
    }
    eagerness_ = 1.0;
    if (tour_)
        keep_tour();
    result.iterations =
        options_.iterations >= 0 ? std::min(iteration, options_.iterations) : iteration;
    result.routes = best_routes_of_all();
    result.value = best_of_all();
    if (options_.give_current)
        result.current = plan.routes();
    result.seconds = now() - began;
    if (hooks.found && news)
        hooks.found(result.routes, result.value);
    return result;
}

} // namespace spacevrp
