// The rollout itself. It is the twin of env/environment.py, decode/signal.py, model/decoder.py and
// decode/rollout.py: the rules in the same order of the same float32 operations.
//
// Included like lanes.hpp, after rollout_products.hpp: once for every set of instructions.

// Questions to the decoder that are answered together: panels are read once for all of them.
constexpr int GROUP = 4 * ROWS;

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
    float *demand, *opening, *closing, *service; // (wide,); closing with what is forgiven
    float *home_distance, *home_duration;        // (depots, wide)
    std::int32_t *open_at_first;                 // (wide,) mask: customers but deliveries
    double penalties;                            // of all customers
};

// Rows of a group of questions.
struct Rows {
    Question question[GROUP];
    int count;
    std::int32_t *legal; // (GROUP, wide) masks
    float *weight;       // (GROUP, wide) of the readout; 0 where a move is illegal
    float *sums;         // (GROUP, 2 columns)
    float *context;      // (GROUP, columns)
    float *match;        // (GROUP, wide); then scores
    std::int32_t *list;  // (GROUP / ROWS, wide) nodes that some row of a tile may go to
};

struct Answer {
    int choice;
    float sure; // log chance of the likeliest; below all numbers where nothing is legal
};

constexpr float NEVER = -std::numeric_limits<float>::infinity();

inline std::size_t cells(int rows, int columns) {
    return static_cast<std::size_t>(rows) * static_cast<std::size_t>(columns);
}

template <class Entry> Entry *taken(Arena &arena, std::size_t count) {
    return static_cast<Entry *>(arena.take(count * sizeof(Entry)));
}

// --------------------------------------------------------------------------------------- tables

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

Tables lay_out(const Instance &task, Workspace &space) {
    Tables tables;
    tables.wide = padded(task.real);
    tables.columns = padded(task.width);
    const bool fresh = space.packed != &task;
    const std::size_t wide = static_cast<std::size_t>(tables.wide);
    const std::size_t columns = static_cast<std::size_t>(tables.columns);
    const std::size_t depots_wide = cells(task.depots, tables.wide);
    const std::size_t keyed = 2 * columns * static_cast<std::size_t>(task.real);
    space.tables.reset((keyed + wide * columns + 5 * wide + 2 * depots_wide) * sizeof(float) +
                       1024);
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
    tables.penalties = 0.0;
    for (int i = 0; i < task.real; ++i)
        tables.penalties += static_cast<double>(task.at(penalty, i));
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
    space.packed = &task;
    return tables;
}

// ---------------------------------------------------------------------------------------- rules

inline bool may_finish(const Instance &task, const State &state) {
    return state.owed == 0 && (state.collected >= task.enough || state.left == 0);
}

inline float used_at_depot(const Instance &task, int linehauls_left) {
    const bool empty = task.rule == LoadRule::paper && task.is(limited) && linehauls_left == 0;
    return empty ? task.own[capacity] : 0.0f;
}

// Whether a move to the depot of the running route is legal: home, or to finish.
inline bool may_go_home(const Instance &task, const State &state) {
    if (task.depots == 0)
        return false;
    if (state.current < task.depots)
        return may_finish(task, state);
    const bool another = static_cast<float>(state.routes) < task.own[max_routes];
    if (state.pending != 0 || !(another || may_finish(task, state)))
        return false;
    if (task.direct || task.is(open_routes))
        return true;
    const float distance = task.distance[task.arc(state.current, state.origin)];
    const float duration = task.duration[task.arc(state.current, state.origin)];
    const bool in_length = state.length + distance <= task.own[max_length] + task.tolerance;
    const bool in_time = state.clock + duration <= task.at(closing, state.origin) + task.tolerance;
    const float most = std::numeric_limits<float>::max();
    return distance <= most && duration <= most && in_length && in_time;
}

