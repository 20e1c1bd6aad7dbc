// What lies between the matrix products of the encoder, on rows of float32.
//
// Rows are the nodes of segments, one after the other: a segment is one augmentation of one
// instance. All sums and maxima run over the rows of a segment, so nothing is padded.
#pragma once

#include <cstdint>

#if defined(_MSC_VER)
#define SPACEVRP_INLINE __forceinline
#define SPACEVRP_RESTRICT __restrict
#else
#define SPACEVRP_INLINE inline __attribute__((always_inline))
#define SPACEVRP_RESTRICT __restrict__
#endif

namespace spacevrp::encoder {

// Matrices whose rows may be part of longer ones: `stride` entries from a row to the next one.
struct Input {
    const float *data;
    std::int64_t count; // of rows
    std::int64_t width; // entries of a row that belong to it
    std::int64_t stride;

    const float *operator[](std::int64_t row) const { return data + row * stride; }
};

struct Output {
    float *data;
    std::int64_t count;
    std::int64_t width;
    std::int64_t stride;

    float *operator[](std::int64_t row) const { return data + row * stride; }
};

// Where each segment begins, and at last the number of rows: count + 1 numbers.
struct Segments {
    const std::int64_t *begin;
    std::int64_t count;
};

// The kernels, compiled for one kind of processor.
struct Kernels {
    // out = exp(-factor * lengths)
    void (*exponentials)(Input lengths, float factor, Output out);

    // out (T, 2d) = [exp(key - m) * value | exp(key - m)], m the largest key of a segment's channel
    void (*keyed_values)(Input key, Input value, const Segments &segments, Output out);

    // out (T, d) = sigmoid(query) * a / b for sums (T, 2d) = [a | b]
    void (*gated_ratio)(Input query, Input sums, Output out);

    // Attention among the N nodes of a segment that sees nothing but pairs, out (T, d) (see
    // model/attention.py). `partner` has the number of each node's partner within the segment,
    // itself where there is none, `low` is exp(-weight), and `room` holds (N + 1) 2d numbers.
    void (*relation)(Input query, Input key, Input value, const std::int64_t *partner, float low,
                     const Segments &segments, float *room, Output out);

    // x = normalised(x + added + bias) * scale + shift, every channel over the rows of a segment;
    // `bias` may be null.
    void (*add_and_normalise)(Output x, Input added, const float *bias, const float *scale,
                              const float *shift, float epsilon, const Segments &segments);

    // x = max(x + bias, 0)
    void (*add_and_rectify)(Output x, const float *bias);
};

namespace plain {
extern const Kernels kernels;
}
#if (defined(__GNUC__) || defined(__clang__)) && defined(__x86_64__)
#define SPACEVRP_WIDER_ENCODER 1
namespace avx2 {
extern const Kernels kernels;
}
namespace avx512 {
extern const Kernels kernels;
}
#endif

// Those for the processor at hand. All of them say the same to the last bit.
const Kernels &best_kernels();

// What is known of the lengths of all arcs of an instance.
struct Survey {
    double mean;      // of all entries, a missing arc counted as the longest
    double deviation; // of all entries
    double longest;
    double total;   // of the arcs that exist
    double arcs;    // number of these, from a node to another one
    double change;  // sum of |there - back| where both exist
    double missing; // number of arcs that do not exist
};

Survey survey(Input lengths);

// The smallest deviation that lengths are divided by.
constexpr double least_deviation = 1.0842021724855044e-19; // the root of the least normal float32

} // namespace spacevrp::encoder
