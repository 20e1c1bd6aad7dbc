// Near neighbours of each customer, and the measures that follow from them.
#include "model.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace spacevrp {
namespace {

// Neighbours kept of each node: enough for the ruin to find strings in several routes.
constexpr int WIDTH = 100, WIDTH_LARGE = 40;
constexpr int LARGE = 5000;
// The arc to this neighbour is typical.
constexpr int FIFTH = 5;
// How much a minute of certain waiting or lateness counts beside a minute of distance.
constexpr double WAITING_WEIGHT = 0.2, LATENESS_WEIGHT = 1.0;

// A k-d tree over points, for the nearest of each in O(log n).
class Tree {
public:
    Tree(const std::vector<double> &points, std::vector<Node> nodes)
        : points_(points), nodes_(std::move(nodes)) {
        split(0, static_cast<int>(nodes_.size()), 0);
    }

    // The `count` nodes nearest to a point, nearest first; ties by number.
    void nearest(const double *point, int count, Node except,
                 std::vector<std::pair<double, Node>> &found) const {
        found.clear();
        if (count < 1)
            return;
        look(0, static_cast<int>(nodes_.size()), 0, point, static_cast<std::size_t>(count), except,
             found);
        std::sort_heap(found.begin(), found.end());
    }

private:
    void split(int first, int last, int axis) {
        if (last - first <= 1)
            return;
        const int middle = (first + last) / 2;
        std::nth_element(nodes_.begin() + first, nodes_.begin() + middle, nodes_.begin() + last,
                         [&](Node a, Node b) {
                             const double x = coordinate(a, axis), y = coordinate(b, axis);
                             return x != y ? x < y : a < b;
                         });
        split(first, middle, 1 - axis);
        split(middle + 1, last, 1 - axis);
    }

    void look(int first, int last, int axis, const double *point, std::size_t count, Node except,
              std::vector<std::pair<double, Node>> &found) const {
        if (first >= last)
            return;
        const int middle = (first + last) / 2;
        const Node node = nodes_[static_cast<std::size_t>(middle)];
        if (node != except) {
            const double dx = coordinate(node, 0) - point[0], dy = coordinate(node, 1) - point[1];
            const std::pair<double, Node> entry{dx * dx + dy * dy, node};
            if (found.size() < count) {
                found.push_back(entry);
                std::push_heap(found.begin(), found.end());
            } else if (entry < found.front()) {
                std::pop_heap(found.begin(), found.end());
                found.back() = entry;
                std::push_heap(found.begin(), found.end());
            }
        }
        const double gap = point[axis] - coordinate(node, axis);
        const bool left_first = gap < 0.0;
        for (int side = 0; side < 2; ++side) {
            if (side == 1 && found.size() >= count && gap * gap > found.front().first)
                return;
            if ((side == 0) == left_first)
                look(first, middle, 1 - axis, point, count, except, found);
            else
                look(middle + 1, last, 1 - axis, point, count, except, found);
        }
    }

    double coordinate(Node node, int axis) const {
        return points_[2 * static_cast<std::size_t>(node) + static_cast<std::size_t>(axis)];
    }

    const std::vector<double> &points_;
    std::vector<Node> nodes_;
};

} // namespace

void Model::find_neighbours(const Input &input) {
    const auto n = static_cast<std::size_t>(size_);
    const int others = std::max(static_cast<int>(customers.size()) - 1, 0);
    width = std::min(others, has_matrix() && size_ <= LARGE ? WIDTH : WIDTH_LARGE);
    std::vector<double> near_ones; // arcs to the fifth neighbour of each
    if (input.candidate_width > 0) {
        width = input.candidate_width;
        neighbours = input.candidates;
        for (Node &node : neighbours)
            node = std::max(node, -1);
    } else if (has_matrix() || geometry_ == Geometry::geo) {
        near_ones = near_by_matrix();
    } else {
        near_by_coordinates();
        if (geometry_ == Geometry::euclidean || geometry_ == Geometry::att) {
            near_lengths.assign(neighbours.size(), 0.0);
            for (std::size_t i = 0; i < neighbours.size(); ++i)
                if (neighbours[i] >= 0)
                    near_lengths[i] = distance(static_cast<Node>(i / at(width)), neighbours[i]);
        }
    }
    if (near_ones.empty())
        for (const Node node : customers) {
            const int last = std::min(width, FIFTH) - 1;
            if (last >= 0 && near(node)[last] >= 0)
                near_ones.push_back(distance(node, near(node)[last]));
        }
    std::erase_if(near_ones, [](double length) { return !std::isfinite(length); });
    if (!near_ones.empty()) {
        const auto middle = near_ones.begin() + static_cast<std::ptrdiff_t>(near_ones.size() / 2);
        std::nth_element(near_ones.begin(), middle, near_ones.end());
        typical_arc = *middle;
    }
    reach.assign(n, 0.0);
    double farthest = 0.0;
    for (const Node node : customers) {
        double nearest = INFINITE;
        for (const VehicleType &type : vehicles)
            nearest = std::min(nearest, distance(type.start, node) + distance(node, type.end));
        reach[at(node)] = nearest;
        if (std::isfinite(nearest))
            farthest = std::max(farthest, nearest);
    }
    if (!(typical_arc > 0.0))
        typical_arc = farthest > 0.0 ? farthest / 10.0 : 1.0;
    if (maximise_prize) {
        double sum = 0.0;
        for (const Node node : customers)
            sum += prize[at(node)];
        const double mean = customers.empty() ? 0.0 : sum / static_cast<double>(customers.size());
        arc_weight = mean > 0.0 ? 0.1 * mean / typical_arc : 1.0;
    }
}

