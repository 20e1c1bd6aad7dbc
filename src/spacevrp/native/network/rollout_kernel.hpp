// Rollouts where all vehicles are alike.
//
// Included like lanes.hpp, after lists_kernel.hpp: once for every set of instructions.

// What all rollouts have.
class Walk {
public:
    Walk(const Instance &task, const Trajectories &all, const Tables &tables, Workspace &space,
         std::size_t more = 0)
        : task_(task), all_(all), tables_(tables) {
        const std::size_t count = static_cast<std::size_t>(all.count);
        const std::size_t wide = static_cast<std::size_t>(tables_.wide);
        const std::size_t each = sizeof(State) + sizeof(Answer) + sizeof(int);
        space.block.reset(count * (each + (wide + L) * sizeof(std::int32_t)) +
                          Decoder::bytes(tables_) + more);
        states_ = taken<State>(space.block, count);
        answers_ = taken<Answer>(space.block, count);
        live_ = taken<int>(space.block, count);
        open_ = taken<std::int32_t>(space.block, count * (wide + L));
    }

protected:
    // Masks of the customers that are not closed to a trajectory, and one behind that is.
    std::int32_t *open(int trajectory) { return open_ + cells(trajectory, tables_.wide + L); }

    // A partial solution in which nothing has happened yet.
    State untouched() const {
        State state{};
        state.skipped = tables_.penalties;
        state.left = static_cast<int>(task_.own[customers]);
        state.linehauls = static_cast<int>(task_.own[linehauls]);
        state.owed = static_cast<int>(task_.own[compulsories]);
        return state;
    }

    void clear(int i) {
        states_[i] = untouched();
        std::memcpy(open(i), tables_.open_at_first,
                    static_cast<std::size_t>(tables_.wide) * sizeof(std::int32_t));
        open(i)[tables_.wide] = 0;
        all_.steps[i] = 0;
        std::memset(all_.action + cells(i, all_.max_steps), 0,
                    static_cast<std::size_t>(all_.max_steps) * sizeof(std::int32_t));
    }

    void write_move(int i, int time) {
        all_.action[cells(i, all_.max_steps) + static_cast<std::size_t>(time)] = answers_[i].choice;
        all_.steps[i] = time + 1;
    }

    void write_cost(int i, float paid) {
        const State &state = states_[i];
        const bool unchanged = all_.turn != nullptr && all_.steps[i] <= all_.turn[i];
        const bool failed = state.stuck || !state.done || unchanged;
        const float skipped = static_cast<float>(state.skipped);
        const float cost =
            task_.is(orienteering) ? -state.collected : state.travelled + paid + skipped;
        all_.cost[i] = failed ? std::numeric_limits<float>::infinity() : cost;
    }

    const Instance &task_;
    const Trajectories &all_;
    const Tables &tables_;
    State *states_;
    Answer *answers_;
    int *live_; // those not yet finished
    int alive_ = 0;
    std::int32_t *open_; // (count, wide + L)
};

class AlikeWalk : Walk {
public:
    AlikeWalk(const Instance &task, const Trajectories &all, const Tables &tables, Workspace &space)
        : Walk(task, all, tables, space,
               FromList::bytes(task, tables) + Equals::bytes(all, tables) +
                   static_cast<std::size_t>(all.count) * sizeof(int)),
          equals_(all, tables, states_, open_, space.block),
          decoder_(task, all, tables, states_, answers_, space.block, &equals_),
          lists_(task, tables, space.block),
          asking_(taken<int>(space.block, static_cast<std::size_t>(all.count))) {}

    void run(const Stop &stop) {
        for (int i = 0; i < all_.count; ++i)
            begin(i);
        for (int time = 0; time < all_.max_steps && alive_ > 0; ++time) {
            if (stop())
                return;
            move(time);
        }
        for (int i = 0; i < all_.count; ++i)
            write_cost(i, 0.0f);
    }

private:
    void begin(int i) {
        clear(i);
        State &state = states_[i];
        const int start = static_cast<int>(all_.start[i]);
        state.current = state.origin = static_cast<int>(all_.origin[i]);
        state.clock = tables_.opening[state.origin];
        state.used = used_at_depot(task_, state.linehauls);
        // A start that no rule would allow is no solution.
        std::int32_t *legal = decoder_.legal();
        const Question asked{i, state.origin, state.origin, state.clock, false};
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
        equals_.clear();
        int asking = 0;
        for (int k = 0; k < alive_; ++k) {
            const int i = live_[k];
            answers_[i] = {states_[i].current};
            if (all_.turn != nullptr && time < all_.turn[i]) {
                answers_[i].choice = decoder_.planned(i, time);
                continue;
            }
            if (leads(i, time))
                asking_[asking++] = i;
        }
        // Now that all equals are known: the decoder answers as soon as it has questions enough.
        for (int k = 0; k < asking; ++k)
            ask_for(asking_[k], time);
        decoder_.answer_group(time);
        int still = 0;
        for (int k = 0; k < alive_; ++k) {
            const int i = live_[k];
            if (all_.turn != nullptr && time == all_.turn[i] && !deviates(i, time)) {
                states_[i].done = states_[i].stuck = true;
                continue;
            }
            write_move(i, time);
            step(task_, tables_, states_[i], answers_[i].choice, false, open(i));
            if (!states_[i].done)
                live_[still++] = i;
        }
        alive_ = still;
    }

    // Whether no other asks the same. From candidate lists each chooses on its own, and so does who
    // leaves a plan now.
    bool leads(int i, int time) {
        const bool leaves = all_.turn != nullptr && time == all_.turn[i];
        if (task_.lists.near == nullptr && !leaves)
            return equals_.add(i);
        equals_.add_alone(i);
        return true;
    }

    void ask_for(int i, int time) {
        const State &state = states_[i];
        if (task_.lists.near != nullptr) {
            const int choice = lists_.move(state, open(i));
            if (choice >= 0) {
                answers_[i].choice = choice;
                return;
            }
        }
        const bool looks =
            state.current < task_.depots && task_.depots > 1 && !state.switched && state.left > 0;
        if (!looks) {
            ask({i, state.current, state.origin, state.clock, false}, time);
            return;
        }
        for (int depot = 0; depot < task_.depots; ++depot)
            ask({i, depot, depot, tables_.opening[depot], true}, time);
    }

    // Whether the move chosen at its turn is another than the plan's. A change of depots is not: it
    // was compared with all others already.
    bool deviates(int i, int time) const {
        const int choice = answers_[i].choice, here = states_[i].current;
        const bool switches = here < task_.depots && choice < task_.depots && choice != here;
        return choice >= 0 && choice != decoder_.planned(i, time) && !switches;
    }

    void ask(const Question &asked, int time) {
        const State &state = states_[asked.trajectory];
        std::int32_t *legal = decoder_.legal();
        int count = customer_moves(task_, tables_, state, asked, open(asked.trajectory), legal);
        if (!asked.looks && may_go_home(task_, state)) {
            legal[asked.base] = -1;
            ++count;
        }
        decoder_.ask(asked, count, time);
    }

    Equals equals_;
    Decoder decoder_;
    FromList lists_;
    int *asking_; // (count,)
};

void decode(const Instance &task, const Trajectories &all, Workspace &space, const Stop &stop) {
    const float *penalties_of_nodes = task.node + task.arc(penalty, 0);
    const Tables tables = lay_out(task, penalties_of_nodes, space);
    AlikeWalk(task, all, tables, space).run(stop);
}
