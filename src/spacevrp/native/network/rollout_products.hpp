// Small matrix products, and tables packed for them.
//
// Included like lanes.hpp, after it: once for every set of instructions.

// A product takes up to so many rows and so many vectors of columns at once: that many sums fit the
// registers beside what they are made of.
#if SPACEVRP_LANES == 16 // 32 registers, and numbers of a row can stay in memory
constexpr int ROWS = 6, VECTORS = 4;
#elif defined(__aarch64__) // 32 registers
constexpr int ROWS = 5, VECTORS = 4;
#else
constexpr int ROWS = 6, VECTORS = 2;
#endif

inline int padded(int count) { return (count + L - 1) / L * L; }

// Columns of a right-hand matrix (depth, columns) in panels of VECTORS vectors, the last of which
// may have fewer; each panel is (depth, its columns) without gaps.
struct Panels {
    float *data;
    int depth;
    int vectors; // of all columns

    int count() const { return (vectors + VECTORS - 1) / VECTORS; }
    int width(int panel) const {
        const int rest = vectors - panel * VECTORS;
        return rest < VECTORS ? rest : VECTORS;
    }
    float *begin(int panel) const {
        return data +
               static_cast<std::size_t>(panel) * VECTORS * L * static_cast<std::size_t>(depth);
    }
};

// Some rows of c = a times one panel of V vectors; of a and the panel only the entries in `list`,
// where Listed. The sums, row by row, are numbered by I and not by loops: so compilers keep them in
// registers throughout.
template <int V, bool Listed, int... I>
inline void product(std::integer_sequence<int, I...>, const float *a, std::size_t lda,
                    const std::int32_t *list, int depth, const float *b, float *c,
                    std::size_t ldc) {
    Floats sum[] = {(static_cast<void>(I), fill(0.0f))...};
    for (int k = 0; k < depth; ++k) {
        const std::size_t place = static_cast<std::size_t>(Listed ? list[k] : k);
        const float *right = b + place * static_cast<std::size_t>(V * L);
        const float *left = a + place;
        ((sum[I] = madd(fill(left[static_cast<std::size_t>(I / V) * lda]), load(right + I % V * L),
                        sum[I])),
         ...);
    }
    (store(c + static_cast<std::size_t>(I / V) * ldc + I % V * L, sum[I]), ...);
}

template <int R, int V, bool Listed>
void product(const float *a, std::size_t lda, const std::int32_t *list, int depth, const float *b,
             float *c, std::size_t ldc) {
    product<V, Listed>(std::make_integer_sequence<int, R * V>(), a, lda, list, depth, b, c, ldc);
}

template <int V, bool Listed>
void product_rows(int rows, const float *a, std::size_t lda, const std::int32_t *list, int depth,
                  const float *b, float *c, std::size_t ldc) {
    switch (rows) {
    case 1:
        return product<1, V, Listed>(a, lda, list, depth, b, c, ldc);
    case 2:
        return product<2, V, Listed>(a, lda, list, depth, b, c, ldc);
    case 3:
        return product<3, V, Listed>(a, lda, list, depth, b, c, ldc);
    case 4:
        return product<4, V, Listed>(a, lda, list, depth, b, c, ldc);
    case 5:
        return product<5, V, Listed>(a, lda, list, depth, b, c, ldc);
    default:
        return product<ROWS, V, Listed>(a, lda, list, depth, b, c, ldc);
    }
}

template <bool Listed>
void product_panel(int vectors, int rows, const float *a, std::size_t lda, const std::int32_t *list,
                   int depth, const float *b, float *c, std::size_t ldc) {
    switch (vectors) {
    case 1:
        return product_rows<1, Listed>(rows, a, lda, list, depth, b, c, ldc);
    case 2:
        return product_rows<2, Listed>(rows, a, lda, list, depth, b, c, ldc);
    default:
        if constexpr (VECTORS > 2) {
            if (vectors == 3)
                return product_rows<3, Listed>(rows, a, lda, list, depth, b, c, ldc);
            return product_rows<4, Listed>(rows, a, lda, list, depth, b, c, ldc);
        }
    }
}
