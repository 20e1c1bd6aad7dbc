// Whole rollouts on a CPU: rules, decoder, choice and step of every move in one call.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace spacevrp::network {

// Rows of the table a node and of the table an instance; decode/rows.py has the same.
enum NodeRow {
    customer,
    demand,
    opening,
    closing,
    service,
    prize,
    penalty,
    compulsory,
    delivery,
    paired_step,
    partner,
    node_rows
};
enum InstanceRow {
    capacity,
    limited,
    load_tolerance,
    load_rule,
    max_length,
    bounded,
    windowed,
    per_horizon,
    min_prize,
    max_routes,
    open_routes,
    backhaul_last,
    depots,
    orienteering,
    prize_collecting,
    read_weight,
    match_weight,
    customers,
    compulsories,
    linehauls,
    penalties,
    instance_rows
};
// Numbers that the decoder can be told of a partial solution, and facts of a possible next move;
// see decode/signal.py and model/moves.py.
constexpr int MAX_SIGNALS = 7;
constexpr int MOVE_FACTS = 5;
extern const std::array<const char *, node_rows> node_row_names;
extern const std::array<const char *, instance_rows> instance_row_names;

enum class LoadRule { single, paper, separate, paired };

// What large instances have besides: candidate lists, and how distances are seen. W nodes a list.
struct Lists {
    int listed = 0;                     // W
    int choices = 0;                    // customers that a vehicle on its way chooses from, at most
    int readout = 0;                    // customers that the readout averages over, at most
    const std::int32_t *near = nullptr; // (N, W) or none: all customers are looked at
    const float *bonus = nullptr;       // (N,) added to scores at a depot
    float mean = 0.0f, deviation = 1.0f, longest = 0.0f; // of distances
    float depot_weight = 1.0f;                           // of distances at a depot
    float nearness = 1.0f; // what distances weigh in the choice from a list
};

// One instance, in the caller's arrays. N nodes with padding, d the width of the network.
struct Instance {
    int nodes = 0; // N
    int real = 0;  // depots and customers: the first nodes
    int depots = 0;
    int width = 0;                        // d
    int signals = 0;                      // S
    const float *embedding = nullptr;     // (N, d)
    const float *keyed = nullptr;         // (N, 2d)
    const float *query_first = nullptr;   // (N, d)
    const float *query_last = nullptr;    // (N, d)
    const float *state_weight = nullptr;  // (S, d)
    const float *move_first = nullptr;    // (N, K) what facts of moves weigh; none: nothing
    const float *move_last = nullptr;     // (N, K)
    const float *move_state = nullptr;    // (S, K)
    const float *zscore = nullptr;        // (N, N); none with candidate lists
    const float *distance = nullptr;      // (N, N)
    const float *duration = nullptr;      // (N, N)
    const float *home_distance = nullptr; // (K, N) from every node to each depot
    const float *home_duration = nullptr; // (K, N)
    const float *node = nullptr;          // (rows, N)
    const float *own = nullptr;           // (rows,)
    Lists lists;
    LoadRule rule = LoadRule::single;
    float tolerance = 0.0f; // that rules forgive
    float enough = 0.0f;    // prize that has to be collected
    float clipping = 0.0f;
    bool direct = true;   // a vehicle that may go on can always go straight home
    bool timed = false;   // some window closes
    bool missing = false; // some arc or way home is missing
    bool free_return = false;

    float at(NodeRow row, int which) const {
        return node[static_cast<std::size_t>(row) * static_cast<std::size_t>(nodes) +
                    static_cast<std::size_t>(which)];
    }
    bool is(InstanceRow row) const { return own[row] > 0.0f; }
    std::size_t arc(int from, int to) const {
        return static_cast<std::size_t>(from) * static_cast<std::size_t>(nodes) +
               static_cast<std::size_t>(to);
    }
};

