#include "encoder_kernels.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace spacevrp::encoder {

const Kernels &best_kernels() {
#ifdef SPACEVRP_WIDER_ENCODER
    static const Kernels *const best = []() -> const Kernels * {
        __builtin_cpu_init();
        if (!__builtin_cpu_supports("avx2"))
            return &plain::kernels;
        const bool wide = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
                          __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq");
        return wide ? &avx512::kernels : &avx2::kernels;
    }();
    return *best;
#else
    return plain::kernels;
#endif
}

namespace {

// Sums of many numbers are made of sums of a few.
constexpr std::int64_t few = 32;

} // namespace

Survey survey(Input lengths) {
    const std::int64_t nodes = lengths.count;
    const double entries = static_cast<double>(nodes) * static_cast<double>(nodes);
    double total = 0.0, own = 0.0, change = 0.0;
    float longest = 0.0F;
    std::int64_t missing = 0, arcs = 0;
    for (std::int64_t row = 0; row < nodes; ++row) {
        const float *from = lengths[row];
        // Distances are at least 0 and finite, or there is no arc.
        float sum = 0.0F;
        double of_row = 0.0;
        std::int64_t absent = 0;
        for (std::int64_t i = 0; i < nodes; ++i) {
            const bool finite = from[i] <= std::numeric_limits<float>::max();
            sum += finite ? from[i] : 0.0F;
            absent += finite ? 0 : 1;
            longest = finite && from[i] > longest ? from[i] : longest;
            if ((i & (few - 1)) == few - 1) {
                of_row += static_cast<double>(sum);
                sum = 0.0F;
            }
        }
        total += of_row + static_cast<double>(sum);
        missing += absent;
        arcs += nodes - 1 - absent + (from[row] <= std::numeric_limits<float>::max() ? 0 : 1);
        own +=
            from[row] <= std::numeric_limits<float>::max() ? static_cast<double>(from[row]) : 0.0;
        double turned = 0.0;
        for (std::int64_t i = 0; i < row; ++i) {
            const float back = lengths[i][row];
            const float apart = std::fabs(from[i] - back); // not a number where both are missing
            turned += apart <= std::numeric_limits<float>::max() ? static_cast<double>(apart) : 0.0;
        }
        change += 2.0 * turned;
    }
    const double known = static_cast<double>(longest);
    const double mean = (total + static_cast<double>(missing) * known) / entries;
    double squares = 0.0;
    for (std::int64_t row = 0; row < nodes; ++row) {
        const float *from = lengths[row];
        double sums[8] = {};
        std::int64_t i = 0;
        for (; i + 8 <= nodes; i += 8)
            for (int k = 0; k < 8; ++k) {
                const float length = from[i + k];
                const float there = length <= std::numeric_limits<float>::max() ? length : longest;
                const double apart = static_cast<double>(there) - mean;
                sums[k] += apart * apart;
            }
        for (; i < nodes; ++i) {
            const bool finite = from[i] <= std::numeric_limits<float>::max();
            const double apart = (finite ? static_cast<double>(from[i]) : known) - mean;
            sums[0] += apart * apart;
        }
        for (const double sum : sums)
            squares += sum;
    }
    const double deviation = std::max(std::sqrt(squares / entries), least_deviation);
    return {mean,
            deviation,
            known,
            total - own,
            static_cast<double>(arcs),
            change,
            static_cast<double>(missing)};
}

} // namespace spacevrp::encoder
