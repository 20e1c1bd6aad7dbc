// Partial solutions, questions to the decoder, and the tables of an instance as the loops want
// them.
//
// Included like lanes.hpp, after rollout_products.hpp: once for every set of instructions.

constexpr float NEVER = -std::numeric_limits<float>::infinity();

inline std::size_t cells(int rows, int columns) {
    return static_cast<std::size_t>(rows) * static_cast<std::size_t>(columns);
}

template <class Entry> Entry *taken(Arena &arena, std::size_t count) {
    return static_cast<Entry *>(arena.take(count * sizeof(Entry)));
}

// A partial solution; see env/state.py.
struct State {
    int current, origin;
    float used, credit, clock, length, collected, travelled;
    double skipped; // penalties of customers not yet visited
    int pending, routes, left, linehauls, owed;
    bool backhauled, switched, done, stuck;
};

// The decoder is asked once for every vehicle, and once for every depot where it could leave.
struct Question {
    int trajectory;
    int here, base; // where the vehicle is, or would be; the depot of the route
    float clock;
    bool looks; // ahead, from one of several depots
};

// What belongs to the instance at hand, laid out for the loops.
struct Tables {
    int wide;    // nodes, padded
    int columns; // width, padded
    Panels keyed, embedding;
    const float *keyed_rows, *embedding_rows; // (real, 2 columns), (real, columns), for lists only
    float *demand, *opening, *closing, *service; // (wide,); closing with what is forgiven
    const float *penalty;                        // (nodes,) of leaving customers out
    float *home_distance, *home_duration;        // (depots, wide)
    std::int32_t *open_at_first;                 // (wide,) mask: customers but deliveries
    // What facts of moves follow from, where they count: (wide,), and (depots, wide) of ways home.
    float *fact_opening, *fact_closing, *fact_goods, *fact_home, *fact_far;
    double penalties; // of all customers
};

void pack_keyed(const Instance &task, const Tables &tables) {
    const Panels &panels = tables.keyed;
    const std::size_t width = static_cast<std::size_t>(task.width);
    for (int panel = 0; panel < panels.count(); ++panel) {
        float *to = panels.begin(panel);
        for (int node = 0; node < task.real; ++node)
            for (int v = 0; v < panels.width(panel); ++v, to += L) {
                const int column = (panel * VECTORS + v) * L;
                const int half = column / tables.columns, first = column % tables.columns;
                const float *from = task.keyed + static_cast<std::size_t>(node) * 2 * width +
                                    static_cast<std::size_t>(half) * width + first;
                const int rest = task.width - first;
                store(to, load_some(from, rest > 0 ? rest : 0));
            }
    }
}

void pack_embedding(const Instance &task, const Tables &tables) {
    const Panels &panels = tables.embedding;
    for (int panel = 0; panel < panels.count(); ++panel) {
        float *to = panels.begin(panel);
        const int first = panel * VECTORS * L, columns = panels.width(panel) * L;
        for (int k = 0; k < tables.columns; ++k)
            for (int j = 0; j < columns; ++j)
                *to++ =
                    k < task.width && first + j < task.real
                        ? task.embedding[cells(first + j, task.width) + static_cast<std::size_t>(k)]
                        : 0.0f;
    }
}

// The rows of a table in `parts` of `width` each, padded; where they lie if there is no padding.
const float *pad_rows(const Instance &task, const Tables &tables, const float *from, int parts,
                      float *to) {
    if (task.width == tables.columns)
        return from;
    std::memset(to, 0, cells(task.real, parts * tables.columns) * sizeof(float));
    for (int row = 0; row < task.real * parts; ++row)
        std::memcpy(to + cells(row, tables.columns), from + cells(row, task.width),
                    static_cast<std::size_t>(task.width) * sizeof(float));
    return to;
}

// What the facts of moves follow from; see decode/packing.py.
void lay_out_facts(const Instance &task, const Tables &tables) {
    constexpr float never = 1e6f, farthest = 3.0f;
    const float most = std::numeric_limits<float>::max();
    const float scale = task.own[per_horizon];
    const float per_length = task.is(bounded) ? 1.0f / task.own[max_length] : 0.0f;
    for (int i = 0; i < tables.wide; ++i) {
        const bool exists = i < task.real;
        const float closes = exists ? task.at(closing, i) : 0.0f;
        tables.fact_opening[i] = exists ? task.at(opening, i) * scale : 0.0f;
        tables.fact_closing[i] = (closes <= most ? closes : never) * scale;
        tables.fact_goods[i] =
            exists && task.is(limited) ? task.at(demand, i) / task.own[capacity] : 0.0f;
    }
    for (int depot = 0; depot < task.depots; ++depot)
        for (int i = 0; i < tables.wide; ++i) {
            const std::size_t to = cells(depot, tables.wide) + static_cast<std::size_t>(i);
            tables.fact_home[to] = tables.fact_far[to] = 0.0f;
            if (i >= task.real)
                continue;
            const float way = task.distance[task.arc(i, depot)];
            if (task.is(bounded) && !task.free_return)
                tables.fact_home[to] = way * per_length;
            const float known = way <= most ? way : task.lists.longest;
            const float far = task.zscore != nullptr
                                  ? task.zscore[task.arc(i, depot)]
                                  : (known - task.lists.mean) / task.lists.deviation;
            tables.fact_far[to] = std::min(std::max(far, -farthest), farthest);
        }
}

