// Trajectories that stand alike: the decoder is asked once for all of them.
//
// Sampled rollouts leave the greedy one late, and routes in another order lead to the same partial
// solution: of a hundred trajectories from 25 starts, a third to three quarters of all questions
// have been asked at the same time already. Included like lanes.hpp, after rollout_tables.hpp: once
// for every set of instructions.

// Whether the next move depends on nothing in which two partial solutions differ; customers that
// are open to them aside.
inline bool stand_alike(const State &a, const State &b) {
    return a.current == b.current && a.origin == b.origin && a.used == b.used &&
           a.credit == b.credit && a.clock == b.clock && a.length == b.length &&
           a.collected == b.collected && a.pending == b.pending && a.routes == b.routes &&
           a.left == b.left && a.linehauls == b.linehauls && a.owed == b.owed &&
           a.backhauled == b.backhauled && a.switched == b.switched;
}

// The trajectories of one move in groups of equals; the first of each leads the others.
class Equals {
public:
    Equals(const Trajectories &all, const Tables &tables, const State *states,
           const std::int32_t *open, Arena &arena)
        : all_(all), wide_(tables.wide), states_(states), open_(open), slots_(slots(all.count)) {
        next_ = taken<std::int32_t>(arena, static_cast<std::size_t>(all.count));
        last_ = taken<std::int32_t>(arena, static_cast<std::size_t>(all.count));
        leader_ = taken<std::int32_t>(arena, static_cast<std::size_t>(slots_));
        salt_ = taken<std::int32_t>(arena, static_cast<std::size_t>(wide_));
        for (int j = 0; j < wide_; ++j)
            salt_[j] = static_cast<std::int32_t>(static_cast<std::uint32_t>(j + 1) * 0x9E3779B1u);
    }

    static std::size_t bytes(const Trajectories &all, const Tables &tables) {
        return static_cast<std::size_t>(2 * all.count + slots(all.count) + tables.wide) *
               sizeof(std::int32_t);
    }

    // Forgets the trajectories of the last move.
    void clear() { std::fill(leader_, leader_ + slots_, -1); }

    // A trajectory that is like no other.
    void add_alone(int i) { next_[i] = -1; }

    // Adds a trajectory; whether it is the first of its group.
    bool add(int i) {
        next_[i] = -1;
        for (std::uint32_t slot = hash(i);; ++slot) {
            std::int32_t &leader = leader_[slot & static_cast<std::uint32_t>(slots_ - 1)];
            if (leader < 0) {
                leader = last_[i] = i;
                return true;
            }
            if (equal(leader, i)) {
                next_[last_[leader]] = i;
                last_[leader] = i;
                return false;
            }
        }
    }

    // The next of its group; below 0 behind the last.
    int next(int i) const { return next_[i]; }

private:
    static int slots(int count) {
        int enough = 2;
        while (enough < 2 * count)
            enough *= 2;
        return enough;
    }

    const std::int32_t *open(int i) const { return open_ + cells(i, wide_ + L); }

    std::uint32_t hash(int i) const {
        const std::int32_t *masks = open(i);
        Ints mixed = {};
        for (int j = 0; j < wide_; j += L)
            mixed = mixed + (load_mask(masks + j) & load_mask(salt_ + j));
        std::int32_t each[L];
        store_mask(each, mixed);
        std::uint32_t word = static_cast<std::uint32_t>(states_[i].current) * 0x85EBCA77u;
        for (int k = 0; k < L; ++k)
            word += static_cast<std::uint32_t>(each[k]);
        word = (word ^ (word >> 15)) * 0x2C1B3C6Du;
        return word ^ (word >> 16);
    }

    bool equal(int a, int b) const {
        const bool as_hot =
            all_.temperature == nullptr || all_.temperature[a] == all_.temperature[b];
        return as_hot && stand_alike(states_[a], states_[b]) &&
               std::memcmp(open(a), open(b),
                           static_cast<std::size_t>(wide_) * sizeof(std::int32_t)) == 0;
    }

    const Trajectories &all_;
    int wide_;
    const State *states_;
    const std::int32_t *open_;   // (count, wide + L)
    int slots_;                  // a power of 2
    std::int32_t *next_, *last_; // (count,) within a group; the last is known of leaders only
    std::int32_t *leader_;       // (slots,) by hash; below 0 where there is none
    std::int32_t *salt_;         // (wide,)
};
