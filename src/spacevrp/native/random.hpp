// Random numbers that are the same on every machine: xoroshiro128++ seeded by splitmix64.
#pragma once

#include <cstdint>

namespace spacevrp {

class Random {
public:
    explicit Random(std::uint64_t seed) {
        for (auto &word : state_) {
            seed += 0x9E3779B97F4A7C15ULL;
            std::uint64_t mixed = seed;
            mixed = (mixed ^ (mixed >> 30)) * 0xBF58476D1CE4E5B9ULL;
            mixed = (mixed ^ (mixed >> 27)) * 0x94D049BB133111EBULL;
            word = mixed ^ (mixed >> 31);
        }
    }

    std::uint64_t next() {
        const std::uint64_t first = state_[0];
        std::uint64_t second = state_[1];
        const std::uint64_t result = rotate(first + second, 17) + first;
        second ^= first;
        state_[0] = rotate(first, 49) ^ second ^ (second << 21);
        state_[1] = rotate(second, 28);
        return result;
    }

    // Uniform in [0, 1).
    double uniform() { return static_cast<double>(next() >> 11) * 0x1.0p-53; }

    // Uniform in 0 .. bound - 1; bound must be positive. The bias is below 2^-32.
    int below(int bound) {
        const std::uint64_t high = next() >> 32;
        return static_cast<int>((high * static_cast<std::uint64_t>(bound)) >> 32);
    }

private:
    static std::uint64_t rotate(std::uint64_t word, int by) {
        return (word << by) | (word >> (64 - by));
    }

    std::uint64_t state_[2];
};

} // namespace spacevrp
