// Work on several threads, while the one that began it goes on listening to the caller.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

namespace spacevrp {

// Runs `work` on so many threads, this one included, and returns when all are done. Until then
// `poll` is called here, whenever this thread has nothing else to do. Neither may throw.
template <class Work, class Poll> void side_by_side(int count, const Work &work, const Poll &poll) {
    std::mutex mutex;
    std::condition_variable done;
    int running = 0;
    std::vector<std::thread> others;
    for (int i = 1; i < count; ++i) {
        {
            const std::lock_guard<std::mutex> guard(mutex);
            ++running;
        }
        try {
            others.emplace_back([&] {
                work();
                const std::lock_guard<std::mutex> guard(mutex);
                --running;
                done.notify_one();
            });
        } catch (const std::system_error &) { // no more threads: those there are do it all
            const std::lock_guard<std::mutex> guard(mutex);
            --running;
            break;
        }
    }
    work();
    std::unique_lock<std::mutex> lock(mutex);
    while (!done.wait_for(lock, std::chrono::milliseconds(20), [&] { return running == 0; })) {
        lock.unlock();
        poll();
        lock.lock();
    }
    lock.unlock();
    for (std::thread &thread : others)
        thread.join();
}

} // namespace spacevrp
