// The choice of a move from its scores: the twin of the choice of decode/rollout.py.
//
// Included like lanes.hpp, after rollout_tables.hpp: once for every set of instructions.

struct Answer {
    int choice;
    float sure = NEVER; // log chance of the likeliest; below all numbers where nothing is legal
    int depot = 0;      // from which it was asked, where several are
};

// The numbers of decode/random_numbers.py; below 0 for the likeliest.
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

// The first node with the highest score.
inline int likeliest(const Instance &task, float highest, const float *scores, int otherwise) {
    for (int j = 0; j < task.real; ++j)
        if (scores[j] >= highest)
            return j;
    return otherwise;
}

// Chances in place of scores, the highest 1; returns their sum.
double make_chances(const Tables &tables, float highest, float *scores) {
    const Floats shift = fill(highest), never = fill(NEVER), zero = fill(0.0f);
    double total = 0.0;
    for (int j = 0; j < tables.wide; j += L) {
        const Floats score = load(scores + j);
        const Floats chance = select(score > never, exponential(score - shift), zero);
        store(scores + j, chance);
        total += static_cast<double>(sum_of(chance));
    }
    return total;
}

// Of a node with the highest score; in this order, as the slow twin: what the last bits decide is
// decided alike.
inline float log_chance(float highest, double total) {
    return highest - (highest + std::log(static_cast<float>(total)));
}

// The node in whose share of all chances the drawn number falls.
int pick(const Tables &tables, float level, double total, const float *chances, int otherwise) {
    const double until = static_cast<double>(std::max(level, 1e-7f)) * total;
    double before = 0.0;
    int picked = otherwise;
    for (int j = 0; j < tables.wide && before < until; j += L) {
        const double with = before + static_cast<double>(sum_of(load(chances + j)));
        // Here, or last of all: no share behind begins below the level.
        const bool last = j + L >= tables.wide;
        if (with < until && !last) {
            before = with;
            continue;
        }
        for (int i = j; i < j + L; ++i)
            if (chances[i] > 0.0f && before < until) {
                picked = i;
                before += static_cast<double>(chances[i]);
            }
    }
    return picked;
}

// The move of a rank, by falling scores, of all legal ones but one; -1 where there is none, or
// where its score is below the least. Of equals the first.
int choose_other(const Instance &task, const float *scores, float least, int avoided, int rank) {
    int chosen = -1;
    float above = std::numeric_limits<float>::infinity();
    for (int taken = 0; taken <= rank; ++taken) {
        int next = -1;
        for (int j = 0; j < task.real; ++j) {
            const bool later = scores[j] < above || (scores[j] == above && j > chosen);
            if (j != avoided && scores[j] > NEVER && later &&
                (next < 0 || scores[j] > scores[next]))
                next = j;
        }
        if (next < 0 || scores[next] < least)
            return -1;
        chosen = next;
        above = scores[next];
    }
    return chosen;
}

// The likeliest node by scores before clipping. The row is used up.
Answer choose_raw(const Instance &task, const Tables &tables, const Question &asked, float highest,
                  float *scores) {
    Answer answer{likeliest(task, highest, scores, asked.here)};
    if (!asked.looks)
        return answer;
    const Floats clip = fill(task.clipping), never = fill(NEVER), zero = fill(0.0f);
    const float top = task.clipping * largest(tangent(fill(highest)));
    double total = 0.0;
    for (int j = 0; j < tables.wide; j += L) {
        const Floats score = load(scores + j);
        const Floats chance = exponential(clip * tangent(score) - fill(top));
        total += static_cast<double>(sum_of(select(score > never, chance, zero)));
    }
    answer.sure = log_chance(top, total);
    return answer;
}
