// The decoder: the twin of decode/signal.py and model/decoder.py.
//
// Included like lanes.hpp, after rollout_choice.hpp and rollout_equals.hpp: once for every set of
// instructions.

// Questions to the decoder that are answered together: panels are read once for all of them.
constexpr int GROUP = 4 * ROWS;

// Rows of a group of questions.
struct Rows {
    Question question[GROUP];
    int count;
    std::int32_t *legal;        // (GROUP, wide) masks
    float *weight;              // (GROUP, wide) of the readout; 0 where a move is illegal
    float *sums;                // (GROUP, 2 columns)
    float *context;             // (GROUP, columns)
    float *match;               // (GROUP, wide); then scores
    const float *zscore[GROUP]; // (wide,) each; of the instance, or in `far`
    float *far;                 // (GROUP, wide) where the instance has none
    std::int32_t *list;         // (GROUP / ROWS, wide) nodes that some row of a tile may go to
};

// Normalised distances from a node where the instance has no table of them.
void normalise(const Instance &task, const Tables &tables, int here, float *zscore) {
    const float *distance = task.distance + task.arc(here, 0);
    const Floats most = fill(std::numeric_limits<float>::max()), longest = fill(task.lists.longest);
    const Floats mean = fill(task.lists.mean), deviation = fill(task.lists.deviation);
    const Floats weight = fill(here < task.depots ? task.lists.depot_weight : 1.0f);
    for (int j = 0; j < tables.wide; j += L) {
        const Floats found = load_some(distance + j, task.real - j);
        const Floats known = select(found <= most, found, longest);
        store(zscore + j, (known - mean) / deviation * weight);
    }
}

// Weights of the readout: exponentials of distances, the largest 1.
void weigh(const Instance &task, const Tables &tables, const float *zscore,
           const std::int32_t *legal, float *weight) {
    const Floats factor = fill(-task.own[read_weight]), never = fill(NEVER), zero = fill(0.0f);
    Floats highest = never;
    for (int j = 0; j < tables.wide; j += L) {
        const Floats bias =
            select(load_mask(legal + j), factor * load_some(zscore + j, task.real - j), never);
        store(weight + j, bias);
        highest = larger(bias, highest);
    }
    const Floats shift = fill(largest(highest));
    for (int j = 0; j < tables.wide; j += L) {
        const Floats value = exponential(load(weight + j) - shift);
        store(weight + j, select(load_mask(legal + j), value, zero));
    }
}

// What the decoder is told of a partial solution; see decode/signal.py.
struct Told {
    float at[MAX_SIGNALS];
};

Told tell(const Instance &task, const State &state, const Question &asked) {
    const float *own = task.own;
    const bool has_capacity = task.is(limited);
    Told told{};
    if (has_capacity)
        told.at[0] = (own[capacity] - state.used) / own[capacity];
    else if (task.is(orienteering))
        told.at[0] = (own[max_length] - state.length) / own[max_length];
    else if (task.is(prize_collecting))
        told.at[0] =
            std::max(own[min_prize] - state.collected, 0.0f) / std::max(own[min_prize], 1e-6f);
    told.at[1] = asked.clock * own[per_horizon];
    told.at[2] = has_capacity ? state.credit / own[capacity] : 0.0f;
    const float all = std::max(own[customers], 1.0f);
    told.at[3] = static_cast<float>(state.left) / all;
    if (task.is(bounded))
        told.at[4] = (own[max_length] - state.length) / own[max_length];
    told.at[5] = state.backhauled ? 1.0f : 0.0f;
    told.at[6] = 2.0f * static_cast<float>(state.pending) / all;
    return told;
}

// Facts of moves to some nodes, one after the other, follow from these; see model/moves.py.
struct FactRow {
    const float *opening, *closing, *goods, *home, *far; // home and far: none without a depot
    const float *distances, *durations;                  // from where the vehicle is
    int count;                                           // of them
};

// What the facts of moves add to their scores.
class Facts {
public:
    Facts(const Instance &task, const State &state, const Question &asked)
        : task_(task), told_(tell(task, state, asked)) {
        for (int k = 0; k < MOVE_FACTS; ++k) {
            weight_[k] = task.move_first[cells(asked.base, MOVE_FACTS) + k] +
                         task.move_last[cells(asked.here, MOVE_FACTS) + k];
            for (int s = 0; s < MAX_SIGNALS; ++s)
                weight_[k] += told_.at[s] * task.move_state[cells(s, MOVE_FACTS) + k];
        }
    }

