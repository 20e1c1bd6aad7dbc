// Python's view of the compiled referee: the arrays of problems as they are, plans in, costs out.
#include "sheet.hpp"

#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <limits>
#include <memory>
#include <string>
#include <tuple>

namespace py = pybind11;

namespace spacevrp::judge {
namespace {

using Doubles = py::array_t<double, py::array::c_style | py::array::forcecast>;
using Metric = std::pair<std::string, std::string>;
using Nodes = std::vector<std::int64_t>;
// start, end, capacity, slack, fixed_cost, max_length, leaves_from, back_by, count, forbidden,
// pinned
using Terms = std::tuple<std::int64_t, std::int64_t, std::vector<double>, std::vector<double>,
                         double, double, double, double, std::int64_t, Nodes, Nodes>;

constexpr py::ssize_t most_nodes = 1 << 30;

// A sheet, and the arrays that it points into.
struct Held {
    Sheet sheet;
    std::vector<Doubles> arrays;

    const double *hold(const Doubles &array) {
        arrays.push_back(array);
        return array.data();
    }
};

std::string shape_of(const Doubles &array) {
    std::string text = "(";
    for (py::ssize_t i = 0; i < array.ndim(); ++i)
        text += (i ? ", " : "") + std::to_string(array.shape(i));
    return text + ")";
}

void check_shape(const char *name, const Doubles &array, py::ssize_t rows, py::ssize_t columns) {
    const bool same = array.ndim() == (columns ? 2 : 1) && array.shape(0) == rows &&
                      (!columns || array.shape(1) == columns);
    if (!same)
        throw py::value_error(std::string(name) + ": expected shape (" + std::to_string(rows) +
                              (columns ? ", " + std::to_string(columns) : "") + "), received " +
                              shape_of(array));
}

template <class Enum>
Enum named(const char *field, const std::string &name,
           std::initializer_list<std::pair<const char *, Enum>> known) {
    std::string all;
    for (const auto &[text, value] : known) {
        if (name == text)
            return value;
        all += (all.empty() ? "" : ", ") + std::string(text);
    }
    throw py::value_error(std::string(field) + ": expected one of " + all + ", received " + name);
}

Node checked(const char *field, std::int64_t node, Node size, std::int64_t least = 0) {
    if (node < least || node >= size)
        throw py::value_error(std::string(field) + ": expected a node from " +
                              std::to_string(least) + " to " + std::to_string(size - 1) +
                              ", received " + std::to_string(node));
    return static_cast<Node>(node);
}

Roads roads_of(Held &held, const char *name, const Doubles &values,
               const std::optional<Metric> &metric) {
    const py::ssize_t size = held.sheet.size;
    Roads roads;
    check_shape(name, values, size, metric ? 2 : size);
    roads.values = held.hold(values);
    roads.size = static_cast<std::size_t>(size);
    if (metric) {
        roads.by_points = true;
        roads.geometry = named<Geometry>("geometry", metric->first,
                                         {{"euclidean", Geometry::euclidean},
                                          {"manhattan", Geometry::manhattan},
                                          {"chebyshev", Geometry::chebyshev},
                                          {"att", Geometry::att}});
        roads.rounding = named<Rounding>("rounding", metric->second,
                                         {{"none", Rounding::none},
                                          {"nearest", Rounding::nearest},
                                          {"up", Rounding::up},
                                          {"down", Rounding::down},
                                          {"one-decimal", Rounding::one_decimal}});
    }
    return roads;
}

Type type_of(Sheet &sheet, const Terms &terms, std::size_t number) {
    Type type;
    const auto &[start, end, capacity, slack, fixed_cost, max_length, leaves_from, back_by, count,
                 forbidden, pinned] = terms;
    type.start = checked("start", start, sheet.size, sheet.uniform ? -1 : 0);
    type.end = checked("end", end, sheet.size, -1);
    if (capacity.size() != sheet.kinds || slack.size() != sheet.kinds)
        throw py::value_error("capacity: expected " + std::to_string(sheet.kinds) +
                              " numbers and as many slacks, received " +
                              std::to_string(capacity.size()) + " and " +
                              std::to_string(slack.size()));
    type.capacity = capacity;
    type.slack = slack;
    type.fixed_cost = fixed_cost;
    type.max_length = max_length;
    type.leaves_from = leaves_from;
    type.back_by = back_by;
    type.count = count;
    if (!forbidden.empty())
        type.forbidden.resize(static_cast<std::size_t>(sheet.size));
    for (const std::int64_t node : forbidden)
        type.forbidden[static_cast<std::size_t>(checked("forbidden", node, sheet.size))] = 1;
    if (!pinned.empty() && sheet.pinned_to.empty())
        sheet.pinned_to.assign(static_cast<std::size_t>(sheet.size), -1);
    for (const std::int64_t node : pinned) {
        type.pinned.push_back(checked("pinned", node, sheet.size));
        sheet.pinned_to[static_cast<std::size_t>(node)] = static_cast<std::int32_t>(number);
    }
    return type;
}

std::unique_ptr<Held> make_sheet(const Doubles &distances, const std::optional<Metric> &metric,
                                 const std::optional<Doubles> &durations,
                                 const std::optional<Metric> &duration_metric, const Nodes &depots,
                                 const Doubles &loads, const std::string &load_rule,
                                 const Doubles &windows, const Doubles &service,
                                 const Doubles &penalty, const Doubles &prize,
                                 const Doubles &real_prize, double min_prize, double prize_slack,
                                 bool maximise_prize, bool open_routes, bool backhaul_last,
                                 std::int64_t max_routes, double length_slack, double time_slack,
                                 const std::vector<std::pair<std::int64_t, std::int64_t>> &pairs,
                                 bool uniform, const std::vector<Terms> &types) {
    auto held = std::make_unique<Held>();
    Sheet &sheet = held->sheet;
    if (loads.ndim() != 2 || loads.shape(0) < 1 || loads.shape(0) > most_nodes ||
        loads.shape(1) < 1)
        throw py::value_error("loads: expected shape (N, D), received " + shape_of(loads));
    const py::ssize_t n = loads.shape(0);
    sheet.size = static_cast<Node>(n);
    sheet.kinds = static_cast<std::size_t>(loads.shape(1));
    sheet.loads = held->hold(loads);
    sheet.distances = roads_of(*held, "distances", distances, metric);
    if (durations)
        sheet.durations = roads_of(*held, "durations", *durations, duration_metric);
    check_shape("windows", windows, n, 2);
    check_shape("service", service, n, 0);
    check_shape("penalty", penalty, n, 0);
    check_shape("prize", prize, n, 0);
    check_shape("real_prize", real_prize, n, 0);
    sheet.windows = held->hold(windows);
    sheet.service = held->hold(service);
    sheet.penalty = held->hold(penalty);
    sheet.prize = held->hold(prize);
    sheet.real_prize = held->hold(real_prize);
    sheet.is_depot.resize(static_cast<std::size_t>(n));
    for (const std::int64_t node : depots)
        sheet.is_depot[static_cast<std::size_t>(checked("depots", node, sheet.size))] = 1;
    sheet.has_depots = !depots.empty();
    sheet.load_rule = named<LoadRule>("load_rule", load_rule,
                                      {{"single", LoadRule::single},
                                       {"separate", LoadRule::separate},
                                       {"pairs", LoadRule::pairs}});
    sheet.min_prize = min_prize;
    sheet.prize_slack = prize_slack;
    sheet.maximise_prize = maximise_prize;
    sheet.open_routes = open_routes;
    sheet.backhaul_last = backhaul_last;
    sheet.max_routes = max_routes;
    sheet.length_slack = length_slack;
    sheet.time_slack = time_slack;
    for (const auto &[pickup, delivery] : pairs)
        sheet.pairs.emplace_back(checked("pairs", pickup, sheet.size),
                                 checked("pairs", delivery, sheet.size));
    sheet.uniform = uniform;
    if (types.empty() || (uniform && types.size() != 1))
        throw py::value_error("types: expected at least one, and one of alike vehicles, received " +
                              std::to_string(types.size()));
    if (!uniform && depots.empty())
        throw py::value_error("types: expected alike vehicles where there is no depot");
    for (std::size_t number = 0; number < types.size(); ++number)
        sheet.types.push_back(type_of(sheet, types[number], number));
    return held;
}

// ----------------------------------------------------------------------------------- reading plans

// Lists and tuples as Python has them. Anything else, which may run code of its own when it is
// read, is not looked into.
struct Listed {
    PyObject *object;
    bool is_list, is_tuple;

