// Rollouts of fleets: the twin of env/fleet.py and decode/fleet.py.
//
// Included like lanes.hpp, after rollout_kernel.hpp: once for every set of instructions.

// More than any preference.
constexpr float FIRST_OF_ALL = 1e6f;

// What a partial solution knows of its vehicles.
struct Driving {
    int vehicle, stops;
    float paid;
    bool wished; // the start is still to be visited
};

// The types of vehicles, laid out for the loops.
struct Types {
    float *loads;              // (kinds, wide)
    float *first_leg;          // (types, wide) to whom a vehicle can serve first; inf to others
    std::int32_t *may_serve;   // (types, wide) masks
    std::int32_t *compulsory_; // (wide,) masks
    int *pins;                 // (types,) pinned customers
};

class FleetWalk : Walk {
public:
    FleetWalk(const Instance &task, const Fleet &fleet, const Trajectories &all,
              const Tables &tables, Workspace &space)
        : Walk(task, all, tables, space, bytes(fleet, all.count, tables)), fleet_(fleet),
          decoder_(task, all, tables, states_, answers_, space.block) {
        const std::size_t count = static_cast<std::size_t>(all.count);
        driving_ = taken<Driving>(space.block, count);
        spare_ = taken<std::int64_t>(space.block, cells(all.count, fleet.types));
        used_ = taken<float>(space.block, cells(all.count, fleet.kinds));
        credit_ = taken<float>(space.block, cells(all.count, fleet.kinds));
        types_.loads = taken<float>(space.block, cells(fleet.kinds, tables.wide));
        types_.first_leg = taken<float>(space.block, cells(fleet.types, tables.wide));
        types_.may_serve = taken<std::int32_t>(space.block, cells(fleet.types, tables.wide));
        types_.compulsory_ = taken<std::int32_t>(space.block, cells(1, tables.wide));
        types_.pins = taken<int>(space.block, static_cast<std::size_t>(fleet.types));
        lay_out_types();
    }

    void run(const Stop &stop) {
        for (int i = 0; i < all_.count; ++i) {
            clear(i);
            begin(i);
            all_.origin_out[i] = states_[i].current;
            if (!states_[i].done)
                live_[alive_++] = i;
        }
        for (int time = 0; time < all_.max_steps && alive_ > 0; ++time) {
            if (stop())
                return;
            move(time);
        }
        for (int i = 0; i < all_.count; ++i)
            write_cost(i, driving_[i].paid);
    }

private:
    static std::size_t bytes(const Fleet &fleet, int count, const Tables &tables) {
        const std::size_t each = sizeof(Driving) +
                                 static_cast<std::size_t>(fleet.types) * sizeof(std::int64_t) +
                                 2 * static_cast<std::size_t>(fleet.kinds) * sizeof(float);
        const std::size_t rows = static_cast<std::size_t>(fleet.kinds + 2 * fleet.types + 1);
        return static_cast<std::size_t>(count) * each +
               (rows * static_cast<std::size_t>(tables.wide) +
                static_cast<std::size_t>(fleet.types)) *
                   sizeof(float);
    }

    float *used(int i) { return used_ + cells(i, fleet_.kinds); }
    float *credit(int i) { return credit_ + cells(i, fleet_.kinds); }
    std::int64_t *spare(int i) { return spare_ + cells(i, fleet_.types); }
    int depot_of(int type) const { return static_cast<int>(fleet_.depot[type]); }