    Floats of(const FactRow &row, int j) const {
        const Floats zero = fill(0.0f), one = fill(1.0f);
        const auto share = [&](const Floats &value) { return smaller(larger(value, zero), one); };
        Floats total = zero;
        if (row.far != nullptr)
            total = fill(weight_[4]) * load(row.far + j);
        if (task_.own[per_horizon] > 0.0f) {
            const Floats arrival = fill(told_.at[1]) + load_some(row.durations + j, row.count - j) *
                                                           fill(task_.own[per_horizon]);
            total = total + fill(weight_[0]) * share(load(row.opening + j) - arrival);
            total = total + fill(weight_[1]) * share(load(row.closing + j) - arrival);
        }
        if (task_.is(limited))
            total = total + fill(weight_[2]) * share(one - peak(load(row.goods + j)));
        if (task_.is(bounded)) {
            Floats way =
                load_some(row.distances + j, row.count - j) * fill(1.0f / task_.own[max_length]);
            if (row.home != nullptr)
                way = way + load(row.home + j);
            total = total + fill(weight_[3]) * share(fill(told_.at[4]) - way);
        }
        return total;
    }

private:
    Floats peak(const Floats &goods) const {
        const Floats used = fill(1.0f - told_.at[0]), credit = fill(told_.at[2]);
        const Floats zero = fill(0.0f), above = used + goods;
        switch (task_.rule) {
        case LoadRule::single:
            return larger(above, zero) + larger(credit - goods, zero);
        case LoadRule::separate:
            return select(goods > zero, above, larger(used, credit + larger(zero - goods, zero)));
        case LoadRule::paired:
            return used - goods;
        default:
            return above;
        }
    }

    const Instance &task_;
    Told told_;
    float weight_[MOVE_FACTS];
};

// Adds what the facts of all moves count, in terms of the match before it is scaled.
void add_facts(const Instance &task, const Tables &tables, const State &state,
               const Question &asked, float *match) {
    const Facts facts(task, state, asked);
    const bool has_depot = task.depots > 0;
    const std::size_t home = has_depot ? cells(asked.base, tables.wide) : 0;
    const FactRow row{tables.fact_opening,
                      tables.fact_closing,
                      tables.fact_goods,
                      has_depot ? tables.fact_home + home : nullptr,
                      has_depot ? tables.fact_far + home : nullptr,
                      task.distance + task.arc(asked.here, 0),
                      task.duration + task.arc(asked.here, 0),
                      task.real};
    const Floats scale = fill(std::sqrt(static_cast<float>(task.width)));
    for (int j = 0; j < tables.wide; j += L)
        store(match + j, load(match + j) + facts.of(row, j) * scale);
}

// Contexts from sums, queries and signals: sigmoid(query) times a mean of values.
void make_context(const Instance &task, const Tables &tables, const State &state,
                  const Question &asked, const float *sums, float *context) {
    const Told told = tell(task, state, asked);
    const float *first = task.query_first + cells(asked.base, task.width);
    const float *last = task.query_last + cells(asked.here, task.width);
    const Floats one = fill(1.0f), least_sum = fill(1e-30f); // as in the encoder
    // Most problems have few of the signals.
    const float *weight[MAX_SIGNALS];
    float signal[MAX_SIGNALS];
    int count = 0;
    for (int s = 0; s < task.signals; ++s)
        if (told.at[s] != 0.0f) {
            weight[count] = task.state_weight + cells(s, task.width);
            signal[count++] = told.at[s];
        }
    for (int j = 0; j < tables.columns; j += L) {
        const int rest = task.width - j;
        Floats query = load_some(first + j, rest) + load_some(last + j, rest);
        for (int s = 0; s < count; ++s)
            query = madd(fill(signal[s]), load_some(weight[s] + j, rest), query);
        const Floats gate = one + exponential(fill(0.0f) - query);
        const Floats bottom = larger(load(sums + tables.columns + j), least_sum);
        store(context + j, load(sums + j) / bottom / gate);
    }
}

// Logits in place of the match; returns the highest.
float make_scores(const Instance &task, const Tables &tables, const float *zscore,
                  const std::int32_t *legal, float temperature, float *match) {
    const Floats scale = fill(1.0f / std::sqrt(static_cast<float>(task.width)));
    const Floats factor = fill(task.own[match_weight]), clip = fill(task.clipping);
    const Floats heat = fill(temperature), never = fill(NEVER);
    const bool heated = temperature != 1.0f;
    Floats highest = never;
    for (int j = 0; j < tables.wide; j += L) {
        const Floats far = factor * load_some(zscore + j, task.real - j);
        Floats score = clip * tangent(load(match + j) * scale - far);
        if (heated)
            score = score / heat;
        score = select(load_mask(legal + j), score, never);
        store(match + j, score);
        highest = larger(score, highest);
    }
    return largest(highest);
}

