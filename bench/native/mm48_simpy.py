"""M/M/48 at a load of 0.9 in SimPy, as its documentation does it: a process per customer and a Resource.

Usage: mm48_simpy.py [customers] [seed]. Prints customers, CPU time and the mean wait in mean services (theory: 0.0776).
"""

import json
import random
import sys
import time

import simpy

SERVERS = 48
ARRIVAL_RATE = 43.2


def customer(env, servers, draw, waits):
    arrival = env.now
    with servers.request() as request:
        yield request
        waits.append(env.now - arrival)
        yield env.timeout(draw(1.0))


def source(env, servers, draw, customers, waits):
    for _ in range(customers):
        yield env.timeout(draw(ARRIVAL_RATE))
        env.process(customer(env, servers, draw, waits))


def main():
    customers = int(sys.argv[1]) if len(sys.argv) > 1 else 200_000
    draw = random.Random(int(sys.argv[2]) if len(sys.argv) > 2 else 1).expovariate
    env = simpy.Environment()
    waits = []
    env.process(source(env, simpy.Resource(env, SERVERS), draw, customers, waits))
    begin = time.process_time()
    env.run()
    seconds = time.process_time() - begin
    version = f"{simpy.__version__}, Python {sys.version.split()[0]}"
    print(json.dumps({"customers": len(waits), "seconds": seconds, "mean_wait": sum(waits) / len(waits), "version": version}))


main()