    void lay_out_types() {
        const int wide = tables_.wide, real = task_.real;
        for (int kind = 0; kind < fleet_.kinds; ++kind)
            for (int j = 0; j < wide; ++j)
                types_.loads[cells(kind, wide) + static_cast<std::size_t>(j)] =
                    j < real ? fleet_.loads[cells(j, fleet_.kinds) + static_cast<std::size_t>(kind)]
                             : 0.0f;
        for (int j = 0; j < wide; ++j)
            types_.compulsory_[j] = j < real && task_.at(compulsory, j) > 0.0f ? -1 : 0;
        for (int type = 0; type < fleet_.types; ++type) {
            for (int j = 0; j < wide; ++j)
                types_.may_serve[cells(type, wide) + static_cast<std::size_t>(j)] =
                    j < real && fleet_.may_serve[task_.arc(type, j)] ? -1 : 0;
            types_.pins[type] = 0;
            for (int pin = 0; pin < fleet_.pins; ++pin)
                types_.pins[type] +=
                    fleet_.pinned[cells(type, fleet_.pins) + static_cast<std::size_t>(pin)] >= 0
                        ? 1
                        : 0;
        }
        // Apart from who is served already, nothing that happens changes whom a vehicle can serve
        // first. The first trajectory stands in for all.
        for (int type = 0; type < fleet_.types && all_.count > 0; ++type) {
            clear(0);
            driving_[0] = {};
            stand(0, type);
            std::int32_t *legal = decoder_.legal();
            vehicle_moves(0, legal);
            for (int j = 0; j < wide; ++j)
                types_.first_leg[cells(type, wide) + static_cast<std::size_t>(j)] =
                    legal[j] ? task_.distance[task_.arc(depot_of(type), j)]
                             : std::numeric_limits<float>::infinity();
        }
    }

    bool on_pins(int i) const { return driving_[i].stops < types_.pins[driving_[i].vehicle]; }

    bool vehicle_left(int i, int type) {
        return spare(i)[type] > 0 && states_[i].routes < fleet_.max_routes;
    }

    // Masks of the customers that the running vehicle can serve next; returns how many.
    int vehicle_moves(int i, std::int32_t *legal) {
        const State &state = states_[i];
        const int type = driving_[i].vehicle;
        const bool ends_anywhere = fleet_.is_open[type] != 0;
        const std::size_t home = cells(state.origin, tables_.wide);
        const float most = std::numeric_limits<float>::max();
        const Bounds bounds{
            .distances = task_.distance + task_.arc(state.current, 0),
            .durations = task_.duration + task_.arc(state.current, 0),
            .home_distance = ends_anywhere ? nullptr : tables_.home_distance + home,
            .home_duration = ends_anywhere ? nullptr : tables_.home_duration + home,
            .clock = state.clock,
            .home_by = fleet_.back_by[type] + task_.tolerance,
            .length = state.length,
            .longest = fleet_.max_length[type] + task_.tolerance,
            .timed = task_.timed,
            .bounded = fleet_.max_length[type] <= most,
            .missing = task_.missing,
            .free_return = false,
            .barred = task_.is(backhaul_last) && state.backhauled,
        };
        const std::size_t kinds_of_type = cells(type, fleet_.kinds);
        const std::int32_t *serves = types_.may_serve + cells(type, tables_.wide);
        Ints count = {};
        for (int j = 0; j < tables_.wide; j += L) {
            Ints moves = load_mask(open(i) + j) & load_mask(serves + j);
            for (int kind = 0; kind < fleet_.kinds; ++kind) {
                const std::size_t place = kinds_of_type + static_cast<std::size_t>(kind);
                if (fleet_.capacity[place] <= most)
                    moves = moves & load_fits(task_.rule, used(i)[kind], credit(i)[kind],
                                              fleet_.capacity[place], fleet_.load_tolerance[place],
                                              load(types_.loads + cells(kind, tables_.wide) + j));
            }
            moves = trip_fits(tables_, bounds, task_.real, j, moves);
            store_mask(legal + j, moves);
            count = count + moves;
        }
        if (!on_pins(i))
            return count_true(count);
        // Until all pinned customers of the vehicle are served, only the next one.
        const int place = std::min(driving_[i].stops, fleet_.pins - 1);
        const std::int64_t next =
            fleet_.pinned[cells(type, fleet_.pins) + static_cast<std::size_t>(place)];
        const bool can = next >= 0 && next < task_.real && legal[next];
        std::memset(legal, 0, static_cast<std::size_t>(tables_.wide) * sizeof(std::int32_t));
        if (can)
            legal[next] = -1;
        return can ? 1 : 0;
    }

