// The same services as tasks of the simulated kernel.

import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { simulateServices } from '../src/engine/services.js';
import { encodeServices } from '../src/engine/services-model.js';
import { VtimeError } from '../src/errors.js';
import { resolveServices } from '../src/services/resolve.js';
import { type ServicesInput, servicesSchema } from '../src/services/schema.js';
import { assertNear, runRelease, runServices } from './support/services.js';

type Scheduled = ServicesInput['scheduled'];

const twoTier = (scheduled?: Scheduled) =>
  runRelease('2tier_ngx_8_memc_4', {
    kqps: 80,
    seconds: 0.5,
    ...(scheduled === undefined ? {} : { scheduled }),
  });

// On an ideal machine (no costs) with a CPU for every thread, a thread that gets a call runs at once and is never preempted: the kernel
// adds nothing. Requests take the same times to the nanosecond, but for the order of what happens at one instant.
test('EEVDF with a CPU for each thread gives what dedicated mode gives', async () => {
  const [dedicated, scheduled] = [await twoTier(), await twoTier({ policy: 'eevdf' })];
  assert.is(scheduled.completed, dedicated.completed);
  assertNear('mean', scheduled.latency.mean, dedicated.latency.mean, 1e-4);
  for (const p of [0.5, 0.9, 0.99, 0.999])
    assertNear(`${p}`, scheduled.latency.quantile(p), dedicated.latency.quantile(p), 2e-3);
  for (const [i, { residence }] of scheduled.instances.entries())
    if (residence.count > 0)
      assertNear('residence', residence.mean, dedicated.instances[i].residence.mean, 1e-4);
});

test('two threads a CPU: the tail grows, the work does not', async () => {
  const [dedicated, shared] = [await twoTier(), await twoTier({ policy: 'eevdf', oversubscription: 2 })];
  assert.is(shared.outcome, 'completed');
  assert.is(shared.completed, dedicated.completed);
  assert.ok(shared.latency.quantile(0.99) > 1.5 * dedicated.latency.quantile(0.99));
});

// Four threads of four services, nothing of theirs is shared: each is in a domain of its own, of one CPU, and nothing steals.
test('threads that are not pinned are spread over the domains of their machine', async () => {
  const names = ['a', 'b', 'c', 'd'];
  const { latency, kernel } = await runServices({
    machines: { host: { cores: 8 } },
    models: { work: { stages: { serve: { time: '10ms' } }, paths: { all: { stages: ['serve'] } } } },
    services: Object.fromEntries(
      ['root', ...names].map((name, i) => [
        name,
        { model: 'work', instances: { [`${name}-0`]: { machine: 'host', threads: 1, cores: String(i) } } },
      ]),
    ),
    requests: {
      r: {
        nodes: {
          root: { service: 'root', next: names },
          ...Object.fromEntries(names.map((name) => [name, { service: name, next: ['client'] }])),
        },
      },
    },
    client: { interarrival: '1s', requests: 1 },
    mode: 'scheduled',
    scheduled: { policy: { name: 'domains', domains: 4, steal: 'none' }, pinned: false, oversubscription: 2 },
  });
  assert.is(kernel?.cpus, 4);
  assert.equal([latency.min, latency.max], [20_000_000, 20_000_000]);
});

// Sixteen threads on eight CPUs that are 70 % busy, each with 20 µs at a time: whatever waits has run half a millisecond ago at the latest.
test('idle CPUs leave threads that have just run where they are, unless migration is free', async () => {
  const pulls = async (kernel: NonNullable<Scheduled>['kernel']) => {
    const run = await runServices({
      machines: { host: { cores: 16 } },
      models: {
        work: { stages: { serve: { time: { exponential: '20us' } } }, paths: { all: { stages: ['serve'] } } },
      },
      services: {
        work: { model: 'work', instances: { w: { machine: 'host', threads: 16, cores: '0-15' } } },
      },
      requests: { r: { nodes: { work: { service: 'work', next: ['client'] } } } },
      client: { load: '280000/s' },
      run: { duration: '50ms' },
      mode: 'scheduled',
      scheduled: { policy: 'eevdf', kernel, pinned: false, oversubscription: 2 },
    });
    assert.is(run.outcome, 'completed');
    return (run.kernel?.pulls ?? 0) / run.completed;
  };
  assert.ok((await pulls({})) < 0.01);
  assert.ok((await pulls({ migration_cost: '0s' })) > 0.05);
});

