// What lies between the matrix products of the encoder, on rows of float32.
//
// Rows are the nodes of segments, one after the other: a segment is one augmentation of one
// instance. All sums and maxima run over the rows of a segment, so nothing is padded.
#pragma once

#include <cstdint>
#include <vector>

namespace spacevrp::encoder {

// A matrix whose rows may be part of longer ones.
template <class Entry> struct Rows {
    Entry *data;
    std::int64_t count;  // of rows
    std::int64_t width;  // entries of a row that belong to it
    std::int64_t stride; // from the beginning of a row to that of the next one, in entries

    Entry *operator[](std::int64_t row) const { return data + row * stride; }
};

using Input = Rows<const float>;
using Output = Rows<float>;
// Where each segment begins, and at last the number of rows.
using Offsets = std::vector<std::int64_t>;

// out = exp(-factor * lengths)
void exponentials(Input lengths, float factor, Output out);

// out (T, 2d) = [exp(key - m) * value | exp(key - m)], m the largest key of a segment's channel
void keyed_values(Input key, Input value, const Offsets &segments, Output out);

// out (T, d) = sigmoid(query) * a / b for sums (T, 2d) = [a | b]
void gated_ratio(Input query, Input sums, Output out);

// Attention among N nodes that sees nothing but pairs (see model/attention.py); `partner` has the
// number of each node's partner within its segment, itself where there is none.
void relation(Input query, Input key, Input value, const std::int64_t *partner, float weight,
              const Offsets &segments, Output out);

// x = normalised(x + added + bias) * scale + shift, every channel over the rows of a segment;
// `bias` may be null.
void add_and_normalise(Output x, Input added, const float *bias, const float *scale,
                       const float *shift, float epsilon, const Offsets &segments);

// x = max(x + bias, 0)
void add_and_rectify(Output x, const float *bias);

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