    explicit Listed(py::handle handle)
        : object(handle.ptr()), is_list(PyList_CheckExact(object)),
          is_tuple(PyTuple_CheckExact(object)) {}
    bool known() const { return is_list || is_tuple; }
    py::ssize_t size() const {
        return is_list ? PyList_GET_SIZE(object) : PyTuple_GET_SIZE(object);
    }
    py::handle operator[](py::ssize_t i) const {
        return is_list ? PyList_GET_ITEM(object, i) : PyTuple_GET_ITEM(object, i);
    }
};

// A whole number of Python's from 0 to below the limit; -1 for anything else, True among it.
std::int64_t whole(py::handle entry, std::int64_t limit) {
    if (!PyLong_Check(entry.ptr()) || PyBool_Check(entry.ptr()))
        return -1;
    int overflow = 0;
    const long long value = PyLong_AsLongLongAndOverflow(entry.ptr(), &overflow);
    return overflow || value < 0 || value >= limit ? -1 : static_cast<std::int64_t>(value);
}

// All plans of a call in one row of nodes.
struct Plans {
    struct Part {
        std::size_t first_node, nodes, type;
    };
    std::vector<Node> nodes;
    std::vector<Part> routes;
    std::vector<std::size_t> first_route{0}; // (P + 1,)
    std::vector<bool> known;                 // (P,)

