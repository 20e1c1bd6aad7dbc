// One route as a tour whose order is free: chained Lin-Kernighan (Applegate, Cook and Rohe 2003).
#pragma once

#include "model.hpp"
#include "random.hpp"

#include <utility>
#include <vector>

namespace spacevrp {

// A city is a node of the route. Where distances are asymmetric each node is two cities, one to
// arrive at and one to leave from, with a fixed link between them (Jonker and Volgenant 1983); a
// start and an end that differ are linked in the same way. So every tour of cities is a route.
class Tour {
public:
    Tour(const Model &problem, const VehicleType &vehicle, const std::vector<Node> &stops);

    // Too short to gain anything, or a link is missing.
    bool is_fixed() const { return cities() < FEWEST || !(length_ < INFINITE); }
    // Replaces links as long as that makes the tour shorter.
    void descend();
    // A double bridge close to a random city, and a descent from there; undone if the tour is
    // longer then by more than the slack. Whether it is the best so far.
    bool kick(Random &random, double slack);
    bool keep_best(); // if it is, and whether it is
    // The customers of the best tour in their order, from the start to the end.
    std::vector<Node> stops() const;
    // Adds its links up again; throws std::logic_error where that is another length.
    void check() const;
    double mean_link() const { return length_ / cities(); }

private:
    struct Link {
        int to;
        double length;
    };
    // What is gained by then if the tour is not closed, and the cities of a move: see `make`.
    struct Step {
        double gain;
        int kind, c, f, h;
    };
    static constexpr int FEWEST = 8, MOST_STEPS = 3;
    enum Kind { TURN, EXCHANGE, TURN_BOTH };

    int cities() const { return static_cast<int>(order_.size()); }
    double cost(int a, int b) const {
        const Node from = node_[Model::at(a)], to = node_[Model::at(b)];
        if (!doubled_)
            return model_.distance(from, to);
        if (((a ^ b) & 1) == 0)
            return INFINITE;
        const bool leaves = (a & 1) != 0; // the odd cities are those to leave from
        return leaves ? model_.distance(from, to) : model_.distance(to, from);
    }
    double measured() const;
    void find_links(const VehicleType &vehicle);
    int next(int city) const { return beside(city, !reversed_); }
    int previous(int city) const { return beside(city, reversed_); }
    int beside(int city, bool onwards) const {
        const int here = position_[Model::at(city)], last = cities() - 1;
        if (onwards)
            return order_[Model::at(here < last ? here + 1 : 0)];
        return order_[Model::at(here > 0 ? here - 1 : last)];
    }
    bool is_between(int first, int city, int last) const;
    bool is_linked(int a, int b) const { return mate_[Model::at(a)] == b; }
    void reverse(int first, int last);
    void flip(int first, int last);
    void turn_over();
    void undo_to(std::size_t flips);
    void enqueue(int city);

    bool improve(int city);
    void deepen(int depth, int t1, int t2, double gain);
    int look(int depth, int t1, int t2, double gain, Step *found) const;
    void make(const Step &step, int t1, int t2);

    const Model &model_;
    bool doubled_ = false;
    std::vector<Node> node_;            // (cities,)
    std::vector<int> mate_;             // (cities,) by a fixed link, or -1
    std::vector<int> order_, position_; // (cities,)
    std::vector<Link> links_;           // (cities, width_), the shortest first
    int width_ = 0;
    bool reversed_ = false; // the tour runs against the order
    double length_ = 0.0, best_length_ = INFINITE;
    std::vector<int> best_; // (cities,)
    double least_gain_ = 0.0;
    std::vector<std::pair<int, int>> flips_; // since the last kick
    std::vector<int> touched_;               // by the moves of one improvement
    std::size_t best_flips_ = 0;
    double best_gain_ = 0.0;
    std::vector<int> queue_;
    std::vector<char> queued_;
};

} // namespace spacevrp
