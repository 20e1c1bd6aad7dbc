#include "rollout.hpp"

namespace spacevrp::network {

const std::array<const char *, node_rows> node_row_names = {
    "customer", "demand",     "opening",  "closing",     "service", "prize",
    "penalty",  "compulsory", "delivery", "paired_step", "partner"};
const std::array<const char *, instance_rows> instance_row_names = {
    "capacity",    "limited",       "load_tolerance", "load_rule",    "max_length",
    "bounded",     "windowed",      "per_horizon",    "min_prize",    "max_routes",
    "open_routes", "backhaul_last", "depots",         "orienteering", "prize_collecting",
    "read_weight", "match_weight",  "customers",      "compulsory",   "linehauls",
    "penalty"};

namespace {
constexpr std::size_t ALIGNMENT = 64;
}

void Arena::reset(std::size_t bytes) {
    // Every piece may begin later by an alignment; there are few of them.
    const std::size_t needed = bytes + 32 * ALIGNMENT;
    if (memory_.size() < needed)
        memory_.resize(needed);
    next_ = memory_.data();
}

void *Arena::take(std::size_t bytes) {
    const std::size_t past = reinterpret_cast<std::uintptr_t>(next_) % ALIGNMENT;
    std::byte *begin = next_ + (past ? ALIGNMENT - past : 0);
    next_ = begin + bytes;
    return begin;
}

std::vector<std::string> instruction_sets() {
    std::vector<std::string> names;
#ifdef SPACEVRP_WIDER
    __builtin_cpu_init();
    const bool fused = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
    if (fused && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
        __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq"))
        names.emplace_back("avx512");
    if (fused)
        names.emplace_back("avx2");
#endif
    names.emplace_back("plain");
    return names;
}

Decoders decoders_for([[maybe_unused]] const std::string &instructions) {
#ifdef SPACEVRP_WIDER
    if (instructions == "avx512")
        return {avx512::decode, avx512::decode_fleet};
    if (instructions == "avx2")
        return {avx2::decode, avx2::decode_fleet};
#endif
    return {plain::decode, plain::decode_fleet};
}

} // namespace spacevrp::network
