// The kernels of encoder_kernels.hpp as plain loops that a compiler vectorises.
//
// No include guard: every file that needs it includes it once, within a namespace of its own and
// after it has said which instructions may be used. Headers are included before, and no function of
// theirs is called that might be shared with code for other processors. Products and sums are never
// contracted, so that all copies round alike.

SPACEVRP_INLINE std::uint32_t bits_of(float value) {
    std::uint32_t bits;
    std::memcpy(&bits, &value, sizeof bits);
    return bits;
}

SPACEVRP_INLINE float float_of(std::uint32_t bits) {
    float value;
    std::memcpy(&value, &bits, sizeof value);
    return value;
}

// All bits where x < limit, else none. Choices follow from the sign of a difference and not from a
// condition: of a condition some compilers make a jump, and then they take one number at a time.
SPACEVRP_INLINE std::uint32_t below(float x, float limit) {
    return 0U - (bits_of(x - limit) >> 31);
}

// `yes` where all bits are set, `no` where none is.
SPACEVRP_INLINE float chosen(std::uint32_t bits, float yes, float no) {
    return float_of((bits_of(yes) & bits) | (bits_of(no) & ~bits));
}

// exp(x) for x <= 88.3, to 1.2e-7 of its value; 0 below the least normal number. No branches.
SPACEVRP_INLINE float exponential(float x) {
    constexpr float log2e = 1.44269504088896341F, magic = 12582912.0F; // 1.5 * 2^23: rounds
    constexpr float ln2_high = 0.693359375F, ln2_low = -2.12194440e-4F;
    const std::uint32_t vanishes = below(x, -87.33654F);
    const float clamped = chosen(vanishes, -87.33654F, x);
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
    return float_of((bits_of(p) + (bits_of(shifted) << 23)) & ~vanishes);
}

// What the logistic function of x divides 1 by.
SPACEVRP_INLINE float gate(float x) {
    return 1.0F + exponential(chosen(below(x, -88.0F), 88.0F, -x));
}

// Sums of many numbers in float32 are made of sums of a few.
constexpr std::int64_t few = 32;

// Channels in pieces whose sums stay in registers or the nearest cache.
constexpr std::int64_t channels = 64;

constexpr float infinite = std::numeric_limits<float>::infinity();
// Sums of exponentials below this count as this, as where gradients are taken.
constexpr float least_sum = 1e-30F;

inline void fill(float *values, float value) {
    for (std::int64_t i = 0; i < channels; ++i)
        values[i] = value;
}

inline std::int64_t least(std::int64_t a, std::int64_t b) { return a < b ? a : b; }

void exponentials(Input lengths, float factor, Output out) {
    for (std::int64_t row = 0; row < out.count; ++row) {
        const float *SPACEVRP_RESTRICT from = lengths[row];
        float *SPACEVRP_RESTRICT to = out[row];
        for (std::int64_t i = 0; i < out.width; ++i)
            to[i] = exponential(-factor * from[i]);
    }
}

void keyed_values(Input key, Input value, const Segments &segments, Output out) {
    const std::int64_t width = key.width;
    float largest[channels];
    for (std::int64_t s = 0; s < segments.count; ++s) {
        for (std::int64_t c = 0; c < width; c += channels) {
            const std::int64_t some = least(channels, width - c);
            fill(largest, -infinite);
            for (std::int64_t row = segments.begin[s]; row < segments.begin[s + 1]; ++row) {
                const float *SPACEVRP_RESTRICT from = key[row] + c;
                for (std::int64_t i = 0; i < some; ++i)
                    largest[i] = largest[i] < from[i] ? from[i] : largest[i];
            }
            for (std::int64_t row = segments.begin[s]; row < segments.begin[s + 1]; ++row) {
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

void gated_ratio(Input query, Input sums, Output out) {
    const std::int64_t width = out.width;
    for (std::int64_t row = 0; row < out.count; ++row) {
        const float *SPACEVRP_RESTRICT q = query[row];
        const float *SPACEVRP_RESTRICT top = sums[row];
        const float *SPACEVRP_RESTRICT bottom = sums[row] + width;
        float *SPACEVRP_RESTRICT to = out[row];
        for (std::int64_t i = 0; i < width; ++i) {
            const float sum = bottom[i];
            const float divisor = chosen(below(sum, least_sum), least_sum, sum);
            to[i] = (top[i] / divisor) / gate(q[i]);
        }
    }
}

void relation(Input query, Input key, Input value, const std::int64_t *partner, float low,
              const Segments &segments, float *room, Output out) {
    const std::int64_t width = out.width, twice = 2 * width;
    for (std::int64_t s = 0; s < segments.count; ++s) {
        const std::int64_t first = segments.begin[s], nodes = segments.begin[s + 1] - first;
        const std::int64_t whole[2] = {0, nodes};
        const Input own_key{key[first], nodes, width, key.stride};
        const Input own_value{value[first], nodes, width, value.stride};
        const Output keyed{room, nodes, twice, twice};
        keyed_values(own_key, own_value, {whole, 1}, keyed);
        float *SPACEVRP_RESTRICT total = room + nodes * twice;
        for (std::int64_t i = 0; i < twice; ++i)
            total[i] = 0.0F;
        for (std::int64_t node = 0; node < nodes; ++node) {
            const float *SPACEVRP_RESTRICT from = keyed[node];
            for (std::int64_t i = 0; i < twice; ++i)
                total[i] += from[i];
        }
        for (std::int64_t node = 0; node < nodes; ++node) {
            const float share = partner[node] == node ? 0.0F : 1.0F - low;
            const float *SPACEVRP_RESTRICT other = keyed[partner[node]];
            const float *SPACEVRP_RESTRICT q = query[first + node];
            float *SPACEVRP_RESTRICT to = out[first + node];
            for (std::int64_t i = 0; i < width; ++i) {
                const float top = low * total[i] + share * other[i];
                const float sum = low * total[width + i] + share * other[width + i];
                const float divisor = chosen(below(sum, least_sum), least_sum, sum);
                to[i] = (top / divisor) / gate(q[i]);
            }
        }
    }
}

void add_and_normalise(Output x, Input added, const float *bias, const float *scale,
                       const float *shift, float epsilon, const Segments &segments) {
    const std::int64_t width = x.width;
    float part[channels], mean[channels], factor[channels], more[channels];
    for (std::int64_t s = 0; s < segments.count; ++s) {
        const std::int64_t begin = segments.begin[s], end = segments.begin[s + 1];
        const float count = static_cast<float>(end - begin);
        for (std::int64_t c = 0; c < width; c += channels) {
            const std::int64_t some = least(channels, width - c);
            fill(mean, 0.0F);
            fill(factor, 0.0F);
            fill(more, 0.0F);
            if (bias != nullptr)
                for (std::int64_t i = 0; i < some; ++i)
                    more[i] = bias[c + i];
            for (std::int64_t first = begin; first < end; first += few) {
                const std::int64_t last = least(first + few, end);
                fill(part, 0.0F);
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
                const std::int64_t last = least(first + few, end);
                fill(part, 0.0F);
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

void add_and_rectify(Output x, const float *bias) {
    for (std::int64_t row = 0; row < x.count; ++row) {
        float *SPACEVRP_RESTRICT to = x[row];
        for (std::int64_t i = 0; i < x.width; ++i) {
            const float sum = to[i] + bias[i];
            to[i] = sum > 0.0F ? sum : 0.0F;
        }
    }
}

const Kernels kernels{exponentials, keyed_values,      gated_ratio,
                      relation,     add_and_normalise, add_and_rectify};
