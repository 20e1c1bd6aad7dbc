// Python's view of the rollouts: arrays in, moves and costs out, the GIL released in between.
#include "arrays.hpp"
#include "fleet_arrays.hpp"
#include "list_arrays.hpp"
#include "rollout.hpp"

#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <exception>
#include <limits>
#include <mutex>
#include <optional>
#include <string>
#include <system_error>
#include <thread>

namespace spacevrp::network {
namespace {

// Trajectories that a thread takes at once, alone or beside others: enough to read each table once
// for many and to find those that stand alike, few enough to share out those of a single instance.
constexpr py::ssize_t AT_ONCE_ALONE = 256, AT_ONCE = 60;
constexpr auto BETWEEN_LOOKS = std::chrono::milliseconds(20);

// A whole number of the table an instance, within its limits.
int whole(const Instance &task, InstanceRow row, int least, int most) {
    const float value = task.own[row];
    if (!(value >= static_cast<float>(least) && value <= static_cast<float>(most)) ||
        value != std::floor(value))
        throw py::value_error("instance table: expected " +
                              std::string(instance_row_names[static_cast<std::size_t>(row)]) +
                              " to be a whole number from " + std::to_string(least) + " to " +
                              std::to_string(most) + ", received " + std::to_string(value));
    return static_cast<int>(value);
}

bool any_infinite(const float *rows, int count, int columns, std::size_t stride) {
    unsigned found = 0;
    for (int i = 0; i < count; ++i)
        for (int j = 0; j < columns; ++j)
            found |= std::fabs(
                         rows[static_cast<std::size_t>(i) * stride + static_cast<std::size_t>(j)]) >
                     std::numeric_limits<float>::max();
    return found != 0;
}

// What follows from the two tables; every number that becomes an index is checked.
void complete(Instance &task, int most_depots) {
    task.depots = whole(task, depots, 0, most_depots);
    const int customers_here = whole(task, customers, 0, task.nodes - task.depots);
    task.real = task.depots + customers_here;
    if (task.real < 1)
        throw py::value_error("instance table: expected at least one node, received none");
    task.rule = static_cast<LoadRule>(whole(task, load_rule, 0, 3));
    whole(task, compulsories, 0, task.nodes);
    whole(task, linehauls, 0, task.nodes);
    for (int i = 0; i < task.nodes; ++i) {
        const bool expected = i >= task.depots && i < task.real;
        if ((task.at(customer, i) > 0.0f) != expected)
            throw py::value_error("node table: expected depots, then customers, then padding; "
                                  "received something else at node " +
                                  std::to_string(i));
        const float other = task.at(partner, i);
        if (!(other >= 0.0f && other < static_cast<float>(task.nodes)))
            throw py::value_error("node table: expected partners from 0 to " +
                                  std::to_string(task.nodes - 1) + ", received " +
                                  std::to_string(other));
        // A delivery behind a pickup opens: it has to be one of the customers.
        if (task.at(paired_step, i) > 0.0f &&
            !(expected && other >= static_cast<float>(task.depots) &&
              other < static_cast<float>(task.real)))
            throw py::value_error("node table: expected pickups with a customer for a partner, "
                                  "received " +
                                  std::to_string(other) + " at node " + std::to_string(i));
    }
    const float most = std::numeric_limits<float>::max();
    for (int i = 0; i < task.real; ++i)
        task.timed = task.timed || task.at(closing, i) <= most;
    const std::size_t stride = static_cast<std::size_t>(task.nodes);
    task.missing = any_infinite(task.distance, task.real, task.real, stride) ||
                   (task.duration != task.distance &&
                    any_infinite(task.duration, task.real, task.real, stride)) ||
                   any_infinite(task.home_distance, task.depots, task.real, stride) ||
                   any_infinite(task.home_duration, task.depots, task.real, stride);
    task.free_return = task.is(open_routes) || task.depots == 0;
}

// Work that threads take piece by piece, while the calling one looks up now and then.
class Pieces {
public:
    Pieces(const std::vector<Instance> &tasks, const std::vector<Fleet> &fleets,
           const std::vector<Trajectories> &pieces, const std::vector<std::size_t> &task_of,
           Decoders decoders, const py::object &look)
        : tasks_(tasks), fleets_(fleets), pieces_(pieces), task_of_(task_of), decoders_(decoders),
          look_(look) {}