// The vehicles of one instance where they differ: K types, D kinds of load, Q pins, R routes of
// which the vehicles are chosen one by one. See tensors/fleet.py.
struct Fleet {
    int types = 0, kinds = 0, pins = 0, routes = 0;
    std::int64_t max_routes = 0;
    float slack = 1.0f;                      // how much farther is as near as the nearest
    const std::int64_t *depot = nullptr;     // (K,)
    const std::int64_t *count = nullptr;     // (K,)
    const std::int64_t *pinned = nullptr;    // (K, Q); -1 behind the last
    const std::uint8_t *is_open = nullptr;   // (K,)
    const std::uint8_t *may_serve = nullptr; // (K, N)
    const float *capacity = nullptr;         // (K, D)
    const float *load_tolerance = nullptr;   // (K, D)
    const float *fixed_cost = nullptr;       // (K,)
    const float *max_length = nullptr;       // (K,)
    const float *leaves_from = nullptr;      // (K,)
    const float *back_by = nullptr;          // (K,)
    const float *loads = nullptr;            // (N, D)
    const float *penalty = nullptr;          // (N,)
    const float *seen_capacity = nullptr;    // (D,)
};

// Some trajectories of one instance, and where what they do is written.
struct Trajectories {
    int count = 0;
    int max_steps = 0;
    const std::int64_t *start = nullptr;  // (count,)
    const std::int64_t *origin = nullptr; // (count,) first depot; without depots, the start
    const std::int64_t *keys = nullptr;   // (count,) or none
    const float *temperature = nullptr;   // (count,) or none
    // Of deviations only: moves of a plan until the turn, then another of the likeliest moves by
    // its rank, see decode/deviation.py.
    const std::int32_t *plan = nullptr; // (count, max_steps)
    const std::int32_t *turn = nullptr; // (count,) or none
    const std::int32_t *rank = nullptr; // (count,)
    float unlikely = 0.0f;              // so far below the likeliest move's score none is tried
    // Of fleets only: what each prefers, see env/fleet.py; and the depot of the first vehicle.
    const float *liked = nullptr;             // (count, R, K)
    const std::uint8_t *nearest = nullptr;    // (count,)
    const std::uint8_t *stays_out = nullptr;  // (count,)
    const std::uint8_t *owed_first = nullptr; // (count,)
    std::int64_t *origin_out = nullptr;       // (count,)
    std::int32_t *action = nullptr;           // (count, max_steps)
    std::int32_t *steps = nullptr;            // (count,)
    float *cost = nullptr;                    // (count,)
};

// Memory that is used again, aligned to 64 bytes; what is taken is not initialised.
class Arena {
public:
    void reset(std::size_t bytes);
    void *take(std::size_t bytes);

private:
    std::vector<std::byte> memory_;
    std::byte *next_ = nullptr;
};

struct Workspace {
    const Instance *packed = nullptr; // the instance whose tables are in `tables`
    Arena tables;
    Arena block;
};

// Asked after every move whether to stop.
using Stop = std::function<bool()>;
// Completes trajectories; the same results whatever they are grouped with.
using Decode = void (*)(const Instance &, const Trajectories &, Workspace &, const Stop &);
using DecodeFleet = void (*)(const Instance &, const Fleet &, const Trajectories &, Workspace &,
                             const Stop &);
struct Decoders {
    Decode alike;
    DecodeFleet fleet;
};

namespace plain {
void decode(const Instance &, const Trajectories &, Workspace &, const Stop &);
void decode_fleet(const Instance &, const Fleet &, const Trajectories &, Workspace &, const Stop &);
} // namespace plain
#if (defined(__GNUC__) || defined(__clang__)) && (defined(__x86_64__) || defined(__i386__))
#define SPACEVRP_WIDER 1
namespace avx2 {
void decode(const Instance &, const Trajectories &, Workspace &, const Stop &);
void decode_fleet(const Instance &, const Fleet &, const Trajectories &, Workspace &, const Stop &);
} // namespace avx2
namespace avx512 {
void decode(const Instance &, const Trajectories &, Workspace &, const Stop &);
void decode_fleet(const Instance &, const Fleet &, const Trajectories &, Workspace &, const Stop &);
} // namespace avx512
#endif

// The instruction sets of this processor, the widest first; the last is always "plain".
std::vector<std::string> instruction_sets();
Decoders decoders_for(const std::string &instructions);

} // namespace spacevrp::network
