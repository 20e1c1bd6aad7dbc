// Python's view of the search: arrays in, plans out, the GIL released in between.
#include "arrays.hpp"
#include "sampling.hpp"
#include "search.hpp"
#include "threads.hpp"

#include <pybind11/functional.h>
#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <exception>
#include <map>
#include <memory>
#include <optional>
#include <stdexcept>
#include <thread>

namespace py = pybind11;

namespace spacevrp {
namespace {

using Tuning = std::map<std::string, double>;
using Plain = std::pair<std::vector<std::vector<Node>>, std::vector<int>>;

Routes as_routes(const Plain &plain) {
    if (plain.first.size() != plain.second.size())
        throw py::value_error("types: expected one for each of " +
                              std::to_string(plain.first.size()) + " routes, received " +
                              std::to_string(plain.second.size()));
    return {plain.first, plain.second};
}

double true_cost(const Model &model, const Value &value) {
    if (!model.maximise_prize)
        return value.cost;
    double total = 0.0;
    for (const Node node : model.customers)
        total += model.prize[Model::at(node)];
    return value.cost - total;
}

// Customers that a plan puts on the wrong routes, by its groups and sets.
int broken_relations(const Model &model, const Routes &given) {
    const Relations &relations = model.relations;
    if (!relations.present)
        return 0;
    int broken = 0;
    std::vector<int> route_of(static_cast<std::size_t>(model.size()), -1);
    std::vector<Node> chosen(relations.groups.size(), -1);
    for (std::size_t i = 0; i < given.stops.size(); ++i)
        for (const Node node : given.stops[i]) {
            if (route_of[Model::at(node)] < 0)
                route_of[Model::at(node)] = static_cast<int>(i);
            if (relations.group(node) < 0)
                continue;
            Node &one = chosen[static_cast<std::size_t>(relations.group(node))];
            broken += one >= 0 && one != node;
            one = node;
        }
    if (!relations.together.empty())
        for (const Node node : model.customers)
            for (const Node mate : relations.together[Model::at(node)]) {
                const int here = route_of[Model::at(node)], there = route_of[Model::at(mate)];
                broken += here >= 0 && there >= 0 && here != there;
            }
    return broken;
}

void check_route(const Model &model, const std::vector<Node> &stops, int type) {
    if (type < 0 || type >= model.types())
        throw py::value_error("types: expected 0 to " + std::to_string(model.types() - 1) +
                              ", received " + std::to_string(type));
    for (const Node node : stops)
        if (node < 0 || node >= model.size() || !model.is_customer[Model::at(node)])
            throw py::value_error("routes: expected customers, received " + std::to_string(node));
}

py::dict evaluate(const Model &model, const std::vector<std::vector<Node>> &routes,
                  const std::vector<int> &types, bool slow) {
    const Routes given = as_routes({routes, types});
    Plan checker(model);
    checker.rules().always_slow = slow;
    int violations = 0;
    double cost = 0.0, collected = 0.0;
    std::vector<int> visits(static_cast<std::size_t>(model.size()), 0);
    std::vector<int> used(static_cast<std::size_t>(model.types()), 0);
    int leaving = 0;
    for (std::size_t i = 0; i < given.stops.size(); ++i) {
        const std::vector<Node> &stops = given.stops[i];
        const int type = given.types[i];
        check_route(model, stops, type);
        for (const Node node : stops)
            if (visits[Model::at(node)]++)
                ++violations;
        if (stops.empty())
            continue;
        const VehicleType &vehicle = model.vehicles[static_cast<std::size_t>(type)];
        ++used[static_cast<std::size_t>(type)];
        ++leaving;
        const int size = static_cast<int>(stops.size());
        if (checker.checked_cost(type, stops.data(), size) == INFINITE)
            ++violations;
        if (stops.size() < vehicle.pinned.size() ||
            !std::equal(vehicle.pinned.begin(), vehicle.pinned.end(), stops.begin()))
            ++violations;
        Node last = vehicle.start;
        double length = 0.0;
        for (const Node node : stops) {
            length += model.distance(last, node);
            last = node;
        }
        length += model.distance(last, vehicle.end);
        if (!model.maximise_prize) // no way is no bargain, even for nothing a unit
            cost += std::isinf(length) ? length : vehicle.unit_cost * length + vehicle.fixed_cost;
        if (model.rich && !model.maximise_prize)
            cost += checker.whole_route(type, stops.data(), size).extra;
    }
    violations += broken_relations(model, given);
    for (int type = 0; type < model.types(); ++type) {
        const VehicleType &vehicle = model.vehicles[static_cast<std::size_t>(type)];
        if (vehicle.count >= 0 && used[static_cast<std::size_t>(type)] > vehicle.count)
            ++violations;
        if (!vehicle.pinned.empty() && used[static_cast<std::size_t>(type)] == 0)
            ++violations;
    }
    if (model.max_routes >= 0 && leaving > model.max_routes)
        ++violations;
    std::vector<Node> unserved;
    for (const Node node : model.customers) {
        const bool visited = visits[Model::at(node)] > 0;
        if (visited) {
            collected += model.prize[Model::at(node)];
            if (model.maximise_prize)
                cost -= model.prize[Model::at(node)];
        } else if (model.compulsory_node[Model::at(node)]) {
            unserved.push_back(node);
        } else if (!model.maximise_prize) {
            cost += model.node_penalty[Model::at(node)];
        }
    }
    for (const Group &group : model.relations.groups)
        if (group.required && std::none_of(group.nodes.begin(), group.nodes.end(),
                                           [&](Node node) { return visits[Model::at(node)] > 0; }))
            unserved.push_back(group.nodes.front());
    if (collected < model.min_prize)
        ++violations;
    py::dict result;
    if (model.relations.measured) {
        double longest = 0.0, shortest = INFINITE;
        for (std::size_t i = 0; i < given.stops.size(); ++i)
            if (!given.stops[i].empty()) {
                const double takes = checker.takes(given.types[i], given.stops[i].data(),
                                                   static_cast<int>(given.stops[i].size()));
                longest = std::max(longest, takes);
                shortest = std::min(shortest, takes);
            }
        result["makespan"] = longest;
        result["balance"] = leaving == 0 ? 0.0 : longest - shortest;
    }
    result["cost"] = cost;
    result["feasible"] = violations == 0;
    result["unserved"] = unserved;
    result["collected"] = collected;
    result["violations"] = violations;
    return result;
}

std::vector<std::vector<Node>> visits(const Model &model,
                                      const std::vector<std::vector<Node>> &routes,
                                      const std::vector<int> &types) {
    const Routes given = as_routes({routes, types});
    Plan checker(model);
    std::vector<std::vector<Node>> out;
    for (std::size_t i = 0; i < routes.size(); ++i) {
        check_route(model, routes[i], types[i]);
        const int size = static_cast<int>(routes[i].size());
        out.push_back(routes[i]);
        if (!model.rich || checker.checked_cost(types[i], routes[i].data(), size) == INFINITE)
            continue;
        const std::vector<Reload> &reloads = checker.rules().reloads();
        for (auto one = reloads.rbegin(); one != reloads.rend(); ++one)
            out.back().insert(out.back().begin() + one->after, one->depot);
    }
    return out;
}

std::optional<std::pair<double, double>> schedule(const Model &model,
                                                  const std::vector<Node> &route, int type) {
    check_route(model, route, type);
    Plan checker(model);
    const int size = static_cast<int>(route.size());
    if (!model.rich || !model.rules.types[static_cast<std::size_t>(type)].scheduled ||
        route.empty() || checker.checked_cost(type, route.data(), size) == INFINITE)
        return std::nullopt;
    const Schedule &times = checker.rules().schedule();
    return std::pair{times.departure, times.end};
}

struct SearchResult {
    Plain plan;
    double cost = 0.0;
    std::vector<Node> unserved;
    std::int64_t iterations = 0;
    double seconds = 0.0;
    bool interrupted = false;
    std::vector<std::tuple<double, std::int64_t, double, int>> trace;
};

SearchResult finished(const Model &model, Result &&result) {
    SearchResult out;
    out.cost = true_cost(model, result.value);
    std::vector<char> served(static_cast<std::size_t>(model.size()), 0);
    for (const auto &stops : result.routes.stops)
        for (const Node node : stops)
            served[Model::at(node)] = 1;
    for (const Node node : model.customers)
        if (!served[Model::at(node)] && model.compulsory_node[Model::at(node)])
            out.unserved.push_back(node);
    out.plan = {std::move(result.routes.stops), std::move(result.routes.types)};
    out.iterations = result.iterations;
    out.seconds = result.seconds;
    out.interrupted = result.interrupted;
    for (const Trace &entry : result.trace)
        out.trace.emplace_back(entry.seconds, entry.iterations, true_cost(model, entry.value),
                               entry.value.missing);
    return out;
}

Options as_options(std::uint64_t seed, std::int64_t iterations, double seconds,
                   std::int64_t no_gain, const Tuning &tuning) {
    Options options;
    options.seed = seed;
    options.iterations = iterations;
    options.seconds = seconds;
    options.no_gain = no_gain;
    if (iterations < 0 && !(seconds >= 0.0) && no_gain < 0)
        throw py::value_error("expected at least one of iterations, seconds and no_gain, received "
                              "no limit");
    const std::map<std::string, double *> known{
        {"hot", &options.hot},         {"cold", &options.cold},
        {"removed", &options.removed}, {"longest_string", &options.longest_string},
        {"blink", &options.blink},     {"wide", &options.wide},
        {"descent", &options.descent}, {"within", &options.within},
        {"moved", &options.moved},     {"staged", &options.staged}};
    for (const auto &[key, number] : tuning) {
        if (!(number >= 0.0) || !(number <= 1e9))
            throw py::value_error(key + ": expected a number of at least 0");
        if (const auto found = known.find(key); found != known.end())
            *found->second = number;
        else if (key == "places")
            options.places = static_cast<int>(number);
        else if (key == "granularity")
            options.granularity = static_cast<int>(number);
        else if (key == "check")
            options.check = number > 0.0;
        else
            throw py::value_error("tuning: expected a known key, received " + key);
    }
    return options;
}

Plain construct(const Model &model, const std::string &method, std::uint64_t seed) {
    const py::gil_scoped_release released;
    Options options;
    options.seed = seed;
    Search search(model, options);
    search.begin({});
    if (method == "savings")
        search.construct_by_savings();
    else if (method == "regret")
        search.construct_by_regret(2);
    else if (method == "insertion")
        search.construct_by_insertion(3);
    else
        throw std::invalid_argument("method: expected savings, insertion or regret, received " +
                                    method);
    Routes made = search.best();
    return {std::move(made.stops), std::move(made.types)};
}

constexpr int MOST_THREADS = 256;

std::vector<Routes> all_routes(const Plain &first, const std::vector<Plain> &others) {
    std::vector<Routes> all{as_routes(first)};
    for (const Plain &other : others)
        all.push_back(as_routes(other));
    return all;
}

// Large plans are divided on any number of threads, so that this number changes nothing.
Result search_model(const Model &model, const std::vector<Routes> &starts, const Options &options,
                    int threads, const Hooks &hooks) {
    if (is_divisible(model))
        return search_divided(model, starts.front(), options, threads, hooks);
    Search one(model, options);
    one.begin(starts.front(), {starts.begin() + 1, starts.end()});
    return one.run(hooks);
}

// What the caller wants to hear and to say while a search runs. All of it needs the GIL.
struct Caller {
    std::optional<py::function> callback, should_stop;
    std::exception_ptr raised;