    bool may_return(int i) {
        const State &state = states_[i];
        if (state.current < task_.depots || state.pending != 0 || on_pins(i))
            return false;
        bool another = false;
        for (int type = 0; type < fleet_.types; ++type)
            another = another || vehicle_left(i, type);
        if (!another && !may_finish(task_, state))
            return false;
        const int type = driving_[i].vehicle;
        if (task_.direct || fleet_.is_open[type])
            return true;
        const float distance = task_.distance[task_.arc(state.current, state.origin)];
        const float duration = task_.duration[task_.arc(state.current, state.origin)];
        const float most = std::numeric_limits<float>::max();
        return distance <= most && duration <= most &&
               state.length + distance <= fleet_.max_length[type] + task_.tolerance &&
               state.clock + duration <= fleet_.back_by[type] + task_.tolerance;
    }

    // All legal moves, as this partial solution prefers them; returns how many.
    int moves(int i, std::int32_t *legal) {
        int count = vehicle_moves(i, legal);
        if (all_.owed_first[i]) {
            Ints owed = {};
            for (int j = 0; j < tables_.wide; j += L)
                owed = owed + (load_mask(legal + j) & load_mask(types_.compulsory_ + j));
            const int some = count_true(owed);
            for (int j = 0; some > 0 && j < tables_.wide; j += L)
                store_mask(legal + j, load_mask(legal + j) & load_mask(types_.compulsory_ + j));
            count = some > 0 ? some : count;
        }
        if (!(all_.stays_out[i] && count > 0) && may_return(i)) {
            legal[states_[i].origin] = -1;
            ++count;
        }
        return count;
    }

    // What the decoder sees of the loads: how much of the largest vehicle is taken.
    void show_load(int i) {
        const std::size_t kinds_of_type = cells(driving_[i].vehicle, fleet_.kinds);
        float room = 1.0f;
        for (int kind = 0; kind < fleet_.kinds; ++kind) {
            const float limit = fleet_.capacity[kinds_of_type + static_cast<std::size_t>(kind)];
            if (limit <= std::numeric_limits<float>::max())
                room = std::min(room, (limit - used(i)[kind]) / fleet_.seen_capacity[kind]);
        }
        states_[i].used = std::min(1.0f - room, 1.0f);
    }

    // As if a vehicle of this type stood at its start, ready to leave.
    void stand(int i, int type) {
        State &state = states_[i];
        state.current = state.origin = depot_of(type);
        state.clock = fleet_.leaves_from[type];
        state.length = 0.0f;
        state.backhauled = false;
        driving_[i].vehicle = type;
        driving_[i].stops = 0;
        for (int kind = 0; kind < fleet_.kinds; ++kind)
            used(i)[kind] = credit(i)[kind] = 0.0f;
        show_load(i);
    }

    void begin(int i) {
        driving_[i] = {0, 0, 0.0f, true};
        for (int type = 0; type < fleet_.types; ++type)
            spare(i)[type] = fleet_.count[type];
        for (int kind = 0; kind < fleet_.kinds; ++kind)
            used(i)[kind] = credit(i)[kind] = 0.0f;
        board(i);
    }

    // The way to the nearest customer whom a vehicle of this type can serve first.
    float reach(int i, int type) {
        const Floats never = fill(std::numeric_limits<float>::infinity());
        Floats least = never;
        const float *first_leg = types_.first_leg + cells(type, tables_.wide);
        for (int j = 0; j < tables_.wide; j += L)
            least = smaller(select(load_mask(open(i) + j), load(first_leg + j), never), least);
        return -largest(fill(0.0f) - least);
    }