Tables lay_out(const Instance &task, const float *penalties_of_nodes, Workspace &space) {
    Tables tables;
    tables.wide = padded(task.real);
    tables.columns = padded(task.width);
    const bool fresh = space.packed != &task;
    const std::size_t wide = static_cast<std::size_t>(tables.wide);
    const std::size_t columns = static_cast<std::size_t>(tables.columns);
    const std::size_t depots_wide = cells(task.depots, tables.wide);
    const std::size_t keyed = 2 * columns * static_cast<std::size_t>(task.real);
    const bool padded_rows = task.lists.near != nullptr && task.width != tables.columns;
    const std::size_t rows = padded_rows ? static_cast<std::size_t>(task.real) * columns : 0;
    const bool facts = task.move_first != nullptr;
    const std::size_t fact_wide = facts ? wide : 0, fact_homes = facts ? depots_wide : 0;
    space.tables.reset((keyed + wide * columns + 5 * wide + 2 * depots_wide + 3 * rows +
                        3 * fact_wide + 2 * fact_homes) *
                       sizeof(float));
    tables.keyed = {taken<float>(space.tables, keyed), task.real, 2 * tables.columns / L};
    tables.embedding = {taken<float>(space.tables, wide * columns), tables.columns,
                        tables.wide / L};
    tables.demand = taken<float>(space.tables, wide);
    tables.opening = taken<float>(space.tables, wide);
    tables.closing = taken<float>(space.tables, wide);
    tables.service = taken<float>(space.tables, wide);
    tables.open_at_first = taken<std::int32_t>(space.tables, wide);
    tables.home_distance = taken<float>(space.tables, depots_wide);
    tables.home_duration = taken<float>(space.tables, depots_wide);
    tables.fact_opening = taken<float>(space.tables, fact_wide);
    tables.fact_closing = taken<float>(space.tables, fact_wide);
    tables.fact_goods = taken<float>(space.tables, fact_wide);
    tables.fact_home = taken<float>(space.tables, fact_homes);
    tables.fact_far = taken<float>(space.tables, fact_homes);
    float *own_keyed = taken<float>(space.tables, 2 * rows);
    float *own_embedding = taken<float>(space.tables, rows);
    tables.keyed_rows = tables.embedding_rows = nullptr;
    if (task.lists.near != nullptr) {
        tables.keyed_rows = pad_rows(task, tables, task.keyed, 2, own_keyed);
        tables.embedding_rows = pad_rows(task, tables, task.embedding, 1, own_embedding);
    }
    tables.penalty = penalties_of_nodes;
    tables.penalties = 0.0;
    for (int i = 0; i < task.real; ++i)
        tables.penalties += static_cast<double>(tables.penalty[i]);
    if (!fresh)
        return tables;
    pack_keyed(task, tables);
    pack_embedding(task, tables);
    for (int i = 0; i < tables.wide; ++i) {
        const bool exists = i < task.real;
        tables.demand[i] = exists ? task.at(demand, i) : 0.0f;
        tables.opening[i] = exists ? task.at(opening, i) : 0.0f;
        tables.closing[i] = exists ? task.at(closing, i) + task.tolerance : 0.0f;
        tables.service[i] = exists ? task.at(service, i) : 0.0f;
        const bool opens = exists && task.at(customer, i) > 0.0f && !(task.at(delivery, i) > 0.0f);
        tables.open_at_first[i] = opens ? -1 : 0;
    }
    for (int depot = 0; depot < task.depots; ++depot)
        for (int i = 0; i < tables.wide; ++i) {
            const std::size_t place = task.arc(depot, i), to = cells(depot, tables.wide);
            const bool exists = i < task.real;
            tables.home_distance[to + static_cast<std::size_t>(i)] =
                exists ? task.home_distance[place] : 0.0f;
            tables.home_duration[to + static_cast<std::size_t>(i)] =
                exists ? task.home_duration[place] : 0.0f;
        }
    if (facts)
        lay_out_facts(task, tables);
    space.packed = &task;
    return tables;
}