// Masks of the customers that can be served next; returns how many these are.
int customer_moves(const Instance &task, const Tables &tables, const State &state,
                   const Question &asked, const std::int32_t *open, std::int32_t *legal) {
    const bool at_depot = asked.here < task.depots;
    if (at_depot && !(static_cast<float>(state.routes) < task.own[max_routes])) {
        std::memset(legal, 0, static_cast<std::size_t>(tables.wide) * sizeof(std::int32_t));
        return 0;
    }
    const float *distances = task.distance + task.arc(asked.here, 0);
    const float *durations = task.duration + task.arc(asked.here, 0);
    const bool loaded = task.is(limited) || task.rule == LoadRule::paper;
    const bool bounded_length = task.is(bounded);
    const std::size_t home = task.depots > 0 ? cells(asked.base, tables.wide) : 0;
    const Floats most = fill(std::numeric_limits<float>::max()), zero = fill(0.0f);
    const Floats used = fill(state.used), credit = fill(state.credit);
    const Floats room = fill(task.own[capacity] + task.own[load_tolerance]);
    const Floats lowest = fill(-task.own[load_tolerance]);
    const Floats clock = fill(asked.clock), length = fill(state.length);
    const Floats home_by = fill(task.depots > 0 ? tables.closing[asked.base] : 0.0f);
    const Floats longest = fill(task.own[max_length] + task.tolerance);
    const bool barred = task.is(backhaul_last) && state.backhauled;
    Ints count = {};
    for (int j = 0; j < tables.wide; j += L) {
        Ints moves = load_mask(open + j);
        if (loaded) {
            const Floats goods = load(tables.demand + j);
            const Floats above = used + goods;
            switch (task.rule) {
            case LoadRule::single:
                moves = moves & (larger(above, zero) + larger(credit - goods, zero) <= room);
                break;
            case LoadRule::paper:
                moves = moves & (above <= room) & (above >= lowest);
                break;
            case LoadRule::separate: {
                const Floats gathered = credit + larger(zero - goods, zero);
                moves = moves & (select(goods > zero, above, larger(used, gathered)) <= room);
                break;
            }
            case LoadRule::paired:
                moves = moves & (used - goods <= room);
                break;
            }
        }
        if (barred)
            moves = moves & (load(tables.demand + j) <= zero);
        if (task.timed) {
            const Floats arrival = clock + load_some(durations + j, task.real - j);
            moves = moves & (arrival <= load(tables.closing + j));
            if (!task.free_return) {
                const Floats begin = larger(arrival, load(tables.opening + j));
                const Floats leaves = begin + load(tables.service + j);
                moves = moves & (leaves + load(tables.home_duration + home + j) <= home_by);
            }
        }
        if (bounded_length) {
            Floats whole = length + load_some(distances + j, task.real - j);
            if (!task.free_return)
                whole = whole + load(tables.home_distance + home + j);
            moves = moves & (whole <= longest);
        }
        if (task.missing) {
            moves = moves & (load_some(distances + j, task.real - j) <= most) &
                    (load_some(durations + j, task.real - j) <= most);
            if (!task.free_return)
                moves = moves & (load(tables.home_distance + home + j) <= most) &
                        (load(tables.home_duration + home + j) <= most);
        }
        store_mask(legal + j, moves);
        count = count + moves;
    }
    return count_true(count);
}

// ----------------------------------------------------------------------------------------- step