    void work(int threads) {
        std::vector<std::thread> others;
        try {
            for (int i = 1; i < threads; ++i)
                others.emplace_back([this] { take([this] { return over_.load(); }); });
        } catch (const std::system_error &) { // no more threads: those there are do it all
        }
        last_look_ = std::chrono::steady_clock::now();
        take([this] { return looks_up(); });
        for (std::thread &other : others)
            other.join();
        if (failure_)
            std::rethrow_exception(failure_);
    }

private:
    template <class Asked> void take(const Asked &asked) noexcept {
        try {
            Workspace space;
            const Stop stop = asked;
            for (std::size_t i; (i = next_++) < pieces_.size() && !stop();)
                decode(task_of_[i], pieces_[i], space, stop);
        } catch (...) {
            fail();
        }
    }

    void decode(std::size_t task, const Trajectories &piece, Workspace &space, const Stop &stop) {
        if (fleets_.empty())
            decoders_.alike(tasks_[task], piece, space, stop);
        else
            decoders_.fleet(tasks_[task], fleets_[task], piece, space, stop);
    }

    void fail() {
        const std::lock_guard<std::mutex> guard(mutex_);
        if (!failure_)
            failure_ = std::current_exception();
        over_ = true;
    }

    // Whether to stop; every so often signals and the caller's function are heard.
    bool looks_up() {
        const auto now = std::chrono::steady_clock::now();
        if (over_ || now - last_look_ < BETWEEN_LOOKS)
            return over_;
        last_look_ = now;
        const py::gil_scoped_acquire held;
        try {
            if (PyErr_CheckSignals() != 0)
                throw py::error_already_set();
            if (!look_.is_none())
                look_();
        } catch (...) {
            fail();
        }
        return over_;
    }

