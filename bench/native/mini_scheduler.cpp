// The workload of examples/mini-scheduler.yaml, written down as directly as it can be: the floor that the engine's time
// per event is held against. One loop over the earliest of three: the winner tree of the CPUs (6 levels), the winner tree
// of the sleeping tasks (11 levels), and a cursor over the sorted arrivals.
//
// It draws the engine's random numbers (assembly/core/random.ts) and takes the same decisions in the same order; the
// digest over all of them is equal. Arrival times are drawn before the clock starts, which the engine does as it goes.
//
//   g++ -std=c++20 -O3 -march=native mini_scheduler.cpp -o mini_scheduler
//   ./mini_scheduler [horizon in ns] [seed]

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <vector>

using u8 = std::uint8_t;
using u32 = std::uint32_t;
using u64 = std::uint64_t;
using i64 = std::int64_t;
using u128 = unsigned __int128;

namespace {

// ---- the workload, as in examples/mini-scheduler.yaml ----------------------------------------------------------

constexpr u32 CPUS = 48;
constexpr u32 DOMAINS = 8;
constexpr u32 DOMAIN_CPUS = CPUS / DOMAINS;
constexpr u64 SLICE_NS = 3'000'000;
/** What a task whose slice is over gets when nothing else waits: SCX_SLICE_DFL. */
constexpr u64 SLICE_DEFAULT_NS = 20'000'000;
constexpr u32 CLOSED = 2000;
constexpr u64 SLEEP_NS = 100'000'000;
constexpr u64 SERVICE_NS = 2'000'000;
constexpr u64 JOB_SERVICE_NS = 1'000'000;
constexpr u64 INTERARRIVAL_NS = 200'000;
constexpr u64 MAX_ARRIVALS = 1'000'000;
constexpr u32 MAX_ALIVE = 4096;
struct Group {
  u32 count;
  u32 inverse_weight;
};
constexpr Group GROUPS[] = {{400, 2048}, {400, 512}, {1200, 1024}};

// ---- random numbers: assembly/core/random.ts -------------------------------------------------------------------

constexpr u64 GOLDEN = 0x9e3779b97f4a7c15;
constexpr u64 LN2_Q32 = 2977044472;
constexpr u32 PURPOSE_ARRIVAL = 1;
constexpr u32 PURPOSE_PROGRAM = 4;
/** Task templates are numbered behind the arrival sources. */
constexpr u32 TEMPLATE_SOURCE = 0x10000;

u64 ln_table[1025];

u64 mix64(u64 x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}
u64 stream_key(u64 seed, u32 purpose, u32 source) {
  return mix64(mix64(seed + GOLDEN) ^ (u64{purpose} << 32 | source));
}
u64 entity_key(u64 stream, u64 ordinal) { return mix64(stream + (ordinal + 1) * GOLDEN); }

/** Draw number `index` of an entity from the exponential distribution. */
u64 exponential(u64 mean, u64 key, u64 index) {
  const u64 r = mix64(key + (index + 1) * GOLDEN);
  const u64 c = std::countl_zero(r | 1);
  const u64 m = r << c << 1;
  const u64 low = ln_table[m >> 54];
  const u64 step = ln_table[(m >> 54) + 1] - low;
  const u64 e = (c + 1) * LN2_Q32 - (low + (step * (m >> 22 & 0xffffffff) >> 32));
  return static_cast<u64>(u128{mean} * e >> 32);
}

// ---- statistics ------------------------------------------------------------------------------------------------

/** Log-linear: exact below 1024, then 512 buckets per octave. */
struct Histogram {
  u64 count = 0, sum = 0, min = ~u64{0}, max = 0;
  u64 buckets[56 * 512] = {};

  void record(u64 value) {
    count++;
    sum += value;
    if (value < min) min = value;
    if (value > max) max = value;
    const u32 shift = 54 - std::countl_zero(value | 512);
    buckets[(shift << 9) + static_cast<u32>(value >> shift)]++;
  }
};

// ---- state -----------------------------------------------------------------------------------------------------

constexpr u64 NEVER = ~u64{0};

/** Leaf i at LEAVES + i, each inner node the smaller of its children, the winner at 1. */
template <u32 LEAVES>
struct WinnerTree {
  u64 node[2 * LEAVES];

