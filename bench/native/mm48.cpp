// M/M/48 at a load of 0.9 as a textbook writes it: a heap of events, a queue of waiting customers, the standard
// library's random numbers. Prints customers, CPU time and the mean wait in mean services (theory: 0.0776).
//
//   g++ -std=c++20 -O3 -march=native mm48.cpp -o mm48
//   ./mm48 [customers] [seed]

#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <functional>
#include <queue>
#include <random>
#include <vector>

namespace {

constexpr int SERVERS = 48;
constexpr double ARRIVAL_RATE = 43.2;

struct Event {
  double time;
  bool arrival;
  bool operator>(const Event& other) const { return time > other.time; }
};

double cpu_seconds() {
  timespec time;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return time.tv_sec + time.tv_nsec * 1e-9;
}

}  // namespace

int main(int argc, char** argv) {
  const long customers = argc > 1 ? std::atol(argv[1]) : 4'000'000;
  std::mt19937_64 random(argc > 2 ? std::atol(argv[2]) : 1);
  std::exponential_distribution<double> interarrival(ARRIVAL_RATE), service(1.0);
  std::priority_queue<Event, std::vector<Event>, std::greater<>> events;
  std::queue<double> waiting;
  int busy = 0;
  long arrived = 0, served = 0;
  double waited = 0;

  const double begin = cpu_seconds();
  events.push({interarrival(random), true});
  while (!events.empty()) {
    const auto [now, arrival] = events.top();
    events.pop();
    if (arrival) {
      if (++arrived < customers) events.push({now + interarrival(random), true});
      waiting.push(now);
    } else {
      busy--;
      served++;
    }
    if (busy < SERVERS && !waiting.empty()) {
      waited += now - waiting.front();
      waiting.pop();
      busy++;
      events.push({now + service(random), false});
    }
  }
  const double elapsed = cpu_seconds() - begin;
  std::printf("{\"customers\": %ld, \"seconds\": %.4f, \"mean_wait\": %.6f}\n", served, elapsed, waited / served);
}
