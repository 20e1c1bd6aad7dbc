#include "arrays.hpp"

#include <type_traits>
#include <utility>

namespace py = pybind11;

namespace spacevrp {
namespace {

template <class Array> auto copied(const Array &array) {
    using Entry = std::remove_cv_t<std::remove_reference_t<decltype(*array.data())>>;
    return std::vector<Entry>(array.data(), array.data() + array.size());
}

template <class Array>
void check_shape(const char *name, const Array &array, std::vector<py::ssize_t> shape) {
    bool same = array.ndim() == static_cast<py::ssize_t>(shape.size());
    for (std::size_t i = 0; same && i < shape.size(); ++i)
        same = array.shape(static_cast<py::ssize_t>(i)) == shape[i];
    if (same)
        return;
    const auto written = [](const auto &sizes, std::size_t count) {
        std::string text = "(";
        for (std::size_t i = 0; i < count; ++i)
            text += (i ? ", " : "") + std::to_string(sizes[i]);
        return text + ")";
    };
    throw py::value_error(std::string(name) + ": expected shape " + written(shape, shape.size()) +
                          ", received " +
                          written(array.shape(), static_cast<std::size_t>(array.ndim())));
}

template <class Enum>
Enum named(const char *field, const std::string &name,
           const std::vector<std::pair<const char *, Enum>> &known) {
    std::string all;
    for (const auto &[text, value] : known) {
        if (name == text)
            return value;
        all += (all.empty() ? "" : ", ") + std::string(text);
    }
    throw py::value_error(std::string(field) + ": expected one of " + all + ", received " + name);
}

} // namespace

std::shared_ptr<Model>
make_model(const Doubles &demand, const Doubles &opening, const Doubles &closing,
           const Doubles &service, bool timed, const Doubles &penalty, const Doubles &prize,
           bool maximise_prize, double min_prize, const Ints &partner, const Bytes &is_pickup,
           const Ints &customers, const Ints &start, const Ints &end, const Doubles &capacity,
           const Doubles &fixed_cost, const Doubles &unit_cost, const Doubles &max_length,
           const Doubles &max_duration, const Doubles &leaves_from, const Doubles &back_by,
           const Ints &count, const std::vector<std::vector<Node>> &pinned,
           const std::string &load_rule, bool backhaul_last, int max_routes, double time_slack,
           const std::optional<Doubles> &coordinates, const std::string &geometry,
           const std::string &rounding, const std::optional<Doubles> &distances,
           const std::optional<Doubles> &durations, const std::optional<Bytes> &allowed,
           const std::optional<Ints> &candidates, const std::optional<py::dict> &rules,
           const std::optional<py::dict> &relations) {
    Input input;
    if (demand.ndim() != 2)
        throw py::value_error("demand: expected shape (N, D), received " +
                              std::to_string(demand.ndim()) + " dimensions");
    const py::ssize_t n = demand.shape(0), d = demand.shape(1), k = start.size();
    if (n > 10'000'000 || d > 10'000)
        throw py::value_error("demand: expected at most 10,000,000 nodes and 10,000 kinds of load");
    input.size = static_cast<int>(n);
    input.kinds = static_cast<int>(d);
    check_shape("opening", opening, {n});
    check_shape("closing", closing, {n});
    check_shape("service", service, {n});
    check_shape("penalty", penalty, {n});
    check_shape("prize", prize, {n});
    check_shape("partner", partner, {n});
    check_shape("is_pickup", is_pickup, {n});
    check_shape("customers", customers, {customers.size()});
    check_shape("start", start, {k});
    check_shape("end", end, {k});
    check_shape("capacity", capacity, {k, d});
    check_shape("fixed_cost", fixed_cost, {k});
    check_shape("unit_cost", unit_cost, {k});
    check_shape("max_length", max_length, {k});
    check_shape("max_duration", max_duration, {k});
    check_shape("leaves_from", leaves_from, {k});
    check_shape("back_by", back_by, {k});
    check_shape("count", count, {k});
    input.demand = copied(demand);
    input.opening = copied(opening);
    input.closing = copied(closing);
    input.service = copied(service);
    input.timed = timed;
    input.penalty = copied(penalty);
    input.prize = copied(prize);
    input.maximise_prize = maximise_prize;
    input.min_prize = min_prize;
    input.partner = copied(partner);
    input.is_pickup = copied(is_pickup);
    input.customers = copied(customers);
    input.start = copied(start);
    input.end = copied(end);
    input.capacity = copied(capacity);
    input.fixed_cost = copied(fixed_cost);
    input.unit_cost = copied(unit_cost);
    input.max_length = copied(max_length);
    input.max_duration = copied(max_duration);
    input.leaves_from = copied(leaves_from);
    input.back_by = copied(back_by);
    input.count = copied(count);
    input.pinned = pinned;
    input.load_rule = named<LoadRule>("load_rule", load_rule,
                                      {{"single", LoadRule::single},
                                       {"separate", LoadRule::separate},
                                       {"pairs", LoadRule::pairs},
                                       {"mixed", LoadRule::mixed}});
    input.backhaul_last = backhaul_last;
    input.max_routes = max_routes;
    input.time_slack = time_slack;
    input.geometry = named<Geometry>("geometry", geometry,
                                     {{"euclidean", Geometry::euclidean},
                                      {"manhattan", Geometry::manhattan},
                                      {"chebyshev", Geometry::chebyshev},
                                      {"att", Geometry::att},
                                      {"geo", Geometry::geo}});
    input.rounding = named<Rounding>("rounding", rounding,
                                     {{"none", Rounding::none},
                                      {"nearest", Rounding::nearest},
                                      {"up", Rounding::up},
                                      {"down", Rounding::down},
                                      {"one-decimal", Rounding::one_decimal}});
    if (coordinates) {
        check_shape("coordinates", *coordinates, {n, 2});
        input.coordinates = copied(*coordinates);
    }
    if (distances) {
        check_shape("distances", *distances, {n, n});
        input.distances = copied(*distances);
    }
    if (!coordinates && !distances)
        throw py::value_error("distances: expected a matrix or coordinates, received neither");
    if (durations) {
        check_shape("durations", *durations, {n, n});
        input.durations = copied(*durations);
    }
    if (allowed) {
        check_shape("allowed", *allowed, {k, n});
        input.allowed = copied(*allowed);
    }
    if (candidates) {
        if (candidates->ndim() != 2)
            throw py::value_error("candidates: expected shape (N, C), received another");
        check_shape("candidates", *candidates, {n, candidates->shape(1)});
        input.candidates = copied(*candidates);
        input.candidate_width = static_cast<int>(candidates->shape(1));
    }
    if (rules)
        input.rules = read_rule_input(*rules, static_cast<int>(k), input.size);
    if (relations)
        input.relations = read_relation_input(*relations);
    const py::gil_scoped_release released;
    return std::make_shared<Model>(std::move(input));
}

} // namespace spacevrp