  WinnerTree() {
    for (u64& k : node) k = NEVER;
  }
  u64 first() const { return node[1]; }
  void set(u32 leaf, u64 key) {
    u32 i = LEAVES + leaf;
    node[i] = key;
#pragma GCC unroll 16
    for (u32 n = LEAVES; n > 1; n >>= 1) {
      const u64 other = node[i ^ 1];
      key = key < other ? key : other;
      i >>= 1;
      node[i] = key;
    }
  }
};

constexpr u32 CPU_BITS = 6;
constexpr u32 SLOT_BITS = 12;
constexpr u32 SLOTS = 8192;

struct Task {
  i64 vtime;
  u64 work;  // left of its service, ns; 0: the next service is yet to be drawn
  u64 key;   // of its draws
  u64 woken_at;
  u32 draw;
  u32 inverse_weight;
  u32 next_free;
  u8 cpu;  // where it ran last
  u8 domain;
  bool woken;    // has not run since its wake-up
  bool started;  // the service of `work` has been drawn
};

struct Cpu {
  u64 begin;  // of the stay of its task
  u64 timed;  // the task's work is what was left at this time
  u32 task;   // 0 = idle
};

/** Waiting tasks, the head at the end; first in first out among equal vtimes. Queues are short: a scan beats a heap. */
struct Dsq {
  struct Waiting {
    i64 vtime;
    u32 task;
  };
  u32 nr = 0;
  Waiting waiting[SLOTS];

