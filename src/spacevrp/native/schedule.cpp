// Schedules with breaks, gaps between windows, and travel times that depend on the time of day.
// Leaving later never means arriving earlier, so that for each number of breaks taken the earliest
// clock says it all; and the latest one on the way back from the end.
#include "rules.hpp"

#include <algorithm>
#include <cmath>

namespace spacevrp {
namespace {

std::size_t at(int i) { return static_cast<std::size_t>(i); }

// A stop takes as long, for each number of breaks taken so far, as so many of a route with plain
// times.
constexpr int STEPS_OF_STOP = 4;

} // namespace

// When a break begins that may begin from now on; infinite where its last window has closed.
double RouteRules::begin_break(const Break &one, double clock) const {
    for (const Interval &window : one.windows)
        if (std::max(clock, window.from) <= window.until + model_.time_slack)
            return std::max(clock, window.from);
    return INFINITE;
}

// Whether the breaks from a number on may be taken one after the other from now on.
bool RouteRules::fit_after(const std::vector<Break> &breaks, std::size_t number,
                           double clock) const {
    for (; number < breaks.size() && clock < INFINITE; ++number)
        clock = begin_break(breaks[number], clock) + breaks[number].duration;
    return clock < INFINITE;
}

double RouteRules::travel(const TypeRules &own, Node from, Node to, double leaving) const {
    const std::vector<double> &moments = model_.rules.moments;
    if (moments.empty() || from == model_.nowhere() || to == model_.nowhere())
        return own.slowness * model_.duration(from, to);
    const std::size_t cell = at(from) * at(model_.size()) + at(to);
    const auto &durations = model_.rules.durations;
    const auto after = std::lower_bound(moments.begin(), moments.end(), leaving);
    if (after == moments.begin())
        return own.slowness * durations.front()[cell];
    if (after == moments.end())
        return own.slowness * durations.back()[cell];
    const auto next = static_cast<std::size_t>(after - moments.begin());
    const double first = durations[next - 1][cell], second = durations[next][cell];
    if (std::isinf(first) || std::isinf(second))
        return INFINITE;
    const double share = (leaving - moments[next - 1]) / (moments[next] - moments[next - 1]);
    return own.slowness * (first + (second - first) * share);
}

double RouteRules::latest_leaving(const TypeRules &own, Node from, Node to, double arrival) const {
    const std::vector<double> &moments = model_.rules.moments;
    if (moments.empty() || from == model_.nowhere() || to == model_.nowhere())
        return arrival - own.slowness * model_.duration(from, to);
    const double dust = DUST * model_.time_slack;
    const std::size_t cell = at(from) * at(model_.size()) + at(to);
    const auto takes = [&](std::size_t i) {
        return own.slowness * model_.rules.durations[i][cell];
    };
    std::size_t i = moments.size() - 1;
    if (moments[i] + takes(i) <= arrival + dust)
        return std::max(moments[i], arrival - takes(i));
    for (; i > 0; --i) {
        const double first = moments[i - 1] + takes(i - 1), second = moments[i] + takes(i);
        if (second <= arrival + dust)
            return moments[i];
        if (first <= arrival + dust)
            return moments[i - 1] + std::max(arrival - first, 0.0) / (second - first) *
                                        (moments[i] - moments[i - 1]);
    }
    return arrival - takes(0);
}

double RouteRules::begin_service(Node node, double arrival) const {
    double begun = std::max(arrival, model_.opening[at(node)]);
    if (!model_.rules.closed.empty())
        for (const Interval &gap : model_.rules.closed[at(node)])
            if (gap.from + model_.time_slack < begun && begun < gap.until)
                begun = gap.until;
    return begun;
}

// When a stop is left that is reached then; infinite where what holds it does so for too long.
double RouteRules::left_at(Node node, double arrival, double service) const {
    const double begun = begin_service(node, std::max(arrival, held_[at(node)] - service));
    return begun <= model_.closing[at(node)] ? begun + service : INFINITE;
}

// The latest arrival after which service begins by then; -inf where it cannot. Where the slack of
// comparisons lets a stop begin after it has closed, at its soonest, it may.
double RouteRules::latest_arrival(Node node, double begin, double soonest) const {
    const double dust = DUST * model_.time_slack;
    double begun = std::min(begin, std::max(model_.closing[at(node)] - model_.time_slack, soonest));
    if (!model_.rules.closed.empty()) {
        const std::vector<Interval> &gaps = model_.rules.closed[at(node)];
        for (auto gap = gaps.rbegin(); gap != gaps.rend(); ++gap)
            if (gap->from < begun && begun < gap->until - dust)
                begun = gap->from;
    }
    return begun < model_.opening[at(node)] - dust ? -INFINITE : begun;
}

// One leg: from `earliest_` at a stop, by breaks taken, to `reached_` at the next.
bool RouteRules::forward(const TypeRules &own, Node before, Node node, bool is_end) {
    const std::size_t most = own.breaks.size();
    std::fill(reached_.begin(), reached_.end(), INFINITE);
    const double closing = is_end ? INFINITE : model_.closing[at(node)];
    bool some = false;
    for (std::size_t taken = 0; taken <= most; ++taken) {
        double clock = earliest_[taken];
        if (clock == INFINITE)
            continue;
        double arrival = clock + travel(own, before, node, clock);
        for (std::size_t then = taken;; ++then) {
            if (arrival <= closing && arrival < reached_[then]) {
                reached_[then] = arrival;
                origin_reached_[then] = origin_[taken];
                some = true;
            }
            if (then == most)
                break;
            const double begin = begin_break(own.breaks[then], clock);
            if (begin == INFINITE)
                break;
            // Where it cannot begin on the way, the vehicle waits for it at the next stop.
            arrival = std::max(arrival, begin) + own.breaks[then].duration;
            clock = begin + own.breaks[then].duration;
        }
    }
    return some;
}

double RouteRules::leave_by(const TypeRules &own, Node before, Node node, std::size_t taken,
                            std::size_t then, double arrival) const {
    const double dust = DUST * model_.time_slack;
    double start = INFINITE;
    // From the last break on this leg to the first: each in the latest window that does.
    for (std::size_t k = then; k-- > taken;) {
        const Break &one = own.breaks[k];
        const auto window =
            std::find_if(one.windows.rbegin(), one.windows.rend(), [&](const Interval &interval) {
                return interval.from + one.duration <= std::min(arrival, start) + dust;
            });
        if (window == one.windows.rend())
            return -INFINITE;
        start = std::min(window->until, start - one.duration);
        arrival -= one.duration;
    }
    return std::min(start, latest_leaving(own, before, node, arrival));
}

// One leg back: from the latest arrivals at a stop to the latest departures from the one before.
void RouteRules::backward(const TypeRules &own, Node before, Node node) {
    const std::size_t most = own.breaks.size();
    for (std::size_t taken = 0; taken <= most; ++taken) {
        latest_[taken] = -INFINITE;
        for (std::size_t then = taken; then <= most; ++then)
            if (by_[then] != -INFINITE)
                latest_[taken] =
                    std::max(latest_[taken], leave_by(own, before, node, taken, then, by_[then]));
    }
}

// Departures by the breaks taken before: the vehicle leaves when these are over.
bool RouteRules::set_out(const TypeRules &own, double earliest) {
    const std::size_t most = own.breaks.size();
    const double slack = model_.time_slack;
    for (auto *array : {&starts_, &reached_, &latest_, &by_})
        array->assign(most + 1, INFINITE);
    origin_.resize(most + 1);
    origin_reached_.resize(most + 1);
    double over = -INFINITE;
    bool some = false;
    for (std::size_t taken = 0; taken <= most; ++taken) {
        if (taken > 0) {
            const double begin = begin_break(own.breaks[taken - 1], over);
            if (begin == INFINITE)
                break;
            over = begin + own.breaks[taken - 1].duration;
        }
        const double departure = std::max(earliest, over);
        if (departure <= own.latest_start + slack) {
            starts_[taken] = departure;
            some = true;
        }
        origin_[taken] = static_cast<int>(taken);
    }
    earliest_ = starts_;
    return some;
}

bool RouteRules::needs_duration(int type) const {
    return model_.rules.types[at(type)].priced_by_time || model_.relations.measured ||
           std::isfinite(model_.vehicles[at(type)].max_duration);
}

bool RouteRules::full_schedule(int type, const Node *visits, int count) {
    const VehicleType &vehicle = model_.vehicles[at(type)];
    const TypeRules &own = model_.rules.types[at(type)];
    const std::size_t most = own.breaks.size();
    const double slack = model_.time_slack;
    steps += STEPS_OF_STOP * count * static_cast<int>(most + 1);
    const double first = std::max(vehicle.leaves, released(own, visits, count));
    if (!set_out(own, first))
        return false;
    soonest_.resize(at(count) * (most + 1));
    Node last = vehicle.start;
    for (int i = 0; i < count; ++i) {
        const Node node = visits[i];
        if (!forward(own, last, node, false))
            return false;
        const double service = service_of(own, last, node);
        const double ready =
            model_.is_customer[at(node)] ? -INFINITE : released(own, visits + i + 1, count - i - 1);
        for (std::size_t b = 0; b <= most; ++b) {
            const double left =
                reached_[b] == INFINITE ? INFINITE : left_at(node, reached_[b], service);
            soonest_[at(i) * (most + 1) + b] = left == INFINITE ? -INFINITE : left - service;
            earliest_[b] = left == INFINITE ? INFINITE : std::max(left, ready);
        }
        origin_.swap(origin_reached_);
        last = node;
    }
    if (!forward(own, last, vehicle.end, true))
        return false;
    double end = INFINITE;
    std::size_t chosen = 0;
    for (std::size_t b = 0; b <= most; ++b)
        if (reached_[b] < end && reached_[b] <= vehicle.back_by &&
            fit_after(own.breaks, b, reached_[b])) {
            end = reached_[b];
            chosen = b;
        }
    if (end == INFINITE)
        return false;
    schedule_.end = end;
    schedule_.departure = starts_[at(origin_reached_[chosen])];
    if (!needs_duration(type))
        return true;
    // As late as it can with the same end.
    for (std::size_t b = 0; b <= most; ++b)
        by_[b] = fit_after(own.breaks, b, end) ? end : -INFINITE;
    backward(own, last, vehicle.end);
    for (int i = count - 1; i >= 0; --i) {
        const Node node = visits[i], before = i > 0 ? visits[i - 1] : vehicle.start;
        const double service = service_of(own, before, node);
        const double ready =
            model_.is_customer[at(node)] ? -INFINITE : released(own, visits + i + 1, count - i - 1);
        for (std::size_t b = 0; b <= most; ++b)
            by_[b] =
                latest_[b] == -INFINITE || ready > latest_[b] + DUST * slack
                    ? -INFINITE
                    : latest_arrival(node, latest_[b] - service, soonest_[at(i) * (most + 1) + b]);
        backward(own, before, node);
    }
    for (std::size_t b = 0; b <= most; ++b) {
        if (starts_[b] == INFINITE || !(latest_[b] >= starts_[b] - 2.0 * slack))
            continue;
        const double leaves =
            std::min(std::max(latest_[b], starts_[b]), std::max(own.latest_start, starts_[b]));
        schedule_.departure = std::max(schedule_.departure, leaves);
    }
    return true;
}

} // namespace spacevrp
