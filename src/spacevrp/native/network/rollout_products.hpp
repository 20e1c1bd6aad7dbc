// Small matrix products, and tables packed for them.
//
// Included like lanes.hpp, after it: once for every set of instructions.

// A product takes up to so many rows and so many vectors of columns at once: that many sums fit the
// registers beside what they are made of.
constexpr int ROWS = 6;
constexpr int VECTORS = SPACEVRP_LANES == 16 ? 4 : 2;

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

// R rows of c = a times one panel; of a and the panel only the entries in `list`, where Listed.
template <int R, int V, bool Listed>
void product(const float *a, std::size_t lda, const std::int32_t *list, int depth, const float *b,
             float *c, std::size_t ldc) {
    Floats sum[R][V];
    for (int r = 0; r < R; ++r)
        for (int v = 0; v < V; ++v)
            sum[r][v] = fill(0.0f);
    for (int k = 0; k < depth; ++k) {
        const std::size_t place = static_cast<std::size_t>(Listed ? list[k] : k);
        const float *row = b + place * static_cast<std::size_t>(V * L);
        const float *left = a + place;
        Floats right[V];
        for (int v = 0; v < V; ++v)
            right[v] = load(row + v * L);
        for (int r = 0; r < R; ++r) {
            const Floats factor = fill(left[static_cast<std::size_t>(r) * lda]);
            for (int v = 0; v < V; ++v)
                sum[r][v] = madd(factor, right[v], sum[r][v]);
        }
    }
    for (int r = 0; r < R; ++r)
        for (int v = 0; v < V; ++v)
            store(c + static_cast<std::size_t>(r) * ldc + v * L, sum[r][v]);
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
#if SPACEVRP_LANES == 16
    case 3:
        return product_rows<3, Listed>(rows, a, lda, list, depth, b, c, ldc);
    default:
        return product_rows<4, Listed>(rows, a, lda, list, depth, b, c, ldc);
#else
    default:
        return;
#endif
    }
}