    bool stop() {
        const py::gil_scoped_acquire acquired;
        if (raised)
            return true;
        try {
            if (PyErr_CheckSignals() != 0)
                throw py::error_already_set();
            return should_stop && py::cast<bool>((*should_stop)());
        } catch (...) {
            raised = std::current_exception();
            return true;
        }
    }

    template <class... Arguments> void tell(const Arguments &...arguments) {
        const py::gil_scoped_acquire acquired;
        if (raised)
            return;
        try {
            (*callback)(arguments...);
        } catch (...) {
            raised = std::current_exception();
        }
    }
};

SearchResult search(const Model &model, const std::vector<std::vector<Node>> &routes,
                    const std::vector<int> &types, std::uint64_t seed, std::int64_t iterations,
                    double seconds, std::int64_t no_gain,
                    const std::optional<py::function> &callback,
                    const std::optional<py::function> &should_stop, int threads,
                    const Tuning &tuning, const std::vector<Plain> &others) {
    const Options options = as_options(seed, iterations, seconds, no_gain, tuning);
    const std::vector<Routes> starts = all_routes({routes, types}, others);
    Caller caller{callback, should_stop, nullptr};
    Result result;
    {
        const py::gil_scoped_release released;
        Hooks hooks;
        hooks.stop = [&] { return caller.stop(); };
        if (callback)
            hooks.found = [&](const Routes &found, const Value &value) {
                caller.tell(found.stops, found.types, true_cost(model, value));
            };
        result = search_model(model, starts, options, std::clamp(threads, 1, MOST_THREADS), hooks);
    }
    if (caller.raised)
        std::rethrow_exception(caller.raised);
    return finished(model, std::move(result));
}

std::vector<SearchResult>
search_many(const std::vector<std::shared_ptr<Model>> &models, const std::vector<Plain> &starts,
            const std::vector<std::uint64_t> &seeds, int threads, std::int64_t iterations,
            double seconds, std::int64_t no_gain, const std::optional<py::function> &callback,
            const std::optional<py::function> &should_stop, const Tuning &tuning,
            const std::vector<std::vector<Plain>> &others) {
    if (models.size() != starts.size() || models.size() != seeds.size())
        throw py::value_error("expected as many starts and seeds as models");
    if (!others.empty() && others.size() != models.size())
        throw py::value_error("others: expected plans for each of the models, or none at all");
    for (const auto &model : models)
        if (!model) // Python's None is a pointer to nothing
            throw py::value_error("models: expected models, received None");
    std::vector<Options> options;
    std::vector<std::vector<Routes>> from;
    for (std::size_t i = 0; i < models.size(); ++i) {
        options.push_back(as_options(seeds[i], iterations, seconds, no_gain, tuning));
        from.push_back(all_routes(starts[i], others.empty() ? std::vector<Plain>{} : others[i]));
    }
    std::vector<Result> results(models.size());
    Caller caller{callback, should_stop, nullptr};
    {
        const py::gil_scoped_release released;
        std::atomic<std::size_t> next{0};
        std::atomic<bool> stopped{false};
        std::exception_ptr raised;
        std::atomic_flag failed = ATOMIC_FLAG_INIT;
        const std::thread::id owner = std::this_thread::get_id();
        const auto stop = [&] {
            if (std::this_thread::get_id() == owner && caller.stop())
                stopped = true;
            return stopped.load();
        };
        const auto work = [&] {
            Hooks hooks;
            hooks.stop = stop;
            try {
                for (std::size_t i = next++; i < models.size(); i = next++) {
                    Options here = options[i];
                    if (stopped)
                        here.iterations = 0;
                    if (callback)
                        hooks.found = [&, i](const Routes &found, const Value &value) {
                            caller.tell(i, found.stops, found.types, true_cost(*models[i], value));
                        };
                    results[i] = search_model(*models[i], from[i], here, 1, hooks);
                    results[i].interrupted = results[i].interrupted || stopped;
                }
            } catch (...) {
                if (!failed.test_and_set())
                    raised = std::current_exception();
            }
        };
        const int most = static_cast<int>(std::min<std::size_t>(models.size(), MOST_THREADS));
        side_by_side(std::clamp(threads, 1, std::max(most, 1)), work, stop);
        if (raised)
            std::rethrow_exception(raised);
    }
    if (caller.raised)
        std::rethrow_exception(caller.raised);
    std::vector<SearchResult> out;
    for (std::size_t i = 0; i < models.size(); ++i)
        out.push_back(finished(*models[i], std::move(results[i])));
    return out;
}

std::vector<std::tuple<std::string, double, std::vector<std::vector<Node>>, std::vector<int>>>
moves_of(const Model &model, const std::vector<std::vector<Node>> &routes,
         const std::vector<int> &types, std::uint64_t seed, int count) {
    std::vector<std::tuple<std::string, double, std::vector<std::vector<Node>>, std::vector<int>>>
        out;
    for (Move &move : sample_moves(model, as_routes({routes, types}), seed, count))
        out.emplace_back(move.name, move.change, std::move(move.after.stops),
                         std::move(move.after.types));
    return out;
}

std::vector<Node> neighbours_of(const Model &model, Node node) {
    if (node < 0 || node >= model.size())
        throw py::value_error("expected a node below " + std::to_string(model.size()) +
                              ", received " + std::to_string(node));
    const Node *first = model.near(node);
    return {first, std::find(first, first + model.width, -1)};
}

} // namespace
} // namespace spacevrp