  void insert(i64 vtime, u32 task) {
    u32 i = nr++;
    while (i > 0 && waiting[i - 1].vtime <= vtime) {
      waiting[i] = waiting[i - 1];
      i--;
    }
    waiting[i] = {vtime, task};
  }
  u32 pop() { return waiting[--nr].task; }
};

WinnerTree<1 << CPU_BITS> cpu_tree;
WinnerTree<2048> timer_tree;
Task tasks[SLOTS];
Cpu cpus[CPUS];
Dsq dsqs[DOMAINS];
i64 vtime_now[DOMAINS];
u64 idle = (u64{1} << CPUS) - 1;
u64 now = 0;
u64 digest = 0;
u64 steals = 0, preemptions = 0, completed = 0, dropped = 0;
u32 free_slot = 0, slots_used = 1, alive = 0;
Histogram waits, responses;

constexpr u64 WAKE = 1, RUN = 2, STOP = 3;

void note(u64 decision, u32 cpu, u32 task) {
  u64 h = (digest ^ now) * 0x9e3779b97f4a7c15;
  h = (h ^ (h >> 29) ^ (decision << 56 | u64{cpu} << 32 | task)) * 0xbf58476d1ce4e5b9;
  digest = h ^ (h >> 32);
}

// ---- the scheduler ---------------------------------------------------------------------------------------------

constexpr u64 domain_mask(u32 domain) { return ((u64{1} << DOMAIN_CPUS) - 1) << (domain * DOMAIN_CPUS); }

/** An idle CPU for a waking task: its last one if idle, else the lowest, in its own domain, else in the lowest other. */
u32 pick_idle(u32 prev, u32 domain) {
  u64 candidates = idle & domain_mask(domain);
  if (candidates == 0) candidates = idle & domain_mask(std::countr_zero(idle) / DOMAIN_CPUS);
  return candidates >> prev & 1 ? prev : std::countr_zero(candidates);
}

/** A waking task's credit is at most one slice. */
void raise(Task& task) {
  const i64 floor = vtime_now[task.domain] - static_cast<i64>(SLICE_NS);
  if (task.vtime < floor) task.vtime = floor;
}

void set_completion(u32 cpu, u64 work, u64 slice) {
  cpu_tree.set(cpu, (now + (work < slice ? work : slice)) << CPU_BITS | cpu);
}

/** Gives the CPU to a task that has something to run. */
void start(u32 cpu, u32 slot) {
  Task& task = tasks[slot];
  if (task.vtime > vtime_now[task.domain]) vtime_now[task.domain] = task.vtime;
  if (task.woken) {
    task.woken = false;
    waits.record(now - task.woken_at);
  }
  task.cpu = cpu;
  note(RUN, cpu, slot);
  if (!task.started) {
    task.started = true;
    task.work = exponential(slot <= CLOSED ? SERVICE_NS : JOB_SERVICE_NS, task.key, task.draw++);
  }
  cpus[cpu] = {now, now, slot};
  set_completion(cpu, task.work, SLICE_NS);
}

/** Takes what a free CPU runs next out of its queue: its domain's head, else that of the longest other; 0 if none waits. */
u32 dispatch(u32 cpu) {
  Dsq& own = dsqs[cpu / DOMAIN_CPUS];
  if (own.nr != 0) return own.pop();
  u32 longest = 0;
  for (u32 d = 1; d < DOMAINS; d++) {
    if (dsqs[d].nr > dsqs[longest].nr) longest = d;
  }
  if (dsqs[longest].nr == 0) return 0;
  steals++;
  return dsqs[longest].pop();
}

void charge(Task& task, u64 stint) { task.vtime += static_cast<i64>(stint * task.inverse_weight >> 10); }

void run_next(u32 cpu) {
  if (const u32 next = dispatch(cpu)) {
    start(cpu, next);
  } else {
    cpus[cpu].task = 0;
    idle |= u64{1} << cpu;
    cpu_tree.set(cpu, NEVER);
  }
}

void wake(u32 slot) {
  Task& task = tasks[slot];
  raise(task);
  task.woken = true;
  task.woken_at = now;
  if (idle == 0) {
    note(WAKE, task.cpu, slot);
    dsqs[task.domain].insert(task.vtime, slot);
    return;
  }
  const u32 cpu = pick_idle(task.cpu, task.domain);
  idle &= ~(u64{1} << cpu);
  note(WAKE, cpu, slot);
  start(cpu, slot);
}

void sleep(u32 slot) {
  Task& task = tasks[slot];
  timer_tree.set(slot, (now + exponential(SLEEP_NS, task.key, task.draw++)) << SLOT_BITS | slot);
}

/** A closed task begins by sleeping: it takes a CPU at time 0 for no time. */
void first_wake(u32 slot) {
  Task& task = tasks[slot];
  const u32 cpu = pick_idle(task.cpu, task.domain);
  task.cpu = cpu;
  note(WAKE, cpu, slot);
  waits.record(0);
  note(RUN, cpu, slot);
  responses.record(0);
  sleep(slot);
  note(STOP, cpu, slot);
}

void complete(u32 cpu, u32 slot) {
  Task& task = tasks[slot];
  responses.record(now - task.woken_at);
  charge(task, now - cpus[cpu].begin);
  task.started = false;
  if (slot <= CLOSED) {
    sleep(slot);
  } else {
    task.next_free = free_slot;
    free_slot = slot;
    alive--;
    completed++;
  }
  note(STOP, cpu, slot);
  run_next(cpu);
}

void slice_over(u32 cpu, u32 slot) {
  Task& task = tasks[slot];
  const u32 next = dispatch(cpu);
  if (next == 0) {
    cpus[cpu].timed = now;
    set_completion(cpu, task.work, SLICE_DEFAULT_NS);
    return;
  }
  preemptions++;
  note(STOP, cpu, slot);
  charge(task, now - cpus[cpu].begin);
  raise(task);
  dsqs[task.domain].insert(task.vtime, slot);
  start(cpu, next);
}

void arrive(u64 ordinal, u64 stream) {
  if (alive >= MAX_ALIVE) {
    dropped++;
    return;
  }
  alive++;
  u32 slot = free_slot;
  if (slot != 0) free_slot = tasks[slot].next_free;
  else slot = slots_used++;
  Task& task = tasks[slot];
  task.key = entity_key(entity_key(stream, ordinal), 0);
  task.draw = 0;
  task.inverse_weight = 1024;
  task.cpu = ordinal % CPUS;
  task.domain = ordinal % DOMAINS;
  task.started = false;
  task.vtime = vtime_now[task.domain];
  wake(slot);
}

std::vector<u64> arrival_times(u64 seed, u64 horizon) {
  const u64 key = entity_key(stream_key(seed, PURPOSE_ARRIVAL, 0), 0);
  std::vector<u64> times;
  times.reserve(MAX_ARRIVALS + 1);
  u64 time = 0;
  for (u64 i = 0; i < MAX_ARRIVALS; i++) {
    time += exponential(INTERARRIVAL_NS, key, i);
    if (time > horizon) break;
    times.push_back(time);
  }
  times.push_back(NEVER);
  return times;
}

void make_closed_tasks(u64 seed) {
  u32 group_number = 0;
  for (const auto [count, inverse_weight] : GROUPS) {
    const u64 stream = stream_key(seed, PURPOSE_PROGRAM, TEMPLATE_SOURCE + group_number++);
    for (u32 i = 0; i < count; i++) {
      const u32 slot = slots_used++;
      Task& task = tasks[slot];
      task.key = entity_key(stream, i);
      task.inverse_weight = inverse_weight;
      task.cpu = i % CPUS;
      task.domain = i % DOMAINS;
    }
  }
}

u64 run(u64 horizon, u64 seed, const std::vector<u64>& arrivals) {
  const u64 jobs = stream_key(seed, PURPOSE_PROGRAM, 0);
  u64 events = CLOSED;
  for (u32 slot = 1; slot <= CLOSED; slot++) first_wake(slot);
  const u64* arrival = arrivals.data();
  for (;; events++) {
    // At equal times: arrival, then completion, then wake-up; among equals the lowest CPU or slot.
    const u64 cpu_key = cpu_tree.first();
    const u64 timer_key = timer_tree.first();
    const u64 cpu_time = cpu_key >> CPU_BITS;
    const u64 timer_time = timer_key >> SLOT_BITS;
    const u64 arrival_time = *arrival;
    if (arrival_time <= cpu_time && arrival_time <= timer_time) {
      if (arrival_time > horizon) break;
      now = arrival_time;
      arrive(arrival - arrivals.data(), jobs);
      arrival++;
    } else if (cpu_time <= timer_time) {
      if (cpu_time > horizon) break;
      now = cpu_time;
      const u32 cpu = cpu_key & ((1 << CPU_BITS) - 1);
      const u32 slot = cpus[cpu].task;
      Task& task = tasks[slot];
      task.work -= now - cpus[cpu].timed;
      if (task.work == 0) complete(cpu, slot);
      else slice_over(cpu, slot);
    } else {
      if (timer_time > horizon) break;
      now = timer_time;
      const u32 slot = timer_key & ((1 << SLOT_BITS) - 1);
      timer_tree.set(slot, NEVER);
      wake(slot);
    }
  }
  return events;
}

double cpu_ns() {
  timespec time;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return time.tv_sec * 1e9 + time.tv_nsec;
}

}  // namespace

