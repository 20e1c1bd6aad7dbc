// Random moves, for tests.
#pragma once

#include "search.hpp"

#include <string>
#include <vector>

namespace spacevrp {

struct Move {
    std::string name;
    double change;
    Routes after;
};

// Random moves that the search holds for feasible, each applied to the given plan alone. The change
// told is the one that the search predicts, of the cost as the referee counts it.
std::vector<Move> sample_moves(const Model &model, const Routes &start, std::uint64_t seed,
                               int count);

} // namespace spacevrp
