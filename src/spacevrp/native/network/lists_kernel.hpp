// Moves from candidate lists, of large instances: the twin of `step` in decode/pruned.py and
// `option_scores` in model/candidates.py.
//
// Included like lanes.hpp, after rollout_decoder.hpp and rollout_rules.hpp: once for every set of
// instructions.

class FromList {
public:
    FromList(const Instance &task, const Tables &tables, Arena &arena)
        : task_(task), tables_(tables) {
        const std::size_t room = size(task);
        node_ = taken<std::int32_t>(arena, room);
        zscore_ = taken<float>(arena, room);
        weight_ = taken<float>(arena, room);
        sums_ = taken<float>(arena, cells(2, tables.columns));
        context_ = taken<float>(arena, cells(1, tables.columns));
    }

    static std::size_t bytes(const Instance &task, const Tables &tables) {
        return (3 * size(task) + cells(3, tables.columns)) * sizeof(float);
    }

    // Where the vehicle goes from its list, or -1 where it has to look at all customers.
    int move(const State &state, const std::int32_t *open) {
        if (state.current < task_.depots)
            return -1;
        const bool home = may_go_home(task_, state);
        count_ = 0;
        // The way home comes first.
        if (home)
            node_[count_++] = state.origin;
        const int before = count_;
        collect(state, open, before + task_.lists.readout);
        const bool can_serve = count_ > before;
        const bool for_good = !(static_cast<float>(state.routes) < task_.own[max_routes]);
        if (!can_serve && state.left > 0 && (!home || for_good || !is_fresh(state, open)))
            return -1;
        if (count_ == 0)
            return state.current; // stuck
        if (count_ == 1)
            return node_[0];
        return decide(state, std::min(count_, before + task_.lists.choices));
    }

private:
    static std::size_t size(const Instance &task) {
        return static_cast<std::size_t>(task.lists.readout) + 1 + 2 * L;
    }

    // Legal customers in the order of the list, until there are enough.
    void collect(const State &state, const std::int32_t *open, int enough) {
        const std::int32_t *near = task_.lists.near + cells(state.current, task_.lists.listed);
        std::int32_t some[L];
        int found = 0;
        for (int k = 0; k < task_.lists.listed && count_ < enough; ++k) {
            some[found] = near[k];
            // Lists of few are filled with padding, which is closed.
            found += open[std::min(near[k], tables_.wide)] & 1;
            if (found == L) {
                filter(state, some, found, enough);
                found = 0;
            }
        }
        if (found > 0 && count_ < enough)
            filter(state, some, found, enough);
    }

    // Whether a customer on the list is not yet visited; of deliveries that are not open, this is
    // so before their pickup.
    bool is_fresh(const State &state, const std::int32_t *open) const {
        const std::int32_t *near = task_.lists.near + cells(state.current, task_.lists.listed);
        for (int k = 0; k < task_.lists.listed; ++k) {
            const std::int32_t node = near[k];
            if (node >= task_.real)
                continue;
            const int pickup = static_cast<int>(task_.at(partner, node));
            const bool waits =
                task_.at(delivery, node) > 0.0f && pickup < task_.real && open[pickup];
            if (open[node] || waits)
                return true;
        }
        return false;
    }

    // Those of up to L open customers whom the rules allow.
    void filter(const State &state, const std::int32_t *some, int found, int enough) {
        float goods[L] = {}, opens[L] = {}, closes[L] = {}, serving[L] = {};
        float way[L] = {}, ride[L] = {}, way_home[L] = {}, ride_home[L] = {};
        const bool has_depot = task_.depots > 0;
        const std::size_t home = has_depot ? cells(state.origin, tables_.wide) : 0;
        const float *distances = task_.distance + task_.arc(state.current, 0);
        const float *durations = task_.duration + task_.arc(state.current, 0);
        std::int32_t masks[L] = {};
        for (int k = 0; k < found; ++k) {
            const std::size_t node = static_cast<std::size_t>(some[k]);
            masks[k] = -1;
            goods[k] = tables_.demand[node];
            if (task_.timed) {
                opens[k] = tables_.opening[node];
                closes[k] = tables_.closing[node];
                serving[k] = tables_.service[node];
            }
            if (task_.timed || task_.missing || task_.is(bounded)) {
                way[k] = distances[node];
                ride[k] = durations[node];
                way_home[k] = has_depot ? tables_.home_distance[home + node] : 0.0f;
                ride_home[k] = has_depot ? tables_.home_duration[home + node] : 0.0f;
            }
        }
        Tables gathered{};
        gathered.demand = goods;
        gathered.opening = opens;
        gathered.closing = closes;
        gathered.service = serving;
        const Bounds bounds{
            .distances = way,
            .durations = ride,
            .home_distance = way_home,
            .home_duration = ride_home,
            .clock = state.clock,
            .home_by = has_depot ? tables_.closing[state.origin] : 0.0f,
            .length = state.length,
            .longest = task_.own[max_length] + task_.tolerance,
            .timed = task_.timed,
            .bounded = task_.is(bounded),
            .missing = task_.missing,
            .free_return = task_.free_return,
            .barred = task_.is(backhaul_last) && state.backhauled,
        };
        Ints moves = load_mask(masks);
        if (task_.is(limited) || task_.rule == LoadRule::paper)
            moves = moves & load_fits(task_.rule, state.used, state.credit, task_.own[capacity],
                                      task_.own[load_tolerance], load(goods));
        store_mask(masks, trip_fits(gathered, bounds, L, 0, moves));
        for (int k = 0; k < found && count_ < enough; ++k)
            if (masks[k])
                node_[count_++] = some[k];
    }