int main(int argc, char** argv) {
  const u64 horizon = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 200'000'000'000;
  const u64 seed = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 1;
  for (u32 i = 0; i <= 1024; i++) ln_table[i] = static_cast<u64>(std::log(1.0 + i / 1024.0) * 4294967296.0 + 0.5);
  const std::vector<u64> arrivals = arrival_times(seed, horizon);
  make_closed_tasks(seed);
  const double begin = cpu_ns();
  const u64 events = run(horizon, seed, arrivals);
  const double elapsed = cpu_ns() - begin;
  std::printf(
      "{\"events\": %llu, \"ns_per_event\": %.3f, \"digest\": \"%016llx\", \"completed\": %llu, \"dropped\": %llu, "
      "\"steals\": %llu, \"preemptions\": %llu, \"wait\": {\"count\": %llu, \"sum_ns\": \"%llu\"}, "
      "\"response\": {\"count\": %llu, \"sum_ns\": \"%llu\"}}\n",
      (unsigned long long)events, elapsed / events, (unsigned long long)digest, (unsigned long long)completed,
      (unsigned long long)dropped, (unsigned long long)steals, (unsigned long long)preemptions,
      (unsigned long long)waits.count, (unsigned long long)waits.sum, (unsigned long long)responses.count,
      (unsigned long long)responses.sum);
}