// Scores before clipping in place of the match, as large instances have them; returns the highest.
float make_raw_scores(const Instance &task, const Tables &tables, const Question &asked,
                      const float *zscore, const std::int32_t *legal, float *match) {
    const Floats scale = fill(1.0f / std::sqrt(static_cast<float>(task.width)));
    const Floats factor = fill(task.own[match_weight]), never = fill(NEVER);
    const bool at_depot = asked.here < task.depots;
    Floats highest = never;
    for (int j = 0; j < tables.wide; j += L) {
        Floats score = load(match + j) * scale - factor * load(zscore + j);
        if (at_depot)
            score = score + load_some(task.lists.bonus + j, task.real - j);
        score = select(load_mask(legal + j), score, never);
        store(match + j, score);
        highest = larger(score, highest);
    }
    return largest(highest);
}

// Asks the decoder for many trajectories at once. States and answers are those of all trajectories.
// A question is asked for a trajectory and its equals, where there are `equals`.
class Decoder {
public:
    Decoder(const Instance &task, const Trajectories &all, const Tables &tables,
            const State *states, Answer *answers, Arena &arena, const Equals *equals = nullptr)
        : task_(task), all_(all), tables_(tables), states_(states), answers_(answers),
          equals_(equals) {
        const std::size_t wide = static_cast<std::size_t>(tables_.wide);
        const std::size_t columns = static_cast<std::size_t>(tables_.columns);
        rows_.count = 0;
        rows_.legal = taken<std::int32_t>(arena, GROUP * wide);
        rows_.weight = taken<float>(arena, GROUP * wide);
        rows_.match = taken<float>(arena, GROUP * wide);
        rows_.sums = taken<float>(arena, GROUP * 2 * columns);
        rows_.context = taken<float>(arena, GROUP * columns);
        rows_.list = taken<std::int32_t>(arena, GROUP / ROWS * wide);
        rows_.far = task.zscore == nullptr ? taken<float>(arena, GROUP * wide) : nullptr;
    }

    static std::size_t bytes(const Tables &tables) {
        const std::size_t wide = static_cast<std::size_t>(tables.wide);
        const std::size_t columns = static_cast<std::size_t>(tables.columns);
        return (GROUP * (4 * wide + 3 * columns) + GROUP / ROWS * wide) * sizeof(float);
    }

    // The move of the plan from which a trajectory deviates.
    int planned(int i, int time) const {
        return all_.plan[cells(i, all_.max_steps) + static_cast<std::size_t>(time)];
    }

    // Where the masks (wide,) of the next question are written.
    std::int32_t *legal() { return rows_.legal + cells(rows_.count, tables_.wide); }

    // A question with so many legal moves; it is answered with others.
    void ask(const Question &asked, int count, int time) {
        const std::int32_t *masks = legal();
        if (count == 0)
            return; // the vehicle stays
        if (count == 1) {
            int only = 0;
            while (!masks[only])
                ++only;
            for (int i = asked.trajectory; i >= 0; i = next(i))
                note(i, asked, {only, 0.0f});
            return;
        }
        const std::size_t row = cells(rows_.count, tables_.wide);
        const float *zscore = rows_.far + row;
        if (rows_.far == nullptr)
            zscore = task_.zscore + task_.arc(asked.here, 0);
        else
            normalise(task_, tables_, asked.here, rows_.far + row);
        rows_.zscore[rows_.count] = zscore;
        weigh(task_, tables_, zscore, masks, rows_.weight + row);
        rows_.question[rows_.count++] = asked;
        if (rows_.count == GROUP)
            answer_group(time);
    }

