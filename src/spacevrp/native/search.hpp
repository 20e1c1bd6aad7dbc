// Ruin and recreate with annealing (SISR: Christiaens and Vanden Berghe 2020) and a descent over
// near neighbours, for every rule of the model.
#pragma once

#include "plan.hpp"
#include "random.hpp"
#include "tour.hpp"

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

namespace spacevrp {

struct Options {
    std::uint64_t seed = 0;
    std::int64_t iterations = -1; // no limit where negative, like the other two
    double seconds = -1.0;
    std::int64_t no_gain = -1; // iterations without a better plan
    // The rest has been measured; see records/.
    // Temperature at the start and the end, in typical arcs, and customers taken out at a time, on
    // average; 0 chooses by the rules of the problem and the time there is.
    double hot = 0.0, cold = 0.0, removed = 0.0;
    double longest_string = 10.0;
    double blink = 0.01;   // share of places that an insertion overlooks
    int places = 0;        // neighbours beside which to insert; 0 chooses by size
    double wide = 0.2;     // share of iterations that try all routes nevertheless
    double descent = 0.01; // share of iterations with a descent around what changed
    int granularity = 12;  // neighbours that the descent looks at
    double within = 0.2;   // share of iterations that improve a single tour before they judge it
    double moved = 0.1;    // share of iterations that give a ruined route another depot
    double progress_from = 0.0, progress_to = 1.0; // part of a longer annealing
    // Iterations a customer from which on an annealing of one plan goes in stages.
    double staged = 2000.0;
    bool descend_first = true;
    bool give_current = false; // beside the best plan, for an annealing that goes on
    bool check = false;        // every remembered place against a new look; for tests
};

struct Trace {
    double seconds = 0.0;
    std::int64_t iterations = 0;
    Value value;
};

struct Result {
    Routes routes, current;
    Value value;
    std::int64_t iterations = 0;
    double seconds = 0.0;
    bool interrupted = false;
    std::vector<Trace> trace; // of better plans, thinned
};

// Called from the search, seldom. `stop` may end it; `found` hears of better plans.
struct Hooks {
    std::function<bool()> stop;
    std::function<void(const Routes &, const Value &)> found;
};

class Search {
public:
    Search(const Model &problem, const Options &options);

    // A long search may begin with the other plans, too.
    void begin(const Routes &start, const std::vector<Routes> &others = {});
    // With a part of a plan: these routes, these unserved units, so many vehicles more.
    void begin_part(const Routes &part, const std::vector<Node> &unserved,
                    const std::vector<int> &vehicles_left, int routes_allowed);
    Result run(const Hooks &hooks);

    // All units into the best places, in several orders; the best plan of all.
    void construct_by_insertion(int tries);
    void construct_by_savings();
    // Who would lose most by waiting comes first: by the best place in each of `depth` routes.
    void construct_by_regret(int depth);
    void keep_best_if_better() {
        if (plan.value().better_than(best_value_))
            keep_best();
    }
    Routes best() const { return best_routes(); }
    const Value &best_value() const { return best_value_; }

    // Local moves until none is left, from the routes in `queue_` or from all.
    void descend_all();

    Plan plan;

    struct Proposal {
        double delta = INFINITE;
        int route[2] = {-1, -1};
        std::vector<Node> stops[2];
    };
    static constexpr int MOVES = 10;
    static const char *move_name(int kind);
    // The move of a kind for customers u and v, if it changes the cost by less than the bound and
    // keeps all rules.
    bool propose(int kind, Node u, Node v, double bound, Proposal &out);
    void apply(const Proposal &proposal);
    // The best place of a unit in the bank. With `blink`, some are overlooked.
    Place best_place(Node head, double blink);
    double objective() const;

private:
    void begin_here();
    void load_again(const Routes &start);
    void insert_bank(); // all of it, into the best places
    void drop_what_does_not_pay();
    struct Regret;
    bool regret_of(Node head, int depth, Regret &out);

    struct Saved {
        int route, type, first, size, first_arc;
        std::uint64_t version;
        double extra;
    };
    struct Piece {
        int route, from, to;
        bool reversed;
    };

