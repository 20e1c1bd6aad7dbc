// Some floats side by side, as wide as the processor has them.
//
// No include guard: every file that needs it includes it once, within a namespace of its own and
// after SPACEVRP_LANES says how many floats there are and which instructions may be used (4 for any
// processor, 8 for AVX2 with FMA, 16 for AVX-512). Whatever headers it needs are included before.

constexpr int L = SPACEVRP_LANES;

#if defined(__GNUC__) || defined(__clang__)

typedef float Floats __attribute__((vector_size(4 * SPACEVRP_LANES)));
typedef std::int32_t Ints __attribute__((vector_size(4 * SPACEVRP_LANES)));

inline Floats fill(float value) { return value - Floats{}; }
inline Floats select(const Ints &mask, const Floats &yes, const Floats &no) {
    return mask ? yes : no;
}
inline Ints as_ints(const Floats &values) { return (Ints)values; }
inline Floats as_floats(const Ints &values) { return (Floats)values; }

// Memory is read and written as vectors and not as bytes: what is stored at last stays in registers
// until then.
typedef Floats FloatsAnywhere __attribute__((aligned(4), may_alias));
typedef Ints IntsAnywhere __attribute__((aligned(4), may_alias));
inline Floats load(const float *from) { return *reinterpret_cast<const FloatsAnywhere *>(from); }
inline Ints load_mask(const std::int32_t *from) {
    return *reinterpret_cast<const IntsAnywhere *>(from);
}
inline void store(float *to, const Floats &values) {
    *reinterpret_cast<FloatsAnywhere *>(to) = values;
}
inline void store_mask(std::int32_t *to, const Ints &values) {
    *reinterpret_cast<IntsAnywhere *>(to) = values;
}

#else // a compiler without vectors of its own: plain loops over four

struct Ints {
    std::int32_t at[L];
};
struct Floats {
    float at[L];
};
#define SPACEVRP_EACH(type, expression)                                                            \
    type made;                                                                                     \
    for (int i = 0; i < L; ++i)                                                                    \
        made.at[i] = expression;                                                                   \
    return made;
inline Floats fill(float value) { SPACEVRP_EACH(Floats, value) }
inline Floats operator+(const Floats &a, const Floats &b) {
    SPACEVRP_EACH(Floats, a.at[i] + b.at[i])
}
inline Floats operator-(const Floats &a, const Floats &b) {
    SPACEVRP_EACH(Floats, a.at[i] - b.at[i])
}
inline Floats operator*(const Floats &a, const Floats &b) {
    SPACEVRP_EACH(Floats, a.at[i] * b.at[i])
}
inline Floats operator/(const Floats &a, const Floats &b) {
    SPACEVRP_EACH(Floats, a.at[i] / b.at[i])
}
inline Ints operator<(const Floats &a, const Floats &b) {
    SPACEVRP_EACH(Ints, a.at[i] < b.at[i] ? -1 : 0)
}
inline Ints operator<=(const Floats &a, const Floats &b) {
    SPACEVRP_EACH(Ints, a.at[i] <= b.at[i] ? -1 : 0)
}
inline Ints operator>(const Floats &a, const Floats &b) {
    SPACEVRP_EACH(Ints, a.at[i] > b.at[i] ? -1 : 0)
}
inline Ints operator>=(const Floats &a, const Floats &b) {
    SPACEVRP_EACH(Ints, a.at[i] >= b.at[i] ? -1 : 0)
}
inline Ints operator&(const Ints &a, const Ints &b) { SPACEVRP_EACH(Ints, a.at[i] & b.at[i]) }
inline Ints operator|(const Ints &a, const Ints &b) { SPACEVRP_EACH(Ints, a.at[i] | b.at[i]) }
inline Ints operator+(const Ints &a, const Ints &b) {
    SPACEVRP_EACH(Ints, static_cast<std::int32_t>(static_cast<std::uint32_t>(a.at[i]) +
                                                  static_cast<std::uint32_t>(b.at[i])))
}
inline Ints operator<<(const Ints &a, int bits) {
    SPACEVRP_EACH(Ints, static_cast<std::int32_t>(static_cast<std::uint32_t>(a.at[i]) << bits))
}
inline Floats select(const Ints &mask, const Floats &yes, const Floats &no) {
    SPACEVRP_EACH(Floats, mask.at[i] ? yes.at[i] : no.at[i])
}
#undef SPACEVRP_EACH
inline Ints as_ints(const Floats &values) {
    Ints made;
    std::memcpy(&made, &values, sizeof made);
    return made;
}
inline Floats as_floats(const Ints &values) {
    Floats made;
    std::memcpy(&made, &values, sizeof made);
    return made;
}
inline Floats load(const float *from) {
    Floats values;
    std::memcpy(&values, from, sizeof values);
    return values;
}
inline Ints load_mask(const std::int32_t *from) {
    Ints values;
    std::memcpy(&values, from, sizeof values);
    return values;
}
inline void store(float *to, const Floats &values) { std::memcpy(to, &values, sizeof values); }
inline void store_mask(std::int32_t *to, const Ints &values) {
    std::memcpy(to, &values, sizeof values);
}

