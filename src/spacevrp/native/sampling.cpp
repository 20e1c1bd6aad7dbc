#include "sampling.hpp"

namespace spacevrp {

std::vector<Move> sample_moves(const Model &model, const Routes &start, std::uint64_t seed,
                               int count) {
    std::vector<Move> moves;
    Options options;
    options.seed = seed;
    Random random(seed ^ 0x5851F42D4C957F2DULL);
    const int n = static_cast<int>(model.customers.size());
    Search base(model, options);
    base.begin(start);
    const Routes given = base.plan.routes();
    const auto note = [&](const char *name, double change, const Plan &plan) {
        moves.push_back({name, change, plan.routes()});
    };
    // Where prize is maximised, travel is weighed by the search only.
    const auto travel = [&](double delta) { return model.maximise_prize ? 0.0 : delta; };
    for (std::int64_t attempt = 0;
         attempt < std::int64_t{50} * count && static_cast<int>(moves.size()) < count && n > 0;
         ++attempt) {
        const int kind = random.below(Search::MOVES + 2);
        const Node u = model.customers[static_cast<std::size_t>(random.below(n))];
        const Node v = model.customers[static_cast<std::size_t>(random.below(n))];
        Search trial(model, options);
        trial.begin(given);
        if (kind < Search::MOVES) {
            Search::Proposal proposal;
            if (!trial.propose(kind, u, v, INFINITE, proposal))
                continue;
            trial.apply(proposal);
            // What a route counts in the objective is no cost.
            for (int side = 0; side < 2; ++side)
                if (proposal.route[side] >= 0 && proposal.stops[side].empty())
                    proposal.delta += model.relations.route_price;
            note(Search::move_name(kind), travel(proposal.delta), trial.plan);
            continue;
        }
        const Node head = model.head(u);
        if (trial.plan.is_fixed[Model::at(head)])
            continue;
        double change = 0.0;
        const bool moved = trial.plan.is_served(head);
        if (moved) {
            const int number = trial.plan.route_of[Model::at(head)];
            const Route &r = trial.plan.route[static_cast<std::size_t>(number)];
            std::vector<Node> stops;
            for (int p = 1; p <= r.size; ++p)
                if (model.head(r.node[static_cast<std::size_t>(p)]) != head)
                    stops.push_back(r.node[static_cast<std::size_t>(p)]);
            const double before = trial.plan.value().cost;
            trial.plan.to_bank(head);
            if (!trial.plan.assign(number, r.type, stops.data(), static_cast<int>(stops.size())))
                continue;
            change = trial.plan.value().cost - before;
            if (kind == Search::MOVES) {
                note("removal", change, trial.plan);
                continue;
            }
        }
        const Place place = trial.best_place(head, 0.3);
        if (!place.found())
            continue;
        trial.plan.insert(head, place);
        trial.plan.from_bank(head);
        const double counted =
            place.surcharge + (place.route < 0 ? model.relations.route_price : 0.0);
        change += travel(place.delta - counted) - model.skip[Model::at(head)];
        note(moved ? "reinsertion" : "insertion", change, trial.plan);
    }
    return moves;
}

} // namespace spacevrp
