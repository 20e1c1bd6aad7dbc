#include "encoder_kernels.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

// Loops are written so that a compiler vectorises them; where the loader can choose among copies of
// a function, there is one for each generation of x86-64. Products and sums are never contracted,
// so that all copies round alike.
#if defined(__x86_64__) && defined(__GLIBC__) && defined(__GNUC__) && !defined(__SANITIZE_ADDRESS__)
#define SPACEVRP_CLONES                                                                            \
    __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define SPACEVRP_CLONES
#endif
#if defined(_MSC_VER)
#define SPACEVRP_INLINE __forceinline
#define SPACEVRP_RESTRICT __restrict
#else
#define SPACEVRP_INLINE inline __attribute__((always_inline))
#define SPACEVRP_RESTRICT __restrict__
#endif

namespace spacevrp::encoder {
namespace {

// exp(x) for x <= 88.3, to 1.2e-7 of its value; 0 below the least normal number. No branches.
SPACEVRP_INLINE float exponential(float x) {
    constexpr float log2e = 1.44269504088896341F, magic = 12582912.0F; // 1.5 * 2^23: rounds
    constexpr float ln2_high = 0.693359375F, ln2_low = -2.12194440e-4F;
    const bool vanishes = x < -87.33654F;
    const float clamped = x < -87.33654F ? -87.33654F : x;
    const float shifted = clamped * log2e + magic;
    const float n = shifted - magic;
    const float r = (clamped - n * ln2_high) - n * ln2_low;
    float p = 1.9875691500e-4F;
    p = p * r + 1.3981999507e-3F;
    p = p * r + 8.3334519073e-3F;
    p = p * r + 4.1665795894e-2F;
    p = p * r + 1.6666665459e-1F;
    p = p * r + 5.0000001201e-1F;
    p = (p * r) * r + r + 1.0F;
    // The last bits of the shifted number are n; 2^n is added to the exponent of p.
    const std::uint32_t bits = std::bit_cast<std::uint32_t>(shifted) << 23;
    const float value = std::bit_cast<float>(std::bit_cast<std::uint32_t>(p) + bits);
    return vanishes ? 0.0F : value;
}

// Sums of many numbers in float32 are made of sums of a few.
constexpr std::int64_t few = 32;

// Channels in pieces whose sums stay in registers or the nearest cache.
constexpr std::int64_t channels = 64;

} // namespace

SPACEVRP_CLONES void exponentials(Input lengths, float factor, Output out) {
    for (std::int64_t row = 0; row < out.count; ++row) {
        const float *SPACEVRP_RESTRICT from = lengths[row];
        float *SPACEVRP_RESTRICT to = out[row];
        for (std::int64_t i = 0; i < out.width; ++i)
            to[i] = exponential(-factor * from[i]);
    }
}

SPACEVRP_CLONES void keyed_values(Input key, Input value, const Offsets &segments, Output out) {
    const std::int64_t width = key.width;
    float largest[channels];
    for (std::size_t s = 0; s + 1 < segments.size(); ++s) {
        for (std::int64_t c = 0; c < width; c += channels) {
            const std::int64_t some = std::min(channels, width - c);
            std::fill(largest, largest + channels, -std::numeric_limits<float>::infinity());
            for (std::int64_t row = segments[s]; row < segments[s + 1]; ++row) {
                const float *SPACEVRP_RESTRICT from = key[row] + c;
                for (std::int64_t i = 0; i < some; ++i)
                    largest[i] = largest[i] < from[i] ? from[i] : largest[i];
            }
            for (std::int64_t row = segments[s]; row < segments[s + 1]; ++row) {
                const float *SPACEVRP_RESTRICT k = key[row] + c;
                const float *SPACEVRP_RESTRICT v = value[row] + c;
                float *SPACEVRP_RESTRICT product = out[row] + c;
                float *SPACEVRP_RESTRICT weight = out[row] + width + c;
                for (std::int64_t i = 0; i < some; ++i) {
                    const float w = exponential(k[i] - largest[i]);
                    product[i] = w * v[i];
                    weight[i] = w;
                }
            }
        }
    }
}

SPACEVRP_CLONES void gated_ratio(Input query, Input sums, Output out) {
    constexpr float tiny = std::numeric_limits<float>::min();
    const std::int64_t width = out.width;
    for (std::int64_t row = 0; row < out.count; ++row) {
        const float *SPACEVRP_RESTRICT q = query[row];
        const float *SPACEVRP_RESTRICT top = sums[row];
        const float *SPACEVRP_RESTRICT below = sums[row] + width;
        float *SPACEVRP_RESTRICT to = out[row];
        for (std::int64_t i = 0; i < width; ++i) {
            const float bottom = below[i] < tiny ? tiny : below[i];
            const float negative = -q[i] > 88.0F ? 88.0F : -q[i];
            to[i] = (top[i] / bottom) / (1.0F + exponential(negative));
        }
    }
}

SPACEVRP_CLONES void relation(Input query, Input key, Input value, const std::int64_t *partner,
                              float weight, const Offsets &segments, Output out) {
    const std::int64_t width = out.width, twice = 2 * width;
    const float low = std::exp(-weight);
    constexpr float tiny = std::numeric_limits<float>::min();
    std::vector<float> keyed, total(static_cast<std::size_t>(twice));
    for (std::size_t s = 0; s + 1 < segments.size(); ++s) {
        const std::int64_t first = segments[s], nodes = segments[s + 1] - first;
        keyed.resize(static_cast<std::size_t>(nodes * twice));
        const Input own_key{key[first], nodes, width, key.stride};
        const Input own_value{value[first], nodes, width, value.stride};
        keyed_values(own_key, own_value, {0, nodes}, {keyed.data(), nodes, twice, twice});
        std::fill(total.begin(), total.end(), 0.0F);
        for (std::int64_t node = 0; node < nodes; ++node) {
            const float *SPACEVRP_RESTRICT from = keyed.data() + node * twice;
            float *SPACEVRP_RESTRICT to = total.data();
            for (std::int64_t i = 0; i < twice; ++i)
                to[i] += from[i];
        }
        for (std::int64_t node = 0; node < nodes; ++node) {
            const float share = partner[node] == node ? 0.0F : 1.0F - low;
            const float *SPACEVRP_RESTRICT other = keyed.data() + partner[node] * twice;
            const float *SPACEVRP_RESTRICT all = total.data();
            const float *SPACEVRP_RESTRICT q = query[first + node];
            float *SPACEVRP_RESTRICT to = out[first + node];
            for (std::int64_t i = 0; i < width; ++i) {
                const float top = low * all[i] + share * other[i];
                const float sum = low * all[width + i] + share * other[width + i];
                const float bottom = sum < tiny ? tiny : sum;
                const float negative = -q[i] > 88.0F ? 88.0F : -q[i];
                to[i] = (top / bottom) / (1.0F + exponential(negative));
            }
        }
    }
}

SPACEVRP_CLONES void add_and_normalise(Output x, Input added, const float *bias, const float *scale,
                                       const float *shift, float epsilon, const Offsets &segments) {
    const std::int64_t width = x.width;
    float part[channels], mean[channels], factor[channels], more[channels];
    for (std::size_t s = 0; s + 1 < segments.size(); ++s) {
        const std::int64_t begin = segments[s], end = segments[s + 1];
        const float count = static_cast<float>(end - begin);
        for (std::int64_t c = 0; c < width; c += channels) {
            const std::int64_t some = std::min(channels, width - c);
            std::fill(mean, mean + channels, 0.0F);
            std::fill(factor, factor + channels, 0.0F);
            std::fill(more, more + channels, 0.0F);
            if (bias != nullptr)
                std::copy(bias + c, bias + c + some, more);
            for (std::int64_t first = begin; first < end; first += few) {
                const std::int64_t last = std::min(first + few, end);
                std::fill(part, part + channels, 0.0F);
                for (std::int64_t row = first; row < last; ++row) {
                    float *SPACEVRP_RESTRICT to = x[row] + c;
                    const float *SPACEVRP_RESTRICT from = added[row] + c;
                    for (std::int64_t i = 0; i < some; ++i) {
                        const float sum = to[i] + (from[i] + more[i]);
                        to[i] = sum;
                        part[i] += sum;
                    }
                }
                for (std::int64_t i = 0; i < some; ++i)
                    mean[i] += part[i];
            }
            for (std::int64_t i = 0; i < some; ++i)
                mean[i] /= count;
            for (std::int64_t first = begin; first < end; first += few) {
                const std::int64_t last = std::min(first + few, end);
                std::fill(part, part + channels, 0.0F);
                for (std::int64_t row = first; row < last; ++row) {
                    const float *SPACEVRP_RESTRICT from = x[row] + c;
                    for (std::int64_t i = 0; i < some; ++i) {
                        const float centred = from[i] - mean[i];
                        part[i] += centred * centred;
                    }
                }
                for (std::int64_t i = 0; i < some; ++i)
                    factor[i] += part[i];
            }
            for (std::int64_t i = 0; i < some; ++i)
                factor[i] = scale[c + i] / std::sqrt(factor[i] / count + epsilon);
            for (std::int64_t row = begin; row < end; ++row) {
                float *SPACEVRP_RESTRICT to = x[row] + c;
                const float *SPACEVRP_RESTRICT up = shift + c;
                for (std::int64_t i = 0; i < some; ++i)
                    to[i] = (to[i] - mean[i]) * factor[i] + up[i];
            }
        }
    }
}

SPACEVRP_CLONES void add_and_rectify(Output x, const float *bias) {
    for (std::int64_t row = 0; row < x.count; ++row) {
        float *SPACEVRP_RESTRICT to = x[row];
        for (std::int64_t i = 0; i < x.width; ++i) {
            const float sum = to[i] + bias[i];
            to[i] = sum > 0.0F ? sum : 0.0F;
        }
    }
}

SPACEVRP_CLONES Survey survey(Input lengths) {
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
