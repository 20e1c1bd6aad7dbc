#include "tour.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string>

namespace spacevrp {
namespace {

std::size_t at(int i) { return static_cast<std::size_t>(i); }

// Links of each city that a move may add, and how many ways to go on are tried at each depth.
constexpr int LINKS = 12, BREADTH[] = {3, 1}, DEEPEST = 2;
// Depth up to which moves of three links are tried, too, where those of two exist.
constexpr int BY_THREE = 1;
// Customers of each of the parts that a kick exchanges, at most.
constexpr int LONGEST_PART = 50;
// Sums in another order differ by this share at most.
constexpr double ROUNDING = 1e-10, CHECKED = 1e-6;

} // namespace

Tour::Tour(const Model &problem, const VehicleType &vehicle, const std::vector<Node> &stops)
    : model_(problem), doubled_(!problem.symmetric) {
    if (doubled_) {
        node_ = {vehicle.end, vehicle.start};
        for (const Node node : stops)
            node_.insert(node_.end(), 2, node);
        for (int i = 0; i < static_cast<int>(node_.size()); ++i)
            mate_.push_back(i ^ 1);
    } else {
        node_ = {vehicle.start};
        node_.insert(node_.end(), stops.begin(), stops.end());
        mate_.assign(node_.size(), -1);
        if (vehicle.end != vehicle.start) {
            node_.push_back(vehicle.end);
            mate_.push_back(0);
            mate_.front() = static_cast<int>(node_.size()) - 1;
        }
    }
    for (int i = 0; i < static_cast<int>(node_.size()); ++i)
        order_.push_back(i);
    position_ = order_;
    length_ = measured();
    queued_.assign(node_.size(), 0);
    least_gain_ = ROUNDING * length_;
    if (!is_fixed())
        find_links(vehicle);
}

double Tour::measured() const {
    double sum = 0.0;
    for (int i = 0; i < cities(); ++i)
        if (!is_linked(i, next(i)))
            sum += cost(i, next(i));
    return sum;
}

void Tour::check() const {
    const double sum = measured();
    if (!(std::abs(sum - length_) <= CHECKED * sum))
        throw std::logic_error("expected a tour of length " + std::to_string(length_) +
                               ", found one of " + std::to_string(sum));
}

void Tour::find_links(const VehicleType &vehicle) {
    std::vector<std::vector<int>> cities_of(at(model_.size() + 1));
    std::vector<int> depots;
    for (int i = 0; i < cities(); ++i) {
        if (node_[at(i)] == vehicle.start || node_[at(i)] == vehicle.end)
            depots.push_back(i);
        cities_of[at(node_[at(i)])].push_back(i);
    }
    width_ = std::min(LINKS, cities() - 1);
    links_.assign(at(cities() * width_), {-1, INFINITE});
    std::vector<Link> found;
    const auto add = [&](int city, int other) {
        if (other != city && !is_linked(city, other) && cost(city, other) < INFINITE)
            found.push_back({other, cost(city, other)});
    };
    for (int city = 0; city < cities(); ++city) {
        found.clear();
        const Node node = node_[at(city)];
        if (!model_.is_customer[at(node)]) {
            for (int other = 0; other < cities(); ++other)
                add(city, other);
        } else {
            const Node *near = model_.near(node);
            // Twice as many: in an asymmetric problem not all are near in this direction.
            for (int i = 0; i < model_.width && near[i] >= 0 && std::ssize(found) < 2 * LINKS; ++i)
                for (const int other : cities_of[at(near[i])])
                    add(city, other);
            for (const int depot : depots)
                add(city, depot);
        }
        const auto end = found.begin() + std::min<std::ptrdiff_t>(width_, std::ssize(found));
        std::partial_sort(found.begin(), end, found.end(), [](const Link &a, const Link &b) {
            return a.length != b.length ? a.length < b.length : a.to < b.to;
        });
        std::copy(found.begin(), end, links_.begin() + city * width_);
    }
}

// Whether a city lies on the way from the first to the last.
bool Tour::is_between(int first, int city, int last) const {
    int a = position_[at(first)], b = position_[at(city)], c = position_[at(last)];
    if (reversed_)
        std::swap(a, c);
    return a <= c ? a <= b && b <= c : a <= b || b <= c;
}

// The way from the first city to the last the other way round. Where it is more than half of the
// tour, the rest is turned round in its stead.
void Tour::reverse(int first, int last) {
    if (reversed_)
        std::swap(first, last);
    const int n = cities();
    int low = position_[at(first)], high = position_[at(last)];
    int count = (high - low + n) % n + 1;
    if (2 * count > n) {
        std::swap(low, high);
        low = (low + 1) % n;
        high = (high - 1 + n) % n;
        count = n - count;
        reversed_ = !reversed_;
    }
    for (int swaps = count / 2; swaps > 0; --swaps) {
        const int a = order_[at(low)], b = order_[at(high)];
        order_[at(low)] = b;
        position_[at(b)] = low;
        order_[at(high)] = a;
        position_[at(a)] = high;
        low = low + 1 < n ? low + 1 : 0;
        high = high > 0 ? high - 1 : n - 1;
    }
}

void Tour::flip(int first, int last) {
    flips_.emplace_back(first, last);
    reverse(first, last);
}

// From now on what was before is after; noted, since a flip is undone in the direction it had.
void Tour::turn_over() {
    flips_.emplace_back(-1, -1);
    reversed_ = !reversed_;
}

void Tour::undo_to(std::size_t flips) {
    while (flips_.size() > flips) {
        const auto [first, last] = flips_.back();
        flips_.pop_back();
        if (first < 0)
            reversed_ = !reversed_;
        else
            reverse(last, first);
    }
}

void Tour::enqueue(int city) {
    if (!queued_[at(city)]) {
        queued_[at(city)] = 1;
        queue_.push_back(city);
    }
}

// t1 is followed by t2, and the link between them is given up. Ways to go on in which another city
// follows t1 and what is given up is more than what is added, but for the link that closes the
// tour; the best first.
int Tour::look(int depth, int t1, int t2, double gain, Step *found) const {
    int count = 0;
    const int most = BREADTH[depth];
    // Nothing comes after the last step: it has to close the tour.
    const bool is_last = depth + 1 == DEEPEST;
    const auto offer = [&](Step step) {
        if (is_last) {
            step.gain -= cost(step.h, t1);
            if (!(step.gain > least_gain_))
                return;
        }
        if (count == most && !(step.gain > found[count - 1].gain))
            return;
        int i = count < most ? count++ : count - 1;
        for (; i > 0 && found[i - 1].gain < step.gain; --i)
            found[i] = found[i - 1];
        found[i] = step;
    };
    const bool by_three = doubled_ || depth < BY_THREE;
    const Link *first = links_.data() + t2 * width_;
    for (int i = 0; i < width_ && first[i].to >= 0; ++i) {
        const int c = first[i].to;
        const double left = gain - first[i].length;
        if (!(left > least_gain_))
            break;
        if (c == t1 || c == next(t2))
            continue;
        const int p = previous(c);
        if (!is_linked(p, c))
            offer({left + cost(p, c), TURN, c, -1, p});
        const int e = next(c);
        if (!by_three || is_linked(c, e))
            continue;
        const double more = left + cost(c, e);
        const Link *second = links_.data() + e * width_;
        for (int j = 0; j < width_ && second[j].to >= 0; ++j) {
            const int f = second[j].to;
            const double then = more - second[j].length;
            if (!(then > least_gain_))
                break;
            if (f == c || f == t1 || !is_between(t2, f, c))
                continue;
            const int after = next(f), before = previous(f);
            if (!is_linked(f, after))
                offer({then + cost(f, after), EXCHANGE, c, f, after});
            if (f != t2 && !is_linked(before, f))
                offer({then + cost(before, f), TURN_BOTH, c, f, before});
        }
    }
    return count;
}

// h follows t1 then. TURN: t1 [t2 .. h] c, the part turned round. The others are of t1 [t2 .. c] e,
// divided between f and h: both parts change places, or each is turned round.
void Tour::make(const Step &step, int t1, int t2) {
    for (const int city : {t1, t2, step.c, step.h})
        touched_.push_back(city);
    if (step.kind == TURN) {
        flip(t2, step.h);
        return;
    }
    touched_.push_back(step.f);
    touched_.push_back(next(step.c));
    if (step.kind == EXCHANGE) {
        flip(t2, step.c);
        flip(step.c, step.h);
        flip(step.f, t2);
    } else {
        flip(t2, step.h);
        flip(step.f, step.c);
    }
}

void Tour::deepen(int depth, int t1, int t2, double gain) {
    Step steps[MOST_STEPS];
    const int count = look(depth, t1, t2, gain, steps);
    for (int i = 0; i < count; ++i) {
        const std::size_t before = flips_.size();
        make(steps[i], t1, t2);
        const int t = next(t1);
        const bool is_last = depth + 1 == DEEPEST;
        const double closed = is_last ? steps[i].gain : steps[i].gain - cost(t, t1);
        if (closed > best_gain_) {
            best_gain_ = closed;
            best_flips_ = flips_.size();
        }
        if (!is_last)
            deepen(depth + 1, t1, t, steps[i].gain);
        if (best_gain_ > 0.0)
            return;
        undo_to(before);
    }
}

bool Tour::improve(int city) {
    const std::size_t before = flips_.size();
    for (int side = 0; side < 2; ++side) {
        if (side > 0)
            turn_over();
        const int t2 = next(city);
        if (is_linked(city, t2))
            continue;
        best_gain_ = 0.0;
        best_flips_ = flips_.size();
        touched_.clear();
        const double whole = cost(city, t2);
        deepen(0, city, t2, whole);
        undo_to(best_flips_);
        if (best_gain_ > least_gain_) {
            length_ -= best_gain_;
            for (const int touched : touched_)
                enqueue(touched);
            return true;
        }
    }
    undo_to(before);
    return false;
}

void Tour::descend() {
    if (queue_.empty())
        for (int i = cities(); i-- > 0;)
            enqueue(order_[at(i)]);
    while (!queue_.empty()) {
        const int city = queue_.back();
        queue_.pop_back();
        queued_[at(city)] = 0;
        while (improve(city)) {
        }
    }
}

bool Tour::kick(Random &random, double slack) {
    flips_.clear();
    const double before = length_;
    // t1 [part] [part] [part] e: the first and the last change places.
    const int step = doubled_ ? 2 : 1;
    const int most = std::clamp((cities() / step - 1) / 3, 1, LONGEST_PART);
    const auto after = [&](int city, int count) {
        const int here = position_[at(city)] + (reversed_ ? -count : count);
        return order_[at((here + cities()) % cities())];
    };
    int last[4] = {random.below(cities()), 0, 0, 0}, first[4];
    if (is_linked(last[0], next(last[0])))
        last[0] = next(last[0]);
    double longer = 0.0;
    for (int i = 0; i < 4; ++i) {
        if (i > 0)
            last[i] = after(last[i - 1], step * (1 + random.below(most)));
        first[i] = next(last[i]);
        if (is_linked(last[i], first[i]))
            return false;
        longer -= cost(last[i], first[i]);
    }
    longer += cost(last[0], first[2]) + cost(last[3], first[1]) + cost(last[2], first[0]) +
              cost(last[1], first[3]);
    if (!(longer < INFINITE))
        return false;
    flip(first[0], last[3]);
    flip(last[3], first[2]);
    flip(last[2], first[1]);
    flip(last[1], first[0]);
    length_ += longer;
    for (int i = 0; i < 4; ++i) {
        enqueue(last[i]);
        enqueue(first[i]);
    }
    descend();
    if (length_ > before + std::max(slack, least_gain_)) {
        undo_to(0);
        length_ = before;
    }
    return keep_best();
}

bool Tour::keep_best() {
    if (!best_.empty() && !(length_ < best_length_ - least_gain_))
        return false;
    best_ = order_;
    if (reversed_)
        std::reverse(best_.begin(), best_.end());
    best_length_ = length_;
    return true;
}

// From the start away from the end.
std::vector<Node> Tour::stops() const {
    const int n = cities(), start = doubled_ ? 1 : 0;
    const int here = static_cast<int>(std::find(best_.begin(), best_.end(), start) - best_.begin());
    const bool onwards = !is_linked(start, best_[at((here + 1) % n)]);
    std::vector<Node> result;
    for (int i = 1; i < n; ++i) {
        const Node node = node_[at(best_[at((onwards ? here + i : here - i + n) % n)])];
        if (model_.is_customer[at(node)] && (result.empty() || result.back() != node))
            result.push_back(node);
    }
    return result;
}

} // namespace spacevrp