    bool read(const Sheet &sheet, const Listed &plan, py::handle types) {
        if (!plan.known())
            return false;
        const bool stated = !types.is_none();
        const Listed driven(types);
        if (stated && (sheet.uniform || !driven.known() || driven.size() != plan.size()))
            return false;
        if (!stated && sheet.types.size() != 1)
            return false; // which vehicles suit best is left to the plain referee
        for (py::ssize_t i = 0; i < plan.size(); ++i) {
            const Listed route(plan[i]);
            if (!route.known())
                return false;
            const auto kinds = static_cast<std::int64_t>(sheet.types.size());
            const std::int64_t type = stated ? whole(driven[i], kinds) : 0;
            if (type < 0)
                return false;
            routes.push_back({nodes.size(), static_cast<std::size_t>(route.size()),
                              static_cast<std::size_t>(type)});
            for (py::ssize_t j = 0; j < route.size(); ++j) {
                const std::int64_t node = whole(route[j], sheet.size);
                if (node < 0)
                    return false;
                nodes.push_back(static_cast<Node>(node));
            }
        }
        return true;
    }
};

py::array_t<double> judge_many(const py::list &sheets, const py::list &plans,
                               const py::list &types) {
    const std::size_t count = sheets.size();
    const py::tuple kept(sheets); // while the GIL is released, the list may change
    std::vector<const Sheet *> known;
    for (const py::handle sheet : kept)
        known.push_back(&sheet.cast<const Held &>().sheet);
    if (plans.size() != count || types.size() != count)
        throw py::value_error("plans: expected " + std::to_string(count) +
                              ", one for each sheet, and as many lists of types, received " +
                              std::to_string(plans.size()) + " and " +
                              std::to_string(types.size()));
    Plans read;
    for (std::size_t i = 0; i < count; ++i) {
        const auto at = static_cast<py::ssize_t>(i);
        const Listed plan(PyList_GET_ITEM(plans.ptr(), at));
        read.known.push_back(read.read(*known[i], plan, PyList_GET_ITEM(types.ptr(), at)));
        read.first_route.push_back(read.routes.size());
    }
    py::array_t<double> costs(static_cast<py::ssize_t>(count));
    double *const cost = costs.mutable_data();
    {
        const py::gil_scoped_release released;
        Scratch scratch;
        std::vector<Route> routes;
        for (std::size_t i = 0; i < count; ++i) {
            cost[i] = std::numeric_limits<double>::quiet_NaN();
            if (!read.known[i])
                continue;
            routes.clear();
            for (std::size_t r = read.first_route[i]; r < read.first_route[i + 1]; ++r) {
                const auto &part = read.routes[r];
                routes.push_back({{read.nodes.data() + part.first_node, part.nodes}, part.type});
            }
            if (const auto found = judge(*known[i], routes, scratch))
                cost[i] = *found;
        }
    }
    return costs;
}

} // namespace
} // namespace spacevrp::judge

PYBIND11_MODULE(_judge, module) {
    using namespace spacevrp::judge;
    module.doc() = "The compiled referee; see _judge.pyi.";
    py::class_<Held>(module, "Sheet")
        .def(py::init(&make_sheet), py::kw_only(), py::arg("distances"), py::arg("metric"),
             py::arg("durations"), py::arg("duration_metric"), py::arg("depots"), py::arg("loads"),
             py::arg("load_rule"), py::arg("windows"), py::arg("service"), py::arg("penalty"),
             py::arg("prize"), py::arg("real_prize"), py::arg("min_prize"), py::arg("prize_slack"),
             py::arg("maximise_prize"), py::arg("open_routes"), py::arg("backhaul_last"),
             py::arg("max_routes"), py::arg("length_slack"), py::arg("time_slack"),
             py::arg("pairs"), py::arg("uniform"), py::arg("types"));
    module.def("judge", &judge_many, py::arg("sheets"), py::arg("plans"), py::arg("types"));
}