    // --- one iteration
    void ruin();
    void take_string(Node node, int length);
    void take_radius(Node seed, int count);
    void mark(Node node);
    bool commit_ruin();
    bool recreate(double blink, double limit);
    void order_units();
    void retype();
    bool change_types();
    bool change_depots();
    double cheapest_cut(const Route &r, int type, double bound);
    void touch(int number);
    void forget_saved();
    void undo();
    void put_back(const Saved &saved);
    void recognise(const Saved &saved);
    bool better_elsewhere(Node head, double delta) const;
    bool is_optional_unit(Node head) const;
    bool leaves(Node head);

    // --- fewest vehicles
    bool drop_route();
    void end_of_dropping();

    // --- places
    // The best place of a unit in a route at a version of it, its delivery after `second`; or, with
    // `first` below 0, a bound that no place falls below.
    struct Known {
        std::uint64_t version = 0;
        double delta = 0.0;
        int first = -1, second = -1;
        double extra = 0.0;
    };
    Known *known(Node head, int number); // null where memory would not do
    void check_known(const Known &held, int number, Node head);
    // That a customer at a place costs no less, by a look at the whole route; for tests.
    void check_bound(const Route &r, int after, Node node, double longer, double least);
    bool has_room(const Route &r, Node node) const;
    // The best place in a route that costs more than the floor and less than the bound; the bound
    // itself, in no route, if there is none.
    Place scan_route(int number, Node node, double floor, double bound);
    Place scan_whole(int number, Node node, double floor, double bound);
    Place scan_pair(int number, Node pickup, double floor, double bound);
    // The same where nothing but one kind of load limits pairs, and whether that is so.
    Place scan_plain_pair(int number, Node pickup, double floor, double bound);
    bool has_plain_pairs() const;
    // The best of the candidates by the rules of whole routes, if it lies between floor and bound.
    Place best_candidate(int number, Node head, double floor, double bound);
    void try_route(int number, Node head, double blink, Place &best);
    void try_near_routes(Node head, double blink, Place &best);
    void try_near_places(Node node, double blink, Place &best);
    void try_new_route(Node head, double blink, Place &best);
    double surcharge(double takes) const;
    // The best place of all members of its group, and which that is.
    Place best_of_group(Node &head, double blink);

    // --- descent
    bool weigh(const Piece *first, int first_count, const Piece *second, int second_count,
               double bound, Proposal &out);
    bool keeps_measures(const Proposal &out) const;
    double busy_between(const Route &source, const Piece &piece) const;
    bool exchange_parts(Node u, Node v, double bound, Proposal &out);
    bool turn_part(int number, int low, int high, double bound, Proposal &out);
    bool improve_within(Node u);
    void enqueue_ends(int number, const std::vector<Node> &stops);
    void descend_within(); // by moves within the routes that an iteration changed
    void descend();
    bool improve(Node u);
    void enqueue(Node node);
    void enqueue_route(int number);
    void enqueue_beside(Node node); // with its neighbours on the route
    void enqueue_changed();

    // --- one tour
    // The share of the time in which the order of the only route is all that changes.
    double share_of_tour() const;
    bool begin_tour();           // where there is something to gain
    bool kick_tour(double heat); // whether it is the best so far
    bool take_tour();            // the best into the plan; whether that is better now

    // --- stages: see stages.cpp
    struct Stage {
        int number = 0, trajectories = 0; // none where the annealing is one
        double from = 0.0, to = 1.0;      // shares of the time
        double share = 1.0;               // of the time, for all trajectories
        double child = 1.0;               // length, as a share of the shortest annealing in stages
    };
    struct Kept {
        Routes routes;
        Value value;
    };
    void divide_annealing(double iterations);
    void next_stage(double iterations);
    void last_stage();
    void end_stage();
    void begin_stage(const Routes &start);
    bool is_child() const { return stage_.number > 0 && stage_.number >= stage_.trajectories; }
    double heat_of_stage() const;
    double worth_of_serving() const;
    Routes make_child();
    Routes with_routes_of(const Routes &other, const Routes &one);
    const Value &best_of_all() const { return is_best_of_all_ ? best_value_ : best_before_.value; }
    Routes best_routes_of_all() const {
        return is_best_of_all_ ? best_routes() : best_before_.routes;
    }