    // Answers what is still open.
    void answer_group(int time) {
        if (rows_.count == 0)
            return;
        const std::size_t wide = static_cast<std::size_t>(tables_.wide);
        const std::size_t columns = static_cast<std::size_t>(tables_.columns);
        int listed[GROUP / ROWS];
        for (int first = 0; first < rows_.count; first += ROWS)
            listed[first / ROWS] = list_nodes(first);
        for (int panel = 0; panel < tables_.keyed.count(); ++panel)
            for (int first = 0; first < rows_.count; first += ROWS)
                product_panel<true>(tables_.keyed.width(panel), rows_of_tile(first),
                                    rows_.weight + cells(first, tables_.wide), wide,
                                    rows_.list + cells(first / ROWS, tables_.wide),
                                    listed[first / ROWS], tables_.keyed.begin(panel),
                                    rows_.sums + cells(first, 2 * tables_.columns) +
                                        panel * VECTORS * L,
                                    2 * columns);
        for (int row = 0; row < rows_.count; ++row) {
            const Question &asked = rows_.question[row];
            make_context(task_, tables_, states_[asked.trajectory], asked,
                         rows_.sums + cells(row, 2 * tables_.columns),
                         rows_.context + cells(row, tables_.columns));
        }
        for (int panel = 0; panel < tables_.embedding.count(); ++panel)
            for (int first = 0; first < rows_.count; first += ROWS)
                product_panel<false>(tables_.embedding.width(panel), rows_of_tile(first),
                                     rows_.context + cells(first, tables_.columns), columns,
                                     nullptr, task_.width, tables_.embedding.begin(panel),
                                     rows_.match + cells(first, tables_.wide) + panel * VECTORS * L,
                                     wide);
        for (int row = 0; row < rows_.count; ++row) {
            const Question &asked = rows_.question[row];
            const int i = asked.trajectory;
            float *match = rows_.match + cells(row, tables_.wide);
            const std::int32_t *masks = rows_.legal + cells(row, tables_.wide);
            if (task_.move_first != nullptr)
                add_facts(task_, tables_, states_[i], asked, match);
            if (task_.lists.near != nullptr) {
                const float top =
                    make_raw_scores(task_, tables_, asked, rows_.zscore[row], masks, match);
                note(i, asked, choose_raw(task_, tables_, asked, top, match));
                continue;
            }
            const bool heated = all_.temperature != nullptr && !asked.looks;
            const float top = make_scores(task_, tables_, rows_.zscore[row], masks,
                                          heated ? all_.temperature[i] : 1.0f, match);
            if (all_.turn != nullptr && time == all_.turn[i])
                answer_other(asked, time, top, match);
            else
                answer_equals(asked, time, top, match);
        }
        rows_.count = 0;
    }

private:
    int next(int i) const { return equals_ == nullptr ? -1 : equals_->next(i); }

    // The choice of a trajectory and its equals from their scores, which are used up.
    void answer_equals(const Question &asked, int time, float top, float *scores) {
        bool greedy = false, weighed = asked.looks;
        for (int i = asked.trajectory; i >= 0; i = next(i))
            (drawn(all_, i, time) < 0.0f ? greedy : weighed) = true;
        const int first = greedy ? likeliest(task_, top, scores, asked.here) : asked.here;
        const double total = weighed ? make_chances(tables_, top, scores) : 1.0;
        const float sure = weighed ? log_chance(top, total) : NEVER;
        for (int i = asked.trajectory; i >= 0; i = next(i)) {
            const float level = drawn(all_, i, time);
            const int choice =
                level < 0.0f ? first : pick(tables_, level, total, scores, asked.here);
            note(i, asked, {choice, sure});
        }
    }

    // The choice where a trajectory leaves its plan. The scores are used up.
    void answer_other(const Question &asked, int time, float top, float *scores) {
        const int i = asked.trajectory;
        const float least = top - all_.unlikely;
        Answer answer{choose_other(task_, scores, least, planned(i, time), all_.rank[i])};
        if (asked.looks)
            answer.sure = log_chance(top, make_chances(tables_, top, scores));
        note(i, asked, answer);
    }

    // Where the vehicle could leave from several depots, the surest customer decides.
    void note(int i, const Question &asked, const Answer &answer) {
        Answer &noted = answers_[i];
        if (!asked.looks) {
            noted = answer;
            return;
        }
        // Of equals the first, in whichever order they are answered.
        const bool surer =
            answer.sure > noted.sure || (answer.sure == noted.sure && asked.here < noted.depot);
        if (answer.sure > NEVER && surer) {
            const bool here = states_[i].current == asked.here;
            noted = {here ? answer.choice : asked.here, answer.sure, asked.here};
        }
    }

    int rows_of_tile(int first) const { return std::min(ROWS, rows_.count - first); }

    // Nodes that some of the rows of a tile may go to; returns how many these are.
    int list_nodes(int first) {
        std::int32_t *list = rows_.list + cells(first / ROWS, tables_.wide);
        const std::int32_t *legal = rows_.legal + cells(first, tables_.wide);
        const int rows = rows_of_tile(first);
        int count = 0;
        for (int j = 0; j < tables_.wide; j += L) {
            Ints some = load_mask(legal + j);
            for (int r = 1; r < rows; ++r)
                some = some | load_mask(legal + cells(r, tables_.wide) + j);
            std::int32_t each[L];
            store_mask(each, some);
            for (int i = 0; i < L; ++i) {
                list[count < tables_.wide ? count : 0] = j + i;
                count += each[i] & 1;
            }
        }
        return count;
    }

    const Instance &task_;
    const Trajectories &all_;
    const Tables &tables_;
    const State *states_;
    Answer *answers_;
    const Equals *equals_; // or none: every trajectory is asked for
    Rows rows_;
};