    // The best of the first `choices` of the options; all of them are read out.
    int decide(const State &state, int choices) {
        const float *distances = task_.distance + task_.arc(state.current, 0);
        for (int k = 0; k < count_; ++k)
            zscore_[k] = distances[node_[k]];
        const Floats most_known = fill(std::numeric_limits<float>::max());
        const Floats longest = fill(task_.lists.longest), mean = fill(task_.lists.mean);
        const Floats deviation = fill(task_.lists.deviation), never = fill(NEVER);
        const Floats factor_read = fill(-task_.own[read_weight]);
        Floats highest = never;
        for (int k = 0; k < count_; k += L) {
            const Floats found = load_some(zscore_ + k, count_ - k);
            const Floats known = select(found <= most_known, found, longest);
            store(zscore_ + k, (known - mean) / deviation);
            store(weight_ + k, factor_read * load(zscore_ + k));
            for (int i = count_; i < k + L; ++i)
                weight_[i] = NEVER;
            highest = larger(load(weight_ + k), highest);
        }
        const Floats shift = fill(largest(highest));
        for (int k = 0; k < count_; k += L)
            store(weight_ + k, exponential(load(weight_ + k) - shift));
        read_out();
        const Question asked{0, state.current, state.origin, state.clock, false};
        make_context(task_, tables_, state, asked, sums_, context_);
        const float scale = 1.0f / std::sqrt(static_cast<float>(task_.width));
        const float factor = task_.own[match_weight] * task_.lists.nearness;
        int best = 0;
        float most = NEVER;
        if (task_.move_first != nullptr)
            count_facts(state, asked, choices);
        for (int k = 0; k < choices; k += 4) {
            float match[4];
            compare(k, choices, match);
            for (int i = 0; i < 4 && k + i < choices; ++i) {
                float score = match[i] * scale - factor * zscore_[k + i];
                if (task_.move_first != nullptr)
                    score += weight_[k + i];
                if (score > most) {
                    most = score;
                    best = k + i;
                }
            }
        }
        return node_[best];
    }

    // What facts add to the scores of the first options, in place of the weights of the readout.
    void count_facts(const State &state, const Question &asked, int choices) {
        const Facts facts(task_, state, asked);
        const bool has_depot = task_.depots > 0;
        const std::size_t home = has_depot ? cells(asked.base, tables_.wide) : 0;
        const float *distances = task_.distance + task_.arc(asked.here, 0);
        const float *durations = task_.duration + task_.arc(asked.here, 0);
        float opens[L] = {}, closes[L] = {}, goods[L] = {}, back[L] = {}, far[L] = {};
        float way[L] = {}, ride[L] = {};
        const FactRow row{
            opens, closes, goods, has_depot ? back : nullptr, has_depot ? far : nullptr,
            way,   ride,   L};
        for (int k = 0; k < choices; k += L) {
            for (int i = 0; i < L && k + i < choices; ++i) {
                const std::size_t node = static_cast<std::size_t>(node_[k + i]);
                opens[i] = tables_.fact_opening[node];
                closes[i] = tables_.fact_closing[node];
                goods[i] = tables_.fact_goods[node];
                back[i] = has_depot ? tables_.fact_home[home + node] : 0.0f;
                far[i] = has_depot ? tables_.fact_far[home + node] : 0.0f;
                way[i] = distances[node];
                ride[i] = durations[node];
            }
            store(weight_ + k, facts.of(row, 0));
        }
    }

    // Sums of the keyed values of all options, each times its weight.
    void read_out() {
        constexpr int TOGETHER = 8;
        const int vectors = 2 * tables_.columns / L;
        for (int first = 0; first < vectors; first += TOGETHER) {
            const int width = std::min(TOGETHER, vectors - first);
            Floats sum[TOGETHER];
            for (Floats &one : sum)
                one = fill(0.0f);
            for (int k = 0; k < count_; ++k) {
                const float *row = tables_.keyed_rows + cells(node_[k], 2 * tables_.columns) +
                                   static_cast<std::size_t>(first) * L;
                const Floats weight = fill(weight_[k]);
                if (width == TOGETHER) {
                    for (int v = 0; v < TOGETHER; ++v)
                        sum[v] = madd(weight, load(row + v * L), sum[v]);
                } else {
                    for (int v = 0; v < width; ++v)
                        sum[v] = madd(weight, load(row + v * L), sum[v]);
                }
            }
            for (int v = 0; v < width; ++v)
                store(sums_ + (first + v) * L, sum[v]);
        }
    }

    // The context times the embeddings of up to four options from one on.
    void compare(int first, int choices, float *match) {
        const float *row[4];
        Floats sum[4];
        for (int i = 0; i < 4; ++i) {
            row[i] = tables_.embedding_rows +
                     cells(node_[std::min(first + i, choices - 1)], tables_.columns);
            sum[i] = fill(0.0f);
        }
        for (int j = 0; j < tables_.columns; j += L) {
            const Floats context = load(context_ + j);
            for (int i = 0; i < 4; ++i)
                sum[i] = madd(context, load(row[i] + j), sum[i]);
        }
        for (int i = 0; i < 4; ++i)
            match[i] = sum_of(sum[i]);
    }

    const Instance &task_;
    const Tables &tables_;
    std::int32_t *node_;      // options: the way home, where legal, then customers
    int count_ = 0;           // of them
    float *zscore_, *weight_; // of the options
    float *sums_, *context_;
};
