// Rules and steps where all vehicles are alike: the twin of env/environment.py, the same float32
// operations in the same order.
//
// Included like lanes.hpp, after rollout_tables.hpp: once for every set of instructions.

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

// What binds a vehicle beside its load, and where it stands.
struct Bounds {
    const float *distances, *durations;         // from where it is
    const float *home_distance, *home_duration; // to where it ends; none where that is anywhere
    float clock, home_by, length, longest;      // the limits with what is forgiven
    bool timed, bounded, missing;               // rules that can forbid anything at all
    bool free_return;                           // no limit minds the way home
    bool barred;                                // no deliveries after a backhaul
};

// Of some customers, those whom these bounds allow.
inline Ints trip_fits(const Tables &tables, const Bounds &bounds, int real, int j, Ints moves) {
    const Floats most = fill(std::numeric_limits<float>::max()), zero = fill(0.0f);
    if (bounds.barred)
        moves = moves & (load(tables.demand + j) <= zero);
    if (bounds.timed) {
        const Floats arrival = fill(bounds.clock) + load_some(bounds.durations + j, real - j);
        moves = moves & (arrival <= load(tables.closing + j));
        if (!bounds.free_return) {
            const Floats begin = larger(arrival, load(tables.opening + j));
            Floats back = begin + load(tables.service + j);
            if (bounds.home_duration != nullptr)
                back = back + load(bounds.home_duration + j);
            moves = moves & (back <= fill(bounds.home_by));
        }
    }
    if (bounds.bounded) {
        Floats whole = fill(bounds.length) + load_some(bounds.distances + j, real - j);
        if (!bounds.free_return && bounds.home_distance != nullptr)
            whole = whole + load(bounds.home_distance + j);
        moves = moves & (whole <= fill(bounds.longest));
    }
    if (bounds.missing) {
        moves = moves & (load_some(bounds.distances + j, real - j) <= most) &
                (load_some(bounds.durations + j, real - j) <= most);
        if (!bounds.free_return && bounds.home_distance != nullptr)
            moves = moves & (load(bounds.home_distance + j) <= most) &
                    (load(bounds.home_duration + j) <= most);
    }
    return moves;
}

// Of customers with these goods, those that still fit; see env/load.py.
inline Ints load_fits(LoadRule rule, float used_now, float credit_now, float capacity_here,
                      float forgiven, const Floats &goods) {
    const Floats used = fill(used_now), credit = fill(credit_now), zero = fill(0.0f);
    const Floats room = fill(capacity_here + forgiven), above = used + goods;
    switch (rule) {
    case LoadRule::single:
        return larger(above, zero) + larger(credit - goods, zero) <= room;
    case LoadRule::paper:
        return (above <= room) & (above >= fill(-forgiven));
    case LoadRule::separate: {
        const Floats gathered = credit + larger(zero - goods, zero);
        return select(goods > zero, above, larger(used, gathered)) <= room;
    }
    default:
        return used - goods <= room;
    }
}

// The two running numbers of a load after serving a customer.
inline void load_after(LoadRule rule, float goods, float &used, float &credit) {
    const float above = used + goods, gathered = credit + std::max(-goods, 0.0f);
    switch (rule) {
    case LoadRule::single:
        used = std::max(above, 0.0f);
        credit = std::max(credit - goods, 0.0f);
        break;
    case LoadRule::paper:
        used = above;
        break;
    case LoadRule::separate:
        used = goods > 0.0f ? above : std::max(used, gathered);
        credit = gathered;
        break;
    case LoadRule::paired:
        used -= goods;
        break;
    }
}

// Masks of the customers that can be served next; returns how many these are.
int customer_moves(const Instance &task, const Tables &tables, const State &state,
                   const Question &asked, const std::int32_t *open, std::int32_t *legal) {
    const bool at_depot = asked.here < task.depots, has_depot = task.depots > 0;
    if (at_depot && !(static_cast<float>(state.routes) < task.own[max_routes])) {
        std::memset(legal, 0, static_cast<std::size_t>(tables.wide) * sizeof(std::int32_t));
        return 0;
    }
    const std::size_t home = has_depot ? cells(asked.base, tables.wide) : 0;
    const Bounds bounds{
        .distances = task.distance + task.arc(asked.here, 0),
        .durations = task.duration + task.arc(asked.here, 0),
        .home_distance = tables.home_distance + home,
        .home_duration = tables.home_duration + home,
        .clock = asked.clock,
        .home_by = has_depot ? tables.closing[asked.base] : 0.0f,
        .length = state.length,
        .longest = task.own[max_length] + task.tolerance,
        .timed = task.timed,
        .bounded = task.is(bounded),
        .missing = task.missing,
        .free_return = task.free_return,
        .barred = task.is(backhaul_last) && state.backhauled,
    };
    const bool loaded = task.is(limited) || task.rule == LoadRule::paper;
    Ints count = {};
    for (int j = 0; j < tables.wide; j += L) {
        Ints moves = load_mask(open + j);
        if (loaded)
            moves = moves & load_fits(task.rule, state.used, state.credit, task.own[capacity],
                                      task.own[load_tolerance], load(tables.demand + j));
        moves = trip_fits(tables, bounds, task.real, j, moves);
        store_mask(legal + j, moves);
        count = count + moves;
    }
    return count_true(count);
}

// What serving a customer changes beside the load; `distance` is the way there.
inline void serve(const Instance &task, const Tables &tables, State &state, int action,
                  float distance, std::int32_t *open) {
    const bool from_depot = state.current < task.depots;
    const float goods = tables.demand[action];
    const float arrival = state.clock + task.duration[task.arc(state.current, action)];
    state.clock = std::max(arrival, tables.opening[action]) + tables.service[action];
    state.length += distance;
    state.collected += task.at(prize, action);
    state.skipped -= static_cast<double>(tables.penalty[action]);
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
        load_after(task.rule, tables.demand[action], state.used, state.credit);
        serve(task, tables, state, action, distance, open);
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
