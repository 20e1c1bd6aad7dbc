// Refusals of input: what was expected, and what was received.
#pragma once

#include <array>
#include <cmath>
#include <cstdio>
#include <stdexcept>
#include <string>
#include <vector>

namespace spacevrp {

[[noreturn]] inline void refuse(const std::string &field, const std::string &expected,
                                const std::string &received) {
    throw std::invalid_argument(field + ": expected " + expected + ", received " + received);
}

// By no stream: in one installation of Python 3.12 every use of one crashed.
inline std::string text(double value) {
    std::array<char, 32> digits{};
    std::snprintf(digits.data(), digits.size(), "%g", value);
    return digits.data();
}

inline void check_length(const std::string &field, std::size_t have, std::size_t want) {
    if (have != want)
        refuse(field, std::to_string(want) + " entries", std::to_string(have));
}

// What an array may hold beside plain finite numbers.
enum class Range { finite, not_negative, not_negative_or_infinite, any };

inline void check_values(const std::string &field, const std::vector<double> &values, Range range) {
    for (std::size_t i = 0; i < values.size(); ++i) {
        const double x = values[i];
        bool good = !std::isnan(x);
        const char *expected = "a number";
        if (range == Range::finite) {
            good = std::isfinite(x);
            expected = "a finite number";
        } else if (range == Range::not_negative) {
            good = std::isfinite(x) && x >= 0.0;
            expected = "a finite number of at least 0";
        } else if (range == Range::not_negative_or_infinite) {
            good = x >= 0.0;
            expected = "at least 0, or inf";
        }
        if (!good)
            refuse(field + ", entry " + std::to_string(i), expected, text(x));
    }
}

} // namespace spacevrp
