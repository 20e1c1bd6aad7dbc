// One large plan, divided into neighbourhoods of routes that are searched side by side.
#include "search.hpp"
#include "threads.hpp"

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <numeric>
#include <thread>

namespace spacevrp {
namespace {

std::size_t at(int i) { return static_cast<std::size_t>(i); }

// Customers from which on a plan is divided, and how many customers and routes a part has, about.
constexpr int DIVIDED_FROM = 800, PART = 250;
constexpr int FEWEST_ROUTES = 20;
constexpr int FEWEST_PARTS = 2, ROUNDS = 40;
// Stops of a route that say where it lies.
constexpr int PROBES = 5;

double now() {
    using namespace std::chrono;
    return duration<double>(steady_clock::now().time_since_epoch()).count();
}

struct Part {
    Routes routes;
    std::vector<Node> unserved;
    int customers = 0;
};

// Each route goes to the nearest of some customers who lie far apart; so do those left out.
std::vector<Part> divide(const Model &model, const Routes &plan, const std::vector<Node> &unserved,
                         int count, Random &random) {
    const int n = static_cast<int>(model.customers.size());
    std::vector<Node> seeds{model.customers[at(random.below(n))]};
    std::vector<double> apart(at(n), INFINITE);
    while (static_cast<int>(seeds.size()) < count) {
        double farthest = -1.0;
        Node next = seeds.front();
        for (int i = 0; i < n; ++i) {
            const Node node = model.customers[at(i)];
            apart[at(i)] = std::min(apart[at(i)], model.distance(seeds.back(), node));
            // By chance some are left out, so that the borders lie elsewhere every time.
            if (apart[at(i)] > farthest && random.uniform() < 0.5) {
                farthest = apart[at(i)];
                next = node;
            }
        }
        seeds.push_back(next);
    }
    std::vector<Part> parts(seeds.size());
    const auto nearest = [&](const std::vector<Node> &stops) {
        int best = 0;
        double least = INFINITE;
        const int step = std::max(static_cast<int>(stops.size()) / PROBES, 1);
        for (std::size_t k = 0; k < seeds.size(); ++k) {
            double sum = 0.0;
            for (std::size_t i = 0; i < stops.size(); i += at(step))
                sum += model.distance(seeds[k], stops[i]);
            if (sum < least) {
                least = sum;
                best = static_cast<int>(k);
            }
        }
        return best;
    };
    // Who depends on each other is looked at together.
    const std::vector<int> &cluster = model.relations.cluster;
    std::vector<int> part_of(cluster.size(), -1);
    for (std::size_t i = 0; i < plan.stops.size(); ++i) {
        const int here = nearest(plan.stops[i]);
        for (const Node node : plan.stops[i])
            if (!cluster.empty() && cluster[at(node)] >= 0)
                part_of[at(cluster[at(node)])] = here;
        Part &part = parts[at(here)];
        part.routes.stops.push_back(plan.stops[i]);
        part.routes.types.push_back(plan.types[i]);
        part.customers += static_cast<int>(plan.stops[i].size());
    }
    for (const Node head : unserved) {
        int here = nearest({head});
        if (!cluster.empty() && cluster[at(head)] >= 0) {
            int &common = part_of[at(cluster[at(head)])];
            here = common = common < 0 ? here : common;
        }
        Part &part = parts[at(here)];
        part.unserved.push_back(head);
        ++part.customers;
    }
    std::erase_if(parts, [](const Part &part) { return part.customers == 0; });
    // The longest work begins first.
    std::stable_sort(parts.begin(), parts.end(),
                     [](const Part &a, const Part &b) { return a.customers > b.customers; });
    return parts;
}

void append(Routes &all, const Routes &more) {
    all.stops.insert(all.stops.end(), more.stops.begin(), more.stops.end());
    all.types.insert(all.types.end(), more.types.begin(), more.types.end());
}

} // namespace

bool is_divisible(const Model &model) {
    return static_cast<int>(model.customers.size()) >= DIVIDED_FROM && model.min_prize <= 0.0 &&
           model.max_routes != 1 && !model.relations.measured;
}

Result search_divided(const Model &model, const Routes &start, const Options &options, int threads,
                      const Hooks &hooks) {
    Result result;
    const double began = now();
    Random random(options.seed ^ 0xD1B54A32D192ED03ULL);
    const int n = static_cast<int>(model.customers.size());
    Search whole(model, options);
    whole.begin(start);
    whole.descend_all();
    whole.keep_best_if_better();
    Routes plan = whole.best();
    // A part of few routes would be searched in vain, however many customers they have.
    const int routes = static_cast<int>(plan.stops.size());
    const int count = std::max(std::min(n / PART, routes / FEWEST_ROUTES), FEWEST_PARTS);
    result.routes = plan;
    result.value = whole.best_value();
    result.trace.push_back({now() - began, 0, result.value});
    std::atomic<bool> stopped{false};
    std::mutex telling;
    std::exception_ptr raised;
    const std::thread::id owner = std::this_thread::get_id();
    std::int64_t last_gain = 0;
    double rate = 5e4 * threads; // iterations a second, until it is measured
    for (int round = 0; !stopped; ++round) {
        const double spent = now() - began;
        double share = static_cast<double>(round) / ROUNDS;
        if (options.seconds >= 0.0) {
            if (spent >= options.seconds)
                break;
            share = spent / options.seconds;
        }
        if (options.iterations >= 0) {
            if (result.iterations >= options.iterations)
                break;
            share = std::max(share, static_cast<double>(result.iterations) /
                                        static_cast<double>(options.iterations));
        }
        if (options.no_gain >= 0 && result.iterations - last_gain >= options.no_gain)
            break;
        double planned = options.iterations >= 0 ? static_cast<double>(options.iterations) : 1e18;
        if (options.seconds >= 0.0)
            planned = std::min(planned, rate * options.seconds);
        if (planned > 1e17)
            planned = 200.0 * n;
        Plan left_over(model); // what it holds beside the routes: the unserved, idle vehicles
        left_over.load(plan);
        std::vector<Part> parts = divide(model, plan, left_over.bank, count, random);
        // Idle vehicles are offered to one part, another one every round.
        std::vector<int> left = left_over.available;
        int routes_left = left_over.routes_left;
        const int favoured = random.below(static_cast<int>(parts.size()));
        const std::uint64_t seed = random.next();
        std::vector<Result> results(parts.size());
        std::atomic<std::size_t> next{0};
        const double step = 1.0 / ROUNDS;
        const auto stop = [&] {
            if (std::this_thread::get_id() == owner && hooks.stop && hooks.stop())
                stopped = true;
            return stopped.load();
        };
        const auto work = [&] {
            Hooks inner;
            inner.stop = stop;
            try {
                for (std::size_t i = next++; i < parts.size(); i = next++) {
                    const Part &part = parts[i];
                    Options here = options;
                    here.seed = seed + i;
                    here.no_gain = -1;
                    here.descend_first = false;
                    here.give_current = true;
                    here.hot =
                        options.hot > 0.0 ? options.hot : heat_for(model, planned / n, n, routes);
                    here.progress_from = std::min(share, 1.0);
                    here.progress_to = std::min(share + step, 1.0);
                    const double size = static_cast<double>(part.customers) / n;
                    if (options.seconds >= 0.0) {
                        const double all = std::min(options.seconds * step,
                                                    std::max(options.seconds - spent, 0.0));
                        here.seconds = std::min(all * threads * size, all);
                    }
                    if (options.iterations >= 0)
                        here.iterations = std::max<std::int64_t>(
                            1, static_cast<std::int64_t>(static_cast<double>(options.iterations) *
                                                         step * size));
                    else if (options.seconds < 0.0)
                        here.iterations = std::max<std::int64_t>(
                            1, static_cast<std::int64_t>(planned * step * size));
                    std::vector<int> vehicles = left;
                    int allowed = routes_left;
                    if (static_cast<int>(i) != favoured) {
                        for (int type = 0; type < model.types(); ++type)
                            if (model.vehicles[at(type)].count >= 0)
                                vehicles[at(type)] = 0;
                        if (model.max_routes >= 0)
                            allowed = 0;
                    }
                    for (const int type : part.routes.types)
                        ++vehicles[at(type)];
                    allowed += static_cast<int>(part.routes.types.size());
                    Search one(model, here);
                    one.begin_part(part.routes, part.unserved, vehicles, allowed);
                    results[i] = one.run(inner);
                }
            } catch (...) {
                const std::lock_guard<std::mutex> guard(telling);
                raised = std::current_exception();
                stopped = true;
            }
        };
        side_by_side(std::min(threads, static_cast<int>(parts.size())), work, stop);
        if (raised)
            std::rethrow_exception(raised);
        Routes best, current;
        const std::int64_t before = result.iterations;
        for (std::size_t i = 0; i < parts.size(); ++i) {
            // A part that was not reached stays as it was.
            const bool reached = !results[i].trace.empty();
            result.iterations += results[i].iterations;
            append(best, reached ? results[i].routes : parts[i].routes);
            append(current, reached ? results[i].current : parts[i].routes);
        }
        if (result.iterations == before && options.seconds < 0.0)
            break; // no customer may be moved
        const double elapsed = now() - began;
        if (elapsed > 0.0)
            rate = static_cast<double>(result.iterations) / elapsed;
        Search judge(model, options);
        judge.begin(best);
        if (judge.best_value().better_than(result.value)) {
            result.value = judge.best_value();
            last_gain = result.iterations;
            result.trace.push_back({elapsed, result.iterations, result.value});
            result.routes = best;
            if (hooks.found)
                hooks.found(result.routes, result.value);
        }
        // While it is hot the annealing goes on from where it is, at the end from the best.
        const bool hot = share + 2.0 * step < 1.0;
        plan = hot ? std::move(current) : result.routes;
    }
    result.interrupted = stopped;
    result.seconds = now() - began;
    return result;
}

} // namespace spacevrp