void step(const Instance &task, const Tables &tables, State &state, int action, bool first,
          std::int32_t *open) {
    const bool from_depot = state.current < task.depots, to_depot = action < task.depots;
    // To stay at a customer is to be idle, except at the start without depots.
    const bool serves = !to_depot && (first || action != state.current);
    const bool stays = !serves && action == state.current;
    if (stays && !(from_depot && may_finish(task, state)))
        state.stuck = true;
    const float distance = task.distance[task.arc(state.current, action)];
    const bool free = stays || (to_depot && (from_depot || task.is(open_routes)));
    if (!free)
        state.travelled += distance;
    if (serves) {
        const float goods = tables.demand[action];
        const float above = state.used + goods;
        const float gathered = state.credit + std::max(-goods, 0.0f);
        switch (task.rule) {
        case LoadRule::single:
            state.used = std::max(above, 0.0f);
            state.credit = std::max(state.credit - goods, 0.0f);
            break;
        case LoadRule::paper:
            state.used = above;
            break;
        case LoadRule::separate:
            state.used = goods > 0.0f ? above : std::max(state.used, gathered);
            state.credit = gathered;
            break;
        case LoadRule::paired:
            state.used -= goods;
            break;
        }
        const float arrival = state.clock + task.duration[task.arc(state.current, action)];
        state.clock = std::max(arrival, tables.opening[action]) + tables.service[action];
        state.length += distance;
        state.collected += task.at(prize, action);
        state.skipped -= static_cast<double>(task.at(penalty, action));
        const int pair = static_cast<int>(task.at(paired_step, action));
        state.pending += pair;
        state.backhauled = state.backhauled || goods < 0.0f;
        state.routes += from_depot ? 1 : 0;
        state.left -= 1;
        state.linehauls -= goods > 0.0f ? 1 : 0;
        state.owed -= task.at(compulsory, action) > 0.0f ? 1 : 0;
        open[action] = 0;
        if (pair > 0)
            open[static_cast<int>(task.at(partner, action))] = -1;
    }
    state.switched = from_depot && to_depot && !stays;
    state.current = action;
    if (to_depot) {
        state.origin = action;
        state.used = used_at_depot(task, state.linehauls);
        state.credit = 0.0f;
        state.clock = tables.opening[action];
        state.length = 0.0f;
        state.backhauled = false;
        if (state.left == 0 || !(static_cast<float>(state.routes) < task.own[max_routes]))
            state.done = true;
    }
    if (stays)
        state.done = true;
    if (task.depots == 0 && state.left == 0) {
        state.travelled += task.distance[task.arc(state.current, state.origin)];
        state.done = true;
    }
}

// -------------------------------------------------------------------------------------- decoder