    // Choose the next vehicle, or finish where none goes.
    void board(int i) {
        State &state = states_[i];
        const int turn = std::min(state.routes, fleet_.routes - 1);
        const float *liked =
            all_.liked + (cells(i, fleet_.routes) + static_cast<std::size_t>(turn)) *
                             static_cast<std::size_t>(fleet_.types);
        const float never = std::numeric_limits<float>::infinity();
        float nearest = never;
        if (all_.nearest[i])
            for (int type = 0; type < fleet_.types; ++type)
                if (vehicle_left(i, type))
                    nearest = std::min(nearest, reach(i, type));
        const float near_enough = nearest * fleet_.slack;
        int best = -1;
        float highest = -never;
        for (int type = 0; type < fleet_.types; ++type) {
            const float away = vehicle_left(i, type) ? reach(i, type) : never;
            if (!(away < never))
                continue;
            // In this order, as the slow twin: large sums have few digits.
            float score = liked[type];
            score += all_.nearest[i] && away <= near_enough ? FIRST_OF_ALL : 0.0f;
            score += types_.pins[type] > 0 ? 2.0f * FIRST_OF_ALL : 0.0f;
            if (best < 0 || score > highest) {
                best = type;
                highest = score;
            }
        }
        if (best >= 0) {
            stand(i, best);
            return;
        }
        state.done = true;
        state.stuck = state.stuck || !may_finish(task_, state);
    }

    void move(int time) {
        for (int k = 0; k < alive_; ++k) {
            const int i = live_[k];
            const State &state = states_[i];
            answers_[i] = {state.current};
            std::int32_t *legal = decoder_.legal();
            const int count = moves(i, legal);
            if (driving_[i].wished && !on_pins(i)) {
                driving_[i].wished = false;
                if (all_.start[i] < task_.real && legal[all_.start[i]]) {
                    answers_[i].choice = static_cast<int>(all_.start[i]);
                    continue;
                }
            }
            decoder_.ask({i, state.current, state.origin, state.clock, false}, count, time);
        }
        decoder_.answer_group(time);
        int still = 0;
        for (int k = 0; k < alive_; ++k) {
            const int i = live_[k];
            write_move(i, time);
            step_vehicle(i, answers_[i].choice);
            if (!states_[i].done)
                live_[still++] = i;
        }
        alive_ = still;
    }

    void step_vehicle(int i, int action) {
        State &state = states_[i];
        const int type = driving_[i].vehicle;
        const bool at_depot = state.current < task_.depots, to_depot = action < task_.depots;
        const bool serves = !to_depot && action != state.current;
        const bool returns = to_depot && !at_depot;
        const float distance = task_.distance[task_.arc(state.current, action)];
        if (serves || (returns && !fleet_.is_open[type]))
            state.travelled += distance;
        if (serves) {
            if (at_depot) {
                spare(i)[type] -= 1;
                driving_[i].paid += fleet_.fixed_cost[type];
            }
            for (int kind = 0; kind < fleet_.kinds; ++kind)
                load_after(
                    task_.rule,
                    types_.loads[cells(kind, tables_.wide) + static_cast<std::size_t>(action)],
                    used(i)[kind], credit(i)[kind]);
            serve(task_, tables_, state, action, distance, open(i));
            driving_[i].stops += 1;
        }
        state.current = action;
        show_load(i);
        if (returns) {
            board(i);
        } else if (!serves) {
            state.done = state.stuck = true;
        }
    }

    const Fleet &fleet_;
    Types types_;
    Driving *driving_;
    std::int64_t *spare_;   // (count, types) vehicles that have not left yet
    float *used_, *credit_; // (count, kinds)
    Decoder decoder_;
};

void decode_fleet(const Instance &task, const Fleet &fleet, const Trajectories &all,
                  Workspace &space, const Stop &stop) {
    const Tables tables = lay_out(task, fleet.penalty, space);
    FleetWalk(task, fleet, all, tables, space).run(stop);
}