// What it takes at least to enter each node, and to leave one beyond that: the reduced matrix of an
// assignment problem. The arcs that cost nothing more are likely to be in good plans.
Model::Potentials Model::potentials() const {
    const auto n = static_cast<std::size_t>(size_);
    Potentials found{std::vector<double>(n, 0.0), std::vector<double>(n, 0.0)};
    const auto least = [&](Node node, const auto &cost) {
        double lowest = INFINITE;
        for (const Node other : customers)
            if (other != node)
                lowest = std::min(lowest, cost(other));
        return std::isfinite(lowest) ? lowest : 0.0;
    };
    for (const Node node : customers)
        found.enter[at(node)] = least(node, [&](Node last) { return distance(last, node); });
    for (const Node node : customers)
        found.leave[at(node)] =
            least(node, [&](Node next) { return distance(node, next) - found.enter[at(next)]; });
    return found;
}

// By distance; where distances are asymmetric by what an arc costs beyond the potentials of its
// ends, as customers that are near to all would crowd out the others
// (records/2026-11-18-neighbours). The arcs to the fifth nearest by distance in that case.
std::vector<double> Model::near_by_matrix() {
    const auto n = static_cast<std::size_t>(size_);
    neighbours.assign(n * static_cast<std::size_t>(width), -1);
    const Potentials potential = symmetric ? Potentials{} : potentials();
    const auto beyond = [&](double cost, Node last, Node next) {
        return symmetric ? cost : cost - potential.leave[at(last)] - potential.enter[at(next)];
    };
    std::vector<std::pair<double, Node>> found, nearest; // the second a heap
    std::vector<double> near_ones;
    for (const Node node : customers) {
        found.clear();
        nearest.clear();
        for (const Node other : customers) {
            if (other == node)
                continue;
            double there = distance(node, other), back = distance(other, node);
            if (timed) {
                // How far apart two are in time, too: certain waiting, certain lateness.
                const auto apart = [&](Node a, Node b) {
                    const double travel = service[at(a)] + duration(a, b);
                    const double wait = opening[at(b)] - closing[at(a)] - travel;
                    const double late = opening[at(a)] + travel - closing[at(b)];
                    return WAITING_WEIGHT * std::max(wait, 0.0) +
                           LATENESS_WEIGHT * std::max(late, 0.0);
                };
                there += apart(node, other);
                back += apart(other, node);
            }
            const double near_by = std::min(beyond(there, node, other), beyond(back, other, node));
            found.emplace_back(std::isnan(near_by) ? INFINITE : near_by, other);
            if (symmetric)
                continue;
            // A pair of opposite arcs is as near as the shorter, mostly.
            const double low = std::min(there, back), high = std::max(there, back);
            const double length = timed ? low : low + 0.25 * std::min(high - low, low);
            nearest.emplace_back(std::isnan(length) ? INFINITE : length, other);
            std::push_heap(nearest.begin(), nearest.end());
            if (std::ssize(nearest) > FIFTH) {
                std::pop_heap(nearest.begin(), nearest.end());
                nearest.pop_back();
            }
        }
        if (!nearest.empty())
            near_ones.push_back(distance(node, nearest.front().second));
        const auto end = found.begin() + std::min<std::ptrdiff_t>(width, std::ssize(found));
        if (end != found.end())
            std::nth_element(found.begin(), end, found.end());
        std::sort(found.begin(), end);
        Node *list = neighbours.data() + at(node) * static_cast<std::size_t>(width);
        for (auto entry = found.begin(); entry != end; ++entry)
            *list++ = entry->second;
    }
    return near_ones;
}

void Model::near_by_coordinates() {
    const auto n = static_cast<std::size_t>(size_);
    neighbours.assign(n * static_cast<std::size_t>(width), -1);
    const Tree tree(points_, customers);
    std::vector<std::pair<double, Node>> found;
    for (const Node node : customers) {
        tree.nearest(points_.data() + 2 * at(node), width, node, found);
        Node *list = neighbours.data() + at(node) * static_cast<std::size_t>(width);
        for (const auto &entry : found)
            *list++ = entry.second;
    }
}

} // namespace spacevrp
