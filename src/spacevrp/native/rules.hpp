// Rules and costs of whole routes, which no constant-time check can see: one exact evaluation.
#pragma once

#include "model.hpp"

#include <vector>

namespace spacevrp {

// What a route costs beyond weight * length and the fixed cost.
struct RouteValue {
    bool feasible = false;
    double extra = 0.0;
};

// When a route leaves and is over, and everything on its way.
struct Schedule {
    double departure = 0.0, end = 0.0;
    double duration() const { return end - departure; }
};

// Each plan has one of its own: an evaluation needs room to work in.
class RouteRules {
public:
    explicit RouteRules(const Model &problem) : model_(problem) {}

    // For stops whose constant-time checks have been passed.
    RouteValue evaluate(int type, const Node *stops, int count);
    // How long such a route takes.
    double duration(int type, const Node *stops, int count);
    // The least that a route with so much driving and service costs beyond its length.
    double least_extra(int type, double busy) const;
    // Of the last route that was evaluated, where its type is scheduled.
    const Schedule &schedule() const { return schedule_; }

private:
    struct Ride {
        int from, to; // places of the pickup and of the delivery
        double limit; // between the beginnings of both
    };
    bool keeps_rides(int type, const Node *stops, int count);
    bool find_ride_schedule(int type, const Node *stops, int count, double slack);
    bool find_schedule(int type, const Node *stops, int count);

    const Model &model_;
    Schedule schedule_;
    std::vector<Ride> rides_;
    std::vector<int> place_; // (N + 1,) on the route at hand
    std::vector<double> held_, begins_;
};

} // namespace spacevrp