PYBIND11_MODULE(_core, module) {
    using namespace spacevrp;
    module.doc() = "The compiled search: ruin and recreate with local moves, for every rule.";

    py::class_<SearchResult>(module, "SearchResult")
        .def_property_readonly("routes", [](const SearchResult &r) { return r.plan.first; })
        .def_property_readonly("types", [](const SearchResult &r) { return r.plan.second; })
        .def_readonly("cost", &SearchResult::cost)
        .def_readonly("unserved", &SearchResult::unserved)
        .def_readonly("iterations", &SearchResult::iterations)
        .def_readonly("seconds", &SearchResult::seconds)
        .def_readonly("interrupted", &SearchResult::interrupted)
        .def_readonly("trace", &SearchResult::trace);

    py::class_<Model, std::shared_ptr<Model>>(module, "Model")
        .def(py::init(&make_model), py::kw_only(), py::arg("demand"), py::arg("opening"),
             py::arg("closing"), py::arg("service"), py::arg("timed"), py::arg("penalty"),
             py::arg("prize"), py::arg("maximise_prize"), py::arg("min_prize"), py::arg("partner"),
             py::arg("is_pickup"), py::arg("customers"), py::arg("start"), py::arg("end"),
             py::arg("capacity"), py::arg("fixed_cost"), py::arg("unit_cost"),
             py::arg("max_length"), py::arg("max_duration"), py::arg("leaves_from"),
             py::arg("back_by"), py::arg("count"), py::arg("pinned"), py::arg("load_rule"),
             py::arg("backhaul_last"), py::arg("max_routes"), py::arg("time_slack"),
             py::arg("coordinates") = py::none(), py::arg("geometry") = "euclidean",
             py::arg("rounding") = "none", py::arg("distances") = py::none(),
             py::arg("durations") = py::none(), py::arg("allowed") = py::none(),
             py::arg("candidates") = py::none(), py::arg("rules") = py::none(),
             py::arg("relations") = py::none())
        .def("evaluate", &evaluate, py::arg("routes"), py::arg("types"), py::arg("slow") = false)
        .def("neighbours", &neighbours_of, py::arg("node"))
        .def("visits", &visits, py::arg("routes"), py::arg("types"))
        .def("schedule", &schedule, py::arg("route"), py::arg("type"))
        .def("construct", &construct, py::arg("method"), py::arg("seed") = 0)
        .def("search", &search, py::arg("routes"), py::arg("types"), py::kw_only(),
             py::arg("seed") = 0, py::arg("iterations") = -1, py::arg("seconds") = -1.0,
             py::arg("no_gain") = -1, py::arg("callback") = py::none(),
             py::arg("should_stop") = py::none(), py::arg("threads") = 1,
             py::arg("tuning") = Tuning{}, py::arg("others") = std::vector<Plain>{})
        .def("sample_moves", &moves_of, py::arg("routes"), py::arg("types"), py::arg("seed"),
             py::arg("count"));

    module.def("search_many", &search_many, py::arg("models"), py::arg("starts"), py::kw_only(),
               py::arg("seeds"), py::arg("threads") = 1, py::arg("iterations") = -1,
               py::arg("seconds") = -1.0, py::arg("no_gain") = -1, py::arg("callback") = py::none(),
               py::arg("should_stop") = py::none(), py::arg("tuning") = Tuning{},
               py::arg("others") = std::vector<std::vector<Plain>>{});
}
