// Limits on the time between a pickup and its delivery. Once it is said on which leg each break is
// taken, every rule bounds one moment from below by another, by more where that is later: so there
// is an earliest schedule, to which every delay that is forced leads, and a latest. The definition
// is in problems/referee/rides.py.
#include "rules.hpp"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

namespace spacevrp {
namespace {

std::size_t at(int i) { return static_cast<std::size_t>(i); }

// A stop takes as long as so many of a route with plain times.
constexpr int STEPS_OF_STOP = 2;

// Ways to take the breaks of a route that are tried; a route that needs more is refused.
constexpr int MOST_TRIED = 1000;
// Delays that follow one another where travel times change all the time; the same holds.
constexpr std::size_t MOST_ROUNDS = 200;

} // namespace

// The rides of a route, and what no pickup is left before: a window of a stop on its ride opens so
// late. Where one window is all that a stop has and travel times stay, that is all there is to
// rides: a vehicle that is later than this waits nowhere. False where a ride is too long.
bool RouteRules::read_rides(int type, const Node *stops, int count, double slack) {
    steps += count / 2;
    const TypeRules &own = model_.rules.types[at(type)];
    const double dust = DUST * model_.time_slack;
    for (const Ride &ride : rides_)
        held_[at(ride.pickup)] = -INFINITE;
    rides_.clear();
    for (int i = 0; i < count; ++i)
        place_[at(stops[i])] = i;
    for (int i = 0; i < count; ++i) {
        const Node node = stops[i], pickup = model_.partner[at(node)];
        if (pickup < 0 || model_.is_pickup[at(node)] ||
            !std::isfinite(model_.relations.max_ride[at(pickup)]))
            continue;
        const int from = place_[at(pickup)];
        if (from < 0 || from >= i || stops[from] != pickup)
            continue;
        double least = 0.0;
        for (int k = from + 1; k <= i; ++k) {
            least += own.slowness * model_.duration(stops[k - 1], stops[k]);
            if (k < i)
                least += service_of(own, stops[k - 1], stops[k]);
        }
        const double limit = model_.relations.max_ride[at(pickup)] + slack;
        rides_.push_back({pickup, node, limit, least});
        if (!(least <= limit + dust))
            return false;
    }
    bool moved = true;
    for (std::size_t round = 0; moved && round <= rides_.size(); ++round) {
        moved = false;
        for (const Ride &ride : rides_) {
            const int from = place_[at(ride.pickup)], to = place_[at(ride.delivery)];
            double clock = held_[at(ride.pickup)];
            for (int k = from + 1; k <= to; ++k) {
                const Node node = stops[k];
                const double service = service_of(own, stops[k - 1], node);
                clock = std::max({clock + own.slowness * model_.duration(stops[k - 1], node),
                                  model_.opening[at(node)], held_[at(node)] - service});
                if (k < to)
                    clock += service;
            }
            if (clock - ride.limit > held_[at(ride.pickup)] + dust) {
                held_[at(ride.pickup)] = clock - ride.limit;
                moved = true;
            }
        }
    }
    return true;
}

// ------------------------------------------------------------------- breaks, gaps, times of day

// The best schedule that keeps the rides, given the best of all.
bool RouteRules::ride_schedule(int type, const Node *visits, int count) {
    const VehicleType &vehicle = model_.vehicles[at(type)];
    const TypeRules &own = model_.rules.types[at(type)];
    services_.resize(at(count));
    ready_.resize(at(count));
    for (int i = 0; i < count; ++i) {
        const Node node = visits[i];
        services_[at(i)] = service_of(own, i > 0 ? visits[i - 1] : vehicle.start, node);
        ready_[at(i)] =
            model_.is_customer[at(node)] ? -INFINITE : released(own, visits + i + 1, count - i - 1);
        place_[at(node)] = i;
    }
    places_.clear();
    best_schedule_ = {-INFINITE, INFINITE};
    tried_ = 0;
    Schedule found;
    if (times_with_rides(type, visits, count, found))
        place_breaks(type, visits, count, found);
    schedule_ = best_schedule_;
    return best_schedule_.end < INFINITE;
}

// Whether nothing that ends and leaves so is better than the best.
bool RouteRules::is_beaten(int type, const Schedule &bound) const {
    const double dust = DUST * model_.time_slack;
    if (bound.end <= best_schedule_.end - dust)
        return false;
    return bound.end > best_schedule_.end + dust || !needs_duration(type) ||
           bound.departure <= best_schedule_.departure + dust;
}

// The first breaks are where they are, the others after the route, or on a leg from one on. What is
// found without the others bounds whatever takes them on the way: the most promising leg is first.
void RouteRules::place_breaks(int type, const Node *visits, int count, const Schedule &found) {
    const std::vector<Break> &breaks = model_.rules.types[at(type)].breaks;
    if (fit_after(breaks, places_.size(), found.end))
        best_schedule_ = found;
    // None is better than the best without rides.
    if (places_.size() == breaks.size() || is_beaten(type, schedule_))
        return;
    std::vector<std::pair<Schedule, int>> next;
    for (int place = places_.empty() ? 0 : places_.back(); place < count + 2; ++place) {
        Schedule times;
        places_.push_back(place);
        if (++tried_ <= MOST_TRIED && times_with_rides(type, visits, count, times))
            next.emplace_back(times, place);
        places_.pop_back();
    }
    std::stable_sort(next.begin(), next.end(), [](const auto &one, const auto &other) {
        return one.first.end < other.first.end;
    });
    for (const auto &[times, place] : next)
        if (!is_beaten(type, times) && !is_beaten(type, schedule_)) {
            places_.push_back(place);
            place_breaks(type, visits, count, times);
            places_.pop_back();
        }
}

// As early as can be, which gives the end; then leaving as late as can be.
bool RouteRules::times_with_rides(int type, const Node *visits, int count, Schedule &found) {
    const TypeRules &own = model_.rules.types[at(type)];
    const double slack = model_.time_slack;
    taken_.assign(at(count + 2), 0);
    for (const int place : places_)
        for (int i = place; i < count + 2; ++i)
            ++taken_[at(i)];
    double over = -INFINITE;
    for (std::size_t k = 0; k < taken_[0]; ++k)
        over = begin_break(own.breaks[k], over) + own.breaks[k].duration;
    found.departure =
        std::max({model_.vehicles[at(type)].leaves, released(own, visits, count), over});
    holds_.assign(at(count), -INFINITE);
    for (const Ride &ride : rides_) {
        const std::size_t pickup = at(place_[at(ride.pickup)]);
        holds_[pickup] = held_[at(ride.pickup)] - services_[pickup];
    }
    if (!(found.departure <= own.latest_start + slack) ||
        !earliest_with_rides(type, visits, count, found.departure, found.end))
        return false;
    if (!needs_duration(type))
        return true;
    const double leaves =
        std::max(latest_with_rides(type, visits, count, found.end), found.departure);
    double end = INFINITE;
    if (earliest_with_rides(type, visits, count, leaves, end) && end <= found.end + slack)
        found = {leaves, end};
    return true;
}

std::size_t RouteRules::most_rounds(const TypeRules &own, const Node *visits, int count) const {
    if (!model_.rules.moments.empty())
        return MOST_ROUNDS;
    std::size_t jumps = 1; // to a later window
    if (!model_.rules.closed.empty())
        for (int i = 0; i < count; ++i)
            jumps += model_.rules.closed[at(visits[i])].size();
    for (const Break &one : own.breaks)
        jumps += one.windows.size();
    return (rides_.size() + 2) * jumps;
}

bool RouteRules::earliest_with_rides(int type, const Node *visits, int count, double departure,
                                     double &end) {
    const TypeRules &own = model_.rules.types[at(type)];
    const double dust = DUST * model_.time_slack;
    for (const Ride &ride : rides_) {
        double least = ride.least;
        for (std::size_t k = taken_[at(place_[at(ride.pickup)] + 1)];
             k < taken_[at(place_[at(ride.delivery)] + 1)]; ++k)
            least += own.breaks[k].duration;
        if (!(least <= ride.limit + dust))
            return false;
    }
    for (std::size_t round = most_rounds(own, visits, count); round > 0; --round) {
        if (!drive_held(type, visits, count, departure, end))
            return false;
        bool moved = false;
        for (const Ride &ride : rides_) {
            const std::size_t pickup = at(place_[at(ride.pickup)]);
            const double least =
                begins_[at(place_[at(ride.delivery)])] - ride.limit - services_[pickup];
            if (least > begins_[pickup] + dust) {
                holds_[pickup] = std::max(least, short_from(own, visits, ride));
                moved = true;
            }
        }
        if (!moved)
            return true;
    }
    return false;
}

// Everything as early as what is held allows; false where it is too late.
bool RouteRules::drive_held(int type, const Node *visits, int count, double departure,
                            double &end) {
    const VehicleType &vehicle = model_.vehicles[at(type)];
    const TypeRules &own = model_.rules.types[at(type)];
    begins_.resize(at(count));
    steps += STEPS_OF_STOP * count;
    double clock = departure;
    Node last = vehicle.start;
    for (int i = 0; i <= count; ++i) {
        const Node node = i < count ? visits[i] : vehicle.end;
        double arrival = clock + travel(own, last, node, clock), rested = clock;
        for (std::size_t k = taken_[at(i)]; k < taken_[at(i + 1)]; ++k) {
            const double begin = begin_break(own.breaks[k], rested);
            arrival = std::max(arrival, begin) + own.breaks[k].duration;
            rested = begin + own.breaks[k].duration;
        }
        if (i == count) {
            end = arrival;
            break;
        }
        begins_[at(i)] = begin_service(node, std::max(arrival, holds_[at(i)]));
        if (!(begins_[at(i)] <= model_.closing[at(node)]))
            return false;
        clock = std::max(begins_[at(i)] + services_[at(i)], ready_[at(i)]);
        last = node;
    }
    return end <= vehicle.back_by && end < INFINITE;
}

// The latest departure of all schedules that end no later; -inf for none.
double RouteRules::latest_with_rides(int type, const Node *visits, int count, double end) {
    const VehicleType &vehicle = model_.vehicles[at(type)];
    const TypeRules &own = model_.rules.types[at(type)];
    const double dust = DUST * model_.time_slack;
    by_then_.assign(at(count), INFINITE);
    soonest_ = begins_; // of the earliest schedule
    double left = -INFINITE;
    for (std::size_t round = most_rounds(own, visits, count); round > 0; --round) {
        double by = end;
        for (int i = count; i >= 0; --i) {
            const Node node = i < count ? visits[i] : vehicle.end;
            const Node before = i > 0 ? visits[i - 1] : vehicle.start;
            if (i < count) {
                by = ready_[at(i)] > left + dust
                         ? -INFINITE
                         : latest_arrival(node, std::min(left - services_[at(i)], by_then_[at(i)]),
                                          soonest_[at(i)]);
                begins_[at(i)] = by;
            }
            left = by == -INFINITE
                       ? -INFINITE
                       : leave_by(own, before, node, taken_[at(i)], taken_[at(i + 1)], by);
        }
        bool moved = false;
        for (const Ride &ride : rides_) {
            const std::size_t pickup = at(place_[at(ride.pickup)]),
                              delivery = at(place_[at(ride.delivery)]);
            const double most = begins_[pickup] + services_[pickup] + ride.limit;
            if (begins_[delivery] > most + dust) {
                by_then_[delivery] = most;
                moved = true;
            }
        }
        if (!moved || left == -INFINITE)
            break;
    }
    return std::min(left, own.latest_start);
}

// From when on the ways and stops alone leave a ride short enough; infinite for never. Between the
// moments that matter the time they take lies on a straight line.
double RouteRules::short_from(const TypeRules &own, const Node *visits, const Ride &ride) const {
    const int from = place_[at(ride.pickup)], to = place_[at(ride.delivery)];
    const double begun = begins_[at(from)], service = services_[at(from)];
    if (model_.rules.moments.empty())
        return begun;
    const auto excess = [&](double moment) {
        double clock = moment + service;
        for (int k = from + 1; k <= to; ++k) {
            clock += travel(own, visits[k - 1], visits[k], clock);
            if (k < to)
                clock += services_[at(k)];
        }
        return clock - (moment + service) - ride.limit;
    };
    double before = excess(begun);
    if (before <= 0.0)
        return begun;
    std::vector<double> moments{begun};
    for (int i = from; i < to; ++i)
        for (double leaving : model_.rules.moments) {
            for (int k = i; k > from; --k)
                leaving = latest_leaving(own, visits[k - 1], visits[k], leaving - services_[at(k)]);
            if (leaving - service > begun)
                moments.push_back(leaving - service);
        }
    std::sort(moments.begin(), moments.end());
    for (std::size_t i = 1; i < moments.size(); ++i) {
        const double after = excess(moments[i]);
        if (after <= 0.0)
            return moments[i - 1] + (moments[i] - moments[i - 1]) * before / (before - after);
        before = after;
    }
    return INFINITE;
}

} // namespace spacevrp