    const std::vector<Instance> &tasks_;
    const std::vector<Fleet> &fleets_; // none where all vehicles are alike
    const std::vector<Trajectories> &pieces_;
    const std::vector<std::size_t> &task_of_;
    const Decoders decoders_;
    const py::object &look_;
    std::atomic<std::size_t> next_{0};
    std::atomic<bool> over_{false};
    std::mutex mutex_;
    std::exception_ptr failure_;
    std::chrono::steady_clock::time_point last_look_;
};

py::tuple rollout(const Floats &embedding, const Floats &keyed, const Floats &query_first,
                  const Floats &query_last, const Floats &state_weight,
                  const std::optional<Floats> &zscore, const Floats &distance,
                  const Floats &duration, const Floats &home_distance, const Floats &home_duration,
                  const Floats &node_table, const Floats &instance_table, const Longs &starts,
                  const std::optional<Longs> &origins, const std::optional<Longs> &keys,
                  const std::optional<Floats> &temperature, py::ssize_t max_steps, double tolerance,
                  float clipping, bool direct, int threads, const std::string &instructions,
                  const py::object &look, const std::optional<py::dict> &fleet, py::ssize_t views,
                  const std::optional<py::dict> &lists, const std::optional<Floats> &move_first,
                  const std::optional<Floats> &move_last, const std::optional<Floats> &move_state,
                  const std::optional<Ints> &plan, const std::optional<Ints> &turn,
                  const std::optional<Ints> &rank, float unlikely) {
    if (embedding.ndim() != 3 || state_weight.ndim() != 3 || starts.ndim() != 2 ||
        home_distance.ndim() != 3)
        throw py::value_error("expected embedding (B, N, d), state_weight (B, S, d), starts (B, P) "
                              "and home_distance (B, K, N), received others");
    const py::ssize_t size = embedding.shape(0), nodes = embedding.shape(1);
    const py::ssize_t width = embedding.shape(2), signals = state_weight.shape(1);
    const py::ssize_t count = starts.shape(1), homes = home_distance.shape(1);
    if (nodes < 1 || nodes > 10'000'000 || width < 1 || width > 100'000 || signals < 1 ||
        signals > MAX_SIGNALS)
        throw py::value_error("expected 1 to 10,000,000 nodes, a width from 1 to 100,000 and 1 to "
                              "7 signals, received " +
                              std::to_string(nodes) + ", " + std::to_string(width) + " and " +
                              std::to_string(signals));
    if (views < 1 || size % views != 0)
        throw py::value_error("views: expected a number that divides the " + std::to_string(size) +
                              " instances, received " + std::to_string(views));
    const py::ssize_t known_instances = size / views;
    check_shape("keyed", keyed, {size, nodes, 2 * width});
    check_shape("query_first", query_first, {size, nodes, width});
    check_shape("query_last", query_last, {size, nodes, width});
    check_shape("state_weight", state_weight, {known_instances, signals, width});
    const bool facts = move_first.has_value();
    if (move_last.has_value() != facts || move_state.has_value() != facts)
        throw py::value_error("expected move_first, move_last and move_state together, received "
                              "some without the others");
    if (facts) {
        if (signals != MAX_SIGNALS)
            throw py::value_error("move_first: expected 7 signals beside it, received " +
                                  std::to_string(signals));
        check_shape("move_first", *move_first, {size, nodes, MOVE_FACTS});
        check_shape("move_last", *move_last, {size, nodes, MOVE_FACTS});
        check_shape("move_state", *move_state, {known_instances, signals, MOVE_FACTS});
        check_numbers("move_first", *move_first, false);
        check_numbers("move_last", *move_last, false);
        check_numbers("move_state", *move_state, false);
    }
    if (zscore.has_value() == lists.has_value())
        throw py::value_error("zscore: expected it where there are no lists, and none where there "
                              "are some, received otherwise");
    if (zscore) {
        check_shape("zscore", *zscore, {known_instances, nodes, nodes});
        check_numbers("zscore", *zscore, false);
    }
    if (lists && (fleet || keys))
        throw py::value_error("lists: expected neither a fleet nor keys beside them, received one");
    check_shape("distance", distance, {known_instances, nodes, nodes});
    check_shape("duration", duration, {known_instances, nodes, nodes});
    check_shape("home_distance", home_distance, {known_instances, homes, nodes});
    check_shape("home_duration", home_duration, {known_instances, homes, nodes});
    check_shape("node_table", node_table, {known_instances, node_rows, nodes});
    check_shape("instance_table", instance_table, {known_instances, instance_rows});
    check_shape("starts", starts, {size, count});
    if (origins.has_value() == fleet.has_value())
        throw py::value_error(
            "origins: expected them where there is no fleet, and none where there "
            "is one, received otherwise");
    if (origins)
        check_shape("origins", *origins, {size, count});
    if (keys)
        check_shape("keys", *keys, {size, count});
    if (temperature)
        check_shape("temperature", *temperature, {count});
    for (const auto &[name, array] : {std::pair{"embedding", &embedding},
                                      {"keyed", &keyed},
                                      {"query_first", &query_first},
                                      {"query_last", &query_last},
                                      {"state_weight", &state_weight}})
        check_numbers(name, *array, false);
    for (const auto &[name, array] : {std::pair{"distance", &distance},
                                      {"duration", &duration},
                                      {"home_distance", &home_distance},
                                      {"home_duration", &home_duration},
                                      {"node_table", &node_table},
                                      {"instance_table", &instance_table}})
        check_numbers(name, *array, true);
    if (plan.has_value() != turn.has_value() || rank.has_value() != turn.has_value())
        throw py::value_error("expected plan, turn and rank together, received some without the "
                              "others");
    if (turn) {
        if (lists || fleet)
            throw py::value_error("turn: expected neither a fleet nor lists beside it, received "
                                  "one");
        check_shape("plan", *plan, {size, count, max_steps});
        check_shape("turn", *turn, {size, count});
        check_shape("rank", *rank, {size, count});
        check_range("plan", plan->data(), plan->size(), nodes);
        check_range("turn", turn->data(), turn->size(), max_steps);
        check_range("rank", rank->data(), rank->size(), nodes);
        if (!(unlikely > 0))
            throw py::value_error("unlikely: expected more than 0, received " +
                                  std::to_string(unlikely));
    }
    if (temperature) {
        check_numbers("temperature", *temperature, false);
        if (count > 0 && !(*std::min_element(temperature->data(), temperature->data() + count) > 0))
            throw py::value_error("temperature: expected numbers above 0, received others");
    }
    if (!(clipping > 0.0f && clipping <= 1e30f) || !(tolerance >= 0.0 && tolerance <= 1e30))
        throw py::value_error("expected clipping > 0 and tolerance >= 0, received " +
                              std::to_string(clipping) + " and " + std::to_string(tolerance));
    if (max_steps < 0 || max_steps > 100'000'000 || threads < 1)
        throw py::value_error("expected 0 to 100,000,000 steps and at least 1 thread, received " +
                              std::to_string(max_steps) + " and " + std::to_string(threads));
    const std::vector<std::string> known = instruction_sets();
    const std::string chosen = instructions.empty() ? known.front() : instructions;
    if (std::find(known.begin(), known.end(), chosen) == known.end())
        throw py::value_error("instructions: expected one of this processor's, received " + chosen);
    check_range("starts", starts.data(), starts.size(), nodes);
    if (origins)
        check_range("origins", origins->data(), origins->size(), nodes);
    std::optional<FleetArrays> vehicles;
    if (fleet)
        vehicles.emplace(*fleet, size, nodes, count);

    std::optional<ListArrays> near;
    if (lists)
        near.emplace(*lists, size, known_instances, nodes);
    std::vector<Instance> tasks(static_cast<std::size_t>(size));
    std::vector<Fleet> fleets;
    for (py::ssize_t t = 0; t < size; ++t) {
        const py::ssize_t b = t / views;
        Instance &task = tasks[static_cast<std::size_t>(t)];
        task.nodes = static_cast<int>(nodes);
        task.width = static_cast<int>(width);
        task.signals = static_cast<int>(signals);
        task.embedding = embedding.data() + t * nodes * width;
        task.keyed = keyed.data() + t * nodes * 2 * width;
        task.query_first = query_first.data() + t * nodes * width;
        task.query_last = query_last.data() + t * nodes * width;
        task.state_weight = state_weight.data() + b * signals * width;
        if (facts) {
            task.move_first = move_first->data() + t * nodes * MOVE_FACTS;
            task.move_last = move_last->data() + t * nodes * MOVE_FACTS;
            task.move_state = move_state->data() + b * signals * MOVE_FACTS;
        }
        task.zscore = zscore ? zscore->data() + b * nodes * nodes : nullptr;
        if (near)
            task.lists = near->of(b, t);
        task.distance = distance.data() + b * nodes * nodes;
        task.duration = duration.data() + b * nodes * nodes;
        task.home_distance = home_distance.data() + b * homes * nodes;
        task.home_duration = home_duration.data() + b * homes * nodes;
        task.node = node_table.data() + b * node_rows * nodes;
        task.own = instance_table.data() + b * instance_rows;
        task.tolerance = static_cast<float>(tolerance);
        task.enough = task.own[min_prize] * static_cast<float>(1.0 - tolerance);
        task.clipping = clipping;
        task.direct = direct;
        complete(task, static_cast<int>(std::min(homes, nodes)));
        if (vehicles) {
            fleets.push_back(vehicles->of(t, task, tolerance));
            continue;
        }
        const std::int64_t *start = starts.data() + t * count;
        const std::int64_t *origin = origins->data() + t * count;
        for (py::ssize_t p = 0; p < count; ++p)
            if (task.depots > 0 ? origin[p] >= task.depots
                                : origin[p] != start[p] || start[p] >= task.real)
                throw py::value_error("origins: expected a depot, or the start where there is "
                                      "none, received " +
                                      std::to_string(origin[p]) + " for the start " +
                                      std::to_string(start[p]));
    }
    Longs began({size, count});
    py::array_t<std::int32_t> action({size, count, max_steps}), steps({size, count});
    py::array_t<float> cost({size, count});
    std::vector<Trajectories> pieces;
    std::vector<std::size_t> task_of;
    const py::ssize_t at_once = threads > 1 ? AT_ONCE : AT_ONCE_ALONE;
    const py::ssize_t cuts = (count + at_once - 1) / at_once;
    for (py::ssize_t b = 0; b < size; ++b)
        for (py::ssize_t cut = 0; cut < cuts; ++cut) {
            const py::ssize_t first = count * cut / cuts, last = count * (cut + 1) / cuts;
            const py::ssize_t place = b * count + first;
            Trajectories piece;
            piece.count = static_cast<int>(last - first);
            piece.max_steps = static_cast<int>(max_steps);
            piece.start = starts.data() + place;
            piece.origin = origins ? origins->data() + place : nullptr;
            if (vehicles) {
                const py::ssize_t routes = vehicles->liked.shape(2),
                                  types = vehicles->liked.shape(3);
                piece.liked = vehicles->liked.data() + place * routes * types;
                piece.nearest = vehicles->nearest.data() + place;
                piece.stays_out = vehicles->stays_out.data() + place;
                piece.owed_first = vehicles->owed_first.data() + place;
                piece.origin_out = began.mutable_data() + place;
            }
            piece.keys = keys ? keys->data() + place : nullptr;
            piece.plan = plan ? plan->data() + place * max_steps : nullptr;
            piece.turn = turn ? turn->data() + place : nullptr;
            piece.rank = rank ? rank->data() + place : nullptr;
            piece.unlikely = unlikely;
            piece.temperature = temperature ? temperature->data() + first : nullptr;
            piece.action = action.mutable_data() + place * max_steps;
            piece.steps = steps.mutable_data() + place;
            piece.cost = cost.mutable_data() + place;
            pieces.push_back(piece);
            task_of.push_back(static_cast<std::size_t>(b));
        }
    {
        const py::gil_scoped_release released;
        const auto useful = static_cast<std::size_t>(threads);
        Pieces(tasks, fleets, pieces, task_of, decoders_for(chosen), look)
            .work(static_cast<int>(std::min(useful, pieces.size())));
    }
    return py::make_tuple(action, steps, cost, origins ? *origins : began);
}

template <class Names> py::tuple as_tuple(const Names &names) {
    py::tuple made(names.size());
    for (std::size_t i = 0; i < names.size(); ++i)
        made[i] = py::str(names[i]);
    return made;
}

} // namespace

void bind_rollout(py::module_ &module);

void bind_rollout(py::module_ &module) {
    module.attr("NODE_ROWS") = as_tuple(node_row_names);
    module.attr("INSTANCE_ROWS") = as_tuple(instance_row_names);
    module.def("instruction_sets", &instruction_sets);
    module.def("rollout", &rollout, py::kw_only(), py::arg("embedding"), py::arg("keyed"),
               py::arg("query_first"), py::arg("query_last"), py::arg("state_weight"),
               py::arg("zscore") = py::none(), py::arg("distance"), py::arg("duration"),
               py::arg("home_distance"), py::arg("home_duration"), py::arg("node_table"),
               py::arg("instance_table"), py::arg("starts"), py::arg("origins") = py::none(),
               py::arg("keys") = py::none(), py::arg("temperature") = py::none(),
               py::arg("max_steps"), py::arg("tolerance"), py::arg("clipping"),
               py::arg("direct") = true, py::arg("threads") = 1, py::arg("instructions") = "",
               py::arg("look") = py::none(), py::arg("fleet") = py::none(), py::arg("views") = 1,
               py::arg("lists") = py::none(), py::arg("move_first") = py::none(),
               py::arg("move_last") = py::none(), py::arg("move_state") = py::none(),
               py::arg("plan") = py::none(), py::arg("turn") = py::none(),
               py::arg("rank") = py::none(), py::arg("unlikely") = 0.0f);
}

} // namespace spacevrp::network