// Two CPUs are left of four. Threads may be on both; interrupts of cores 2 and 3 go to 0 and 1.
test('where threads are not pinned, interrupts still come to CPUs of their own', () => {
  const masksOf = (network: 'realtime' | 'fair') =>
    encodeServices(
      resolveServices(
        servicesSchema.parse({
          machines: { host: { cores: 4, network: { queue_pairs: 2, cores: '2-3', pinning: 'each' } } },
          models: {
            work: { stages: { serve: { time: '1ms' } }, paths: { all: { stages: ['serve'] } } },
            stack: {
              stages: { packet: { time: '1us' } },
              paths: {
                send_local: { stages: ['packet'] },
                send_remote: { stages: ['packet'] },
                receive_remote: { stages: ['packet'] },
              },
            },
          },
          network: { stack: 'stack' },
          services: {
            work: { model: 'work', instances: { w: { machine: 'host', threads: 2, cores: '0-1' } } },
          },
          requests: { r: { nodes: { work: { service: 'work', next: ['client'] } } } },
          client: { load: '300/s' },
          mode: 'scheduled',
          scheduled: { pinned: false, oversubscription: 2, network },
        }),
      ),
    ).masks.filter((mask) => mask !== '');
  assert.equal(masksOf('realtime'), ['0,1', '0', '1']);
  assert.equal(masksOf('fair'), ['0,1']);
});

test('scheduling domains run the same services', async () => {
  const run = await twoTier({ policy: { name: 'domains', domains: 4 }, pinned: false });
  assert.is(run.outcome, 'completed');
  assert.ok(run.latency.mean > 0);
});

// As in bpf-policies.test.ts: the object decides what the native policy decides, so every request takes the same time.
test('a BPF object schedules services as its native policy does', async () => {
  const under = (policy: NonNullable<Scheduled>['policy']) =>
    twoTier({ policy, pinned: false, oversubscription: 2 });
  const native = await under('global-vtime');
  const object = await under({ object: 'bpf/objects/vtime.bpf.o' });
  assert.ok(native.latency.count > 0);
  assert.equal(object.latency, native.latency);
  assert.equal(object.instances, native.instances);
});

test('objects that cannot run are mistakes, not traps', async () => {
  const mistake = async (object: string, settings: object, message: RegExp) => {
    try {
      await twoTier({ policy: { object, ...settings } });
    } catch (error) {
      assert.instance(error, VtimeError);
      assert.is((error as VtimeError).exitCode, 2);
      return assert.match((error as VtimeError).message, message);
    }
    assert.unreachable(object);
  };
  await mistake('nowhere.bpf.o', {}, /nowhere\.bpf\.o: cannot read: ENOENT; expected a BPF object file/);
  await mistake('bpf/objects/vtime.bpf.o', { rodata: { slice_nz: '1ms' } }, /slice_nz/);
  await mistake('bpf/objects/domains.bpf.o', { domains: 4 }, /scheduled\.policy\.domains: groups of CPUs/);
});

// One CPU for the thread of a service and for the interrupts of its machine, 1 ms and 1 ms: M/D/1-like, but interrupts come first. At
// 300/s both use .3 + .3 of it; receiving and sending are one interrupt each here, .2 ms, so a request has 1.4 ms of work in all.
test('interrupts on the CPU of a service delay it', async () => {
  const input = (network: string): ServicesInput => ({
    machines: { host: { cores: 2, network: { queues: 1, cores: network } } },
    models: {
      echo: {
        stages: { serve: { time: '1ms', leaves: 'network' } },
        paths: { all: { stages: ['serve'] } },
      },
      stack: {
        stages: { packet: { time: '200us', leaves: 'network' } },
        paths: {
          send_local: { stages: ['packet'] },
          send_remote: { stages: ['packet'] },
          receive_remote: { stages: ['packet'] },
        },
      },
    },
    network: { stack: 'stack' },
    services: { echo: { model: 'echo', instances: { echo: { machine: 'host', threads: 1, cores: '0' } } } },
    requests: { r: { nodes: { echo: { service: 'echo', next: ['client'] } } } },
    client: { load: '300/s' },
    run: { duration: '20s' },
    mode: 'scheduled',
    scheduled: { policy: 'eevdf' },
  });
  const [apart, together] = [await runServices(input('1')), await runServices(input('0'))];
  assert.is(apart.completed, together.completed);
  assert.ok(together.latency.mean > 1.1 * apart.latency.mean);
  assert.is(apart.latency.min, 1_400_000);
});

test('more cores than the engine has CPUs are refused', async () => {
  const services = servicesSchema.parse({
    machines: { host: { cores: 600 } },
    models: { echo: { stages: { serve: { time: '1ms' } }, paths: { all: { stages: ['serve'] } } } },
    services: { echo: { model: 'echo', instances: { echo: { machine: 'host', threads: 1, cores: '0' } } } },
    requests: { r: { nodes: { echo: { service: 'echo', next: ['client'] } } } },
    client: { load: '300/s' },
    mode: 'scheduled',
  });
  let code: unknown;
  try {
    await simulateServices(resolveServices(services));
  } catch (error) {
    code = error instanceof Error && 'code' in error ? error.code : error;
  }
  assert.is(code, 'services_cpus');
});

test.run();