// Weights of the readout: exponentials of distances, the largest 1.
void weigh(const Instance &task, const Tables &tables, const Question &asked,
           const std::int32_t *legal, float *weight) {
    const float *zscore = task.zscore + task.arc(asked.here, 0);
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

// Contexts from sums, queries and signals: sigmoid(query) times a mean of values.
void make_context(const Instance &task, const Tables &tables, const State &state,
                  const Question &asked, const float *sums, float *context) {
    const float *own = task.own;
    const bool has_capacity = task.is(limited);
    float told[4] = {0.0f, 0.0f, 0.0f, 0.0f};
    if (has_capacity)
        told[0] = (own[capacity] - state.used) / own[capacity];
    else if (task.is(orienteering))
        told[0] = (own[max_length] - state.length) / own[max_length];
    else if (task.is(prize_collecting))
        told[0] =
            std::max(own[min_prize] - state.collected, 0.0f) / std::max(own[min_prize], 1e-6f);
    told[1] = asked.clock * own[per_horizon];
    told[2] = has_capacity ? state.credit / own[capacity] : 0.0f;
    told[3] = static_cast<float>(state.left) / std::max(own[customers], 1.0f);
    const float *first = task.query_first + cells(asked.base, task.width);
    const float *last = task.query_last + cells(asked.here, task.width);
    const Floats one = fill(1.0f), tiny = fill(std::numeric_limits<float>::min());
    for (int j = 0; j < tables.columns; j += L) {
        const int rest = task.width - j;
        Floats query = load_some(first + j, rest) + load_some(last + j, rest);
        for (int s = 0; s < task.signals; ++s)
            query = madd(fill(told[s]),
                         load_some(task.state_weight + cells(s, task.width) + j, rest), query);
        const Floats gate = one + exponential(fill(0.0f) - query);
        const Floats bottom = larger(load(sums + tables.columns + j), tiny);
        store(context + j, load(sums + j) / bottom / gate);
    }
}

// Logits in place of the match; returns the highest.
float make_scores(const Instance &task, const Tables &tables, const Question &asked,
                  const std::int32_t *legal, float temperature, float *match) {
    const float *zscore = task.zscore + task.arc(asked.here, 0);
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

// The numbers of decode/draws.py; below 0 for the likeliest.
inline float drawn(const Trajectories &all, int trajectory, int time) {
    if (all.keys == nullptr || all.keys[trajectory] < 0)
        return -1.0f;
    std::uint32_t word = static_cast<std::uint32_t>(all.keys[trajectory]) +
                         static_cast<std::uint32_t>(time) * 0x9E3779B9u;
    word = (word ^ (word >> 16)) * 0x7FEB352Du;
    word = (word ^ (word >> 15)) * 0x846CA68Bu;
    word = (word ^ (word >> 16)) >> 8;
    return static_cast<float>(word) * 5.9604644775390625e-08f; // 2^-24
}

// The likeliest node, or the one in whose share of all chances the drawn number falls. The row is
// used up.
Answer choose(const Instance &task, const Tables &tables, const Question &asked, float level,
              float highest, float *scores) {
    Answer answer{asked.here, NEVER};
    const bool likeliest = level < 0.0f;
    if (likeliest)
        for (int j = 0; j < task.real; ++j)
            if (scores[j] >= highest) {
                answer.choice = j;
                break;
            }
    if (likeliest && !asked.looks)
        return answer;
    const Floats shift = fill(highest), never = fill(NEVER), zero = fill(0.0f);
    double total = 0.0;
    for (int j = 0; j < tables.wide; j += L) {
        const Floats score = load(scores + j);
        const Floats chance = select(score > never, exponential(score - shift), zero);
        store(scores + j, chance);
        total += static_cast<double>(sum_of(chance));
    }
    // In this order, as the slow twin: what the last bits decide is decided alike.
    answer.sure = highest - (highest + std::log(static_cast<float>(total)));
    if (likeliest)
        return answer;
    const double until = static_cast<double>(std::max(level, 1e-7f)) * total;
    double before = 0.0;
    for (int j = 0; j < tables.wide && before < until; j += L) {
        const double with = before + static_cast<double>(sum_of(load(scores + j)));
        // Here, or last of all: no share behind begins below the level.
        const bool last = j + L >= tables.wide;
        if (with < until && !last) {
            before = with;
            continue;
        }
        for (int i = j; i < j + L; ++i)
            if (scores[i] > 0.0f && before < until) {
                answer.choice = i;
                before += static_cast<double>(scores[i]);
            }
    }
    return answer;
}

// ---------------------------------------------------------------------------------------- block

class Block {
public:
    Block(const Instance &task, const Trajectories &all, Workspace &space)
        : task_(task), all_(all), tables_(lay_out(task, space)) {
        const std::size_t wide = static_cast<std::size_t>(tables_.wide);
        const std::size_t columns = static_cast<std::size_t>(tables_.columns);
        const std::size_t count = static_cast<std::size_t>(all.count);
        space.block.reset(count * (sizeof(State) + sizeof(Answer) + 2 * sizeof(int)) +
                          (count * wide + GROUP * (3 * wide + 3 * columns) + GROUP / ROWS * wide) *
                              sizeof(float) +
                          2048);
        states_ = taken<State>(space.block, count);
        answers_ = taken<Answer>(space.block, count);
        live_ = taken<int>(space.block, count);
        open_ = taken<std::int32_t>(space.block, count * wide);
        rows_.count = 0;
        rows_.legal = taken<std::int32_t>(space.block, GROUP * wide);
        rows_.weight = taken<float>(space.block, GROUP * wide);
        rows_.match = taken<float>(space.block, GROUP * wide);
        rows_.sums = taken<float>(space.block, GROUP * 2 * columns);
        rows_.context = taken<float>(space.block, GROUP * columns);
        rows_.list = taken<std::int32_t>(space.block, GROUP / ROWS * wide);
    }

    void run(const Stop &stop) {
        for (int i = 0; i < all_.count; ++i)
            begin(i);
        for (int time = 0; time < all_.max_steps && alive_ > 0; ++time) {
            if (stop())
                return;
            move(time);
        }
        for (int i = 0; i < all_.count; ++i) {
            const State &state = states_[i];
            const bool failed = state.stuck || !state.done;
            const float skipped = static_cast<float>(state.skipped);
            const float cost =
                task_.is(orienteering) ? -state.collected : state.travelled + skipped;
            all_.cost[i] = failed ? std::numeric_limits<float>::infinity() : cost;
        }
    }

private:
    std::int32_t *open(int trajectory) { return open_ + cells(trajectory, tables_.wide); }

    void begin(int i) {
        State &state = states_[i];
        const int start = static_cast<int>(all_.start[i]),
                  origin = static_cast<int>(all_.origin[i]);
        state = State{};
        state.current = state.origin = origin;
        state.clock = tables_.opening[origin];
        state.skipped = tables_.penalties;
        state.left = static_cast<int>(task_.own[customers]);
        state.linehauls = static_cast<int>(task_.own[linehauls]);
        state.owed = static_cast<int>(task_.own[compulsories]);
        state.used = used_at_depot(task_, state.linehauls);
        std::memcpy(open(i), tables_.open_at_first,
                    static_cast<std::size_t>(tables_.wide) * sizeof(std::int32_t));
        all_.steps[i] = 0;
        std::memset(all_.action + cells(i, all_.max_steps), 0,
                    static_cast<std::size_t>(all_.max_steps) * sizeof(std::int32_t));
        // A start that no rule would allow is no solution.
        const Question asked{i, origin, origin, state.clock, false};
        std::int32_t *legal = rows_.legal;
        customer_moves(task_, tables_, state, asked, open(i), legal);
        if (start >= task_.real || !legal[start]) {
            state.done = state.stuck = true;
            return;
        }
        step(task_, tables_, state, start, true, open(i));
        if (!state.done)
            live_[alive_++] = i;
    }

    // One move of every trajectory that is not finished.
    void move(int time) {
        for (int k = 0; k < alive_; ++k) {
            const int i = live_[k];
            const State &state = states_[i];
            answers_[i] = {state.current, NEVER};
            const bool looks = state.current < task_.depots && task_.depots > 1 &&
                               !state.switched && state.left > 0;
            if (!looks) {
                ask({i, state.current, state.origin, state.clock, false}, time);
                continue;
            }
            for (int depot = 0; depot < task_.depots; ++depot)
                ask({i, depot, depot, tables_.opening[depot], true}, time);
        }
        answer_group(time);
        int still = 0;
        for (int k = 0; k < alive_; ++k) {
            const int i = live_[k];
            const int action = answers_[i].choice;
            all_.action[cells(i, all_.max_steps) + static_cast<std::size_t>(time)] = action;
            all_.steps[i] = time + 1;
            step(task_, tables_, states_[i], action, false, open(i));
            if (!states_[i].done)
                live_[still++] = i;
        }
        alive_ = still;
    }

    void ask(const Question &asked, int time) {
        const State &state = states_[asked.trajectory];
        const std::size_t row = cells(rows_.count, tables_.wide);
        std::int32_t *legal = rows_.legal + row;
        int count = customer_moves(task_, tables_, state, asked, open(asked.trajectory), legal);
        if (!asked.looks && may_go_home(task_, state)) {
            legal[asked.base] = -1;
            ++count;
        }
        if (count == 0)
            return; // the vehicle stays
        if (count == 1) {
            int only = 0;
            while (!legal[only])
                ++only;
            note(asked, {only, 0.0f});
            return;
        }
        weigh(task_, tables_, asked, legal, rows_.weight + row);
        rows_.question[rows_.count++] = asked;
        if (rows_.count == GROUP)
            answer_group(time);
    }

    // Where the vehicle could leave from several depots, the surest customer decides.
    void note(const Question &asked, const Answer &answer) {
        Answer &noted = answers_[asked.trajectory];
        if (!asked.looks) {
            noted = answer;
        } else if (answer.sure > noted.sure) {
            const bool here = states_[asked.trajectory].current == asked.here;
            noted = {here ? answer.choice : asked.here, answer.sure};
        }
    }

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
            const bool heated = all_.temperature != nullptr && !asked.looks;
            const float highest =
                make_scores(task_, tables_, asked, rows_.legal + cells(row, tables_.wide),
                            heated ? all_.temperature[i] : 1.0f, match);
            note(asked, choose(task_, tables_, asked, drawn(all_, i, time), highest, match));
        }
        rows_.count = 0;
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
    Tables tables_;
    State *states_;
    Answer *answers_;
    int *live_; // those not yet finished
    int alive_ = 0;
    std::int32_t *open_; // (count, wide) masks: customers that are not closed to a trajectory
    Rows rows_;
};

void decode(const Instance &task, const Trajectories &all, Workspace &space, const Stop &stop) {
    Block(task, all, space).run(stop);
}