#endif

// The first `count` only, zeros behind them: for the end of a row.
inline Floats load_some(const float *from, int count) {
    if (count >= L)
        return load(from);
    // One by one: around a call of memcpy a loop would keep nothing in registers.
    float some[L];
    for (int i = 0; i < L; ++i)
        some[i] = i < count ? from[i] : 0.0f;
    return load(some);
}

// a * b + c, rounded once where the processor can.
inline Floats madd(const Floats &a, const Floats &b, const Floats &c) {
#if SPACEVRP_LANES == 16
    return (Floats)_mm512_fmadd_ps((__m512)a, (__m512)b, (__m512)c);
#elif SPACEVRP_LANES == 8
    return (Floats)_mm256_fmadd_ps((__m256)a, (__m256)b, (__m256)c);
#elif defined(__aarch64__) && defined(__GNUC__)
    return (Floats)vfmaq_f32((float32x4_t)c, (float32x4_t)a, (float32x4_t)b);
#else
    return a * b + c;
#endif
}

inline Floats larger(const Floats &a, const Floats &b) { return select(a > b, a, b); }
inline Floats smaller(const Floats &a, const Floats &b) { return select(a < b, a, b); }

inline float largest(const Floats &values) {
    float each[L];
    store(each, values);
    float most = each[0];
    for (int i = 1; i < L; ++i)
        most = each[i] > most ? each[i] : most;
    return most;
}

inline float sum_of(const Floats &values) {
    float each[L];
    store(each, values);
    for (int half = L / 2; half > 0; half /= 2)
        for (int i = 0; i < half; ++i)
            each[i] += each[i + half];
    return each[0];
}

inline int count_true(const Ints &counts) {
    std::int32_t each[L];
    store_mask(each, counts);
    int sum = 0;
    for (int i = 0; i < L; ++i)
        sum -= each[i];
    return sum;
}

// e^x to 2 units of the last place between -87 and 88, and as at these limits beyond.
inline Floats exponential(const Floats &x) {
    const Floats limited = smaller(larger(x, fill(-87.0f)), fill(88.0f));
    // Adding 1.5 * 2^23 leaves the nearest whole number in the last bits.
    const Floats shift = fill(12582912.0f);
    const Floats shifted = madd(limited, fill(1.44269504088896341f), shift);
    const Floats whole = shifted - shift;
    // log 2 in two parts, the first of which has few bits.
    Floats rest = madd(whole, fill(-0.693359375f), limited);
    rest = madd(whole, fill(2.12194440e-4f), rest);
    Floats sum = fill(1.9875691500e-4f);
    sum = madd(sum, rest, fill(1.3981999507e-3f));
    sum = madd(sum, rest, fill(8.3334519073e-3f));
    sum = madd(sum, rest, fill(4.1665795894e-2f));
    sum = madd(sum, rest, fill(1.6666665459e-1f));
    sum = madd(sum, rest, fill(5.0000001201e-1f));
    sum = madd(sum, rest * rest, rest) + fill(1.0f);
    return as_floats(as_ints(sum) + (as_ints(shifted) << 23));
}

// The hyperbolic tangent to 2e-7.
inline Floats tangent(const Floats &x) {
    const Floats one = fill(1.0f), two = fill(2.0f);
    return one - two / (exponential(x * two) + one);
}