    // --- best plan
    void set_dirty(int number);
    void keep_best();
    void restore_best();
    Routes best_routes() const;

    // --- those who are left out
    void raise_prices(double customers);

    const Model &model_;
    Options options_;
    Random random_;
    std::vector<Node> units_;                 // customers that may be moved
    std::vector<double> price_, first_price_; // (N,) of leaving a compulsory unit out
    std::vector<int> listed_group_;           // (groups,) stamp
    bool whole_sets_ = false;                 // this ruin takes out all who must be on one route
    double shortage_price_ = 0.0;
    double eagerness_ = 1.0; // times what it is worth an optional visit may cost
    double worth_ = 1.0;     // times its penalty that an optional visit is worth
    // Of each type, the others that start and end where it does; all empty where none does.
    std::vector<std::vector<int>> alike_, elsewhere_;
    bool mixed_ = false;  // some type has such others
    bool depots_ = false; // some type starts or ends elsewhere

    std::vector<int> touched_, visited_; // (routes,) stamps
    int visit_ = 0;
    int stamp_ = 0;
    Node seed_ = 0; // of the last ruin
    std::vector<Saved> saved_;
    std::vector<Node> arena_;
    std::vector<double> arcs_, scratch_arcs_; // of the routes in the arena: one more than stops
    std::vector<int> gone_;                   // (N,) stamp
    std::vector<Node> removed_, todo_, taken_from_bank_;
    std::vector<int> ruined_;
    std::vector<std::pair<double, Node>> keys_;
    std::vector<Node> scratch_, turned_;
    std::vector<Known> known_; // (N, known_width_)
    int known_width_ = 0;
    bool tries_all_ = false; // in every iteration
    bool wide_ = false;      // insertions try all routes, and not only those near by
    std::vector<double> delivery_delta_, delivery_least_;
    double longest_ = 0.0;      // of all routes, where that is a term of the objective
    std::vector<double> least_; // places of one unit, the cheapest first
    // Places that constant-time checks allow, and the least that each costs.
    struct Candidate {
        double least, longer; // cost and length
        int first, second;
    };
    std::vector<Candidate> candidates_;
    std::vector<Node> tried_;

    std::vector<Node> queue_;
    std::vector<char> queued_;
    std::optional<Tour> tour_;
    Proposal proposal_, best_proposal_;

    std::vector<std::vector<Node>> best_stops_; // by route
    std::vector<int> best_type_;
    std::vector<int> dirty_;
    std::vector<char> is_dirty_;
    Value best_value_;
    Stage stage_;
    std::vector<Routes> others_; // plans for trajectories to begin with, beside the first
    std::vector<Kept> elite_;    // the best plans of stages, the best first
    Kept first_, best_before_;   // the first plan, and the best of the stages before
    bool is_best_of_all_ = true; // the best plan of this stage
    double share_done_ = 0.0;
    std::int64_t descents_ = 0;
    bool dropping_ = false; // a plan with one route fewer is looked for
    int lower_cap_ = 0;     // by so much fewer routes are allowed then
};

// A large plan is divided into neighbourhoods that are searched side by side, again and again along
// other borders. The same for any number of threads, if iterations end it.
bool is_divisible(const Model &model);
Result search_divided(const Model &model, const Routes &start, const Options &options, int threads,
                      const Hooks &hooks);
// The rougher the landscape, the hotter: where rules forbid most moves, the way to a better plan
// leads over worse ones. Measured; see records/.
struct Annealing {
    double heat; // times the temperature that suits a plain CVRP
    double cold;
    double removed;
};
Annealing annealing_for(const Model &model);
// The temperature to start with, in typical arcs, if each customer gets so many iterations and
// a plan of so many customers has so many routes.
double heat_for(const Model &model, double iterations_per_customer, double customers,
                double routes);

} // namespace spacevrp
