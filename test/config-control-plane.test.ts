// The control plane's part of a config: defaults, whose key is whose, and what excludes what.

import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { configFrom } from '../src/config/load.js';
import { ConfigError } from '../src/config/mistakes.js';
import { resolveConfig } from '../src/config/resolve.js';
import { checkStaticMap, staticDomain } from '../src/engine/controlplane.js';
import { simulate, VtimeError } from '../src/index.js';

const config = (serverless: object, policy: unknown = 'domains:8') =>
  resolveConfig(
    configFrom({ policy, workload: { serverless: { trace: 'azure2019-28', ...serverless } } } as Parameters<
      typeof configFrom
    >[0]),
  ).workload.serverless!;

function mistakesOf(serverless: object, policy?: unknown): string[] {
  try {
    config(serverless, policy);
  } catch (error) {
    assert.instance(error, ConfigError);
    return (error as Error).message.split('\n');
  }
  throw new Error('expected a ConfigError');
}

const says = (serverless: object, part: string) => {
  const lines = mistakesOf(serverless);
  assert.ok(
    lines.some((line) => line.includes(part)),
    `${part} is not in\n${lines.join('\n')}`,
  );
};

test('each assignment is resolved with its own keys and no others', () => {
  const resolved = (assignment: object) => config({ assignment }).assignment;
  assert.equal(resolved({ policy: 'iatchbl-as-coded' }), {
    policy: 'iatchbl-as-coded',
    bucket_size: '4s',
    retry: '200ms',
  });
  assert.equal(resolved({ policy: 'first-fit' }), { policy: 'first-fit', on_full: 'unmapped' });
  assert.equal(resolved({ policy: 'consistent-hash' }), { policy: 'consistent-hash', rebalance: 'none' });
  assert.equal(resolved({ policy: 'guardrails' }), { policy: 'guardrails', base: 2, tightness: 1 });
  assert.equal(resolved({ policy: 'static', map: { abc: 7 } }), {
    policy: 'static',
    map: { abc: 7 },
    otherwise: 'unmapped',
  });
  assert.equal(resolved({ policy: 'random' }), { policy: 'random' });
});

test('keep-alive: times are filled in where they mean something', () => {
  assert.equal(config({}).keep_alive, { policy: 'forever' });
  assert.equal(config({ keep_alive: { policy: 'fixed' } }).keep_alive, { policy: 'fixed', time: '10min' });
  assert.equal(config({ keep_alive: { policy: 'histogram' } }).keep_alive, {
    policy: 'histogram',
    time: '10min',
    bin: '1min',
  });
  assert.is(config({ keep_alive: { policy: 'lru', memory: '4GB' } }).keep_alive.memory, '4096MB');
});

test('mistakes say whose the key is, and what would be right', () => {
  says(
    { assignment: { policy: 'random', retry: '1s' } },
    'only iatchbl-as-coded has it; the assignment here is random',
  );
  says({ assignment: { policy: 'least-runing' } }, 'did you mean "least-running"?');
  says({ assignment: { policy: 'static', map: { abc: 8 } } }, 'there are domains 0 to 7, not 8');
  says({ assignment: { policy: 'guardrails', base: 1 } }, 'expected a number above 1, got 1');
  says(
    { assignment: { policy: 'consistent-hash', rebalance: 'utilization' } },
    'did you mean "utilisation"?',
  );
  says(
    { assignment: { policy: 'iatchbl-as-coded' }, worker: { queue: 'none' } },
    'without a queue iatchbl-as-coded cannot wait for a domain',
  );
  says({ worker: { queue: 'none', bypass: '5ms' } }, 'there is no queue');
  says({ worker: { queue: 'shortest' } }, 'expected one of fcfs, shortest-expected');
  says({ worker: { overcommit: '150%' } }, 'write 1.5');
  says({ worker: { queue_limit: 0 } }, 'expected a whole number of at least 1');
  says({ timeout: 5 }, '5 has no unit');
  says({ timeout: '0s' }, 'must be longer than zero');
  says({ cold_start: { duration: 3 } }, '3 has no unit');
  says({ cold_start: { failure: 2 } }, 'fraction');
  says({ keep_alive: { policy: 'lru' } }, 'policy "lru" needs containers or memory');
  says({ keep_alive: { policy: 'none', time: '1s' } }, 'policy "none" has no time');
  says({ keep_alive: { policy: 'fixed', bin: '1s' } }, 'policy "fixed" has no bins');
  says({ keep_alive: { policy: 'lru', memory: 512 } }, '512 has no unit');
  says({ containers: 'some' }, 'expected "auto", "none" or a whole number');
});

test('static map: the longest beginning of an id decides; one that begins no id of the trace is an error', async () => {
  const map = (entries: Record<string, number>) =>
    config({ assignment: { policy: 'static', map: entries, otherwise: 5 } });
  assert.equal(
    ['abcd', 'abx', 'b'].map((id) => staticDomain(id, map({ ab: 1, abc: 2 }))),
    [2, 1, 5],
  );
  const ids = ['abcd', 'b'];
  checkStaticMap(ids, map({ ab: 1, b: 2 }));
  const refusal = (entries: Record<string, number>) => {
    try {
      checkStaticMap(ids, map(entries));
    } catch (error) {
      assert.instance(error, VtimeError);
      assert.is((error as VtimeError).code, 'static_map');
      assert.is((error as VtimeError).exitCode, 2);
      return (error as Error).message;
    }
    return undefined;
  };
  assert.match(
    refusal({ ab: 1, xyz: 2 })!,
    /workload\.serverless\.assignment\.map.*no function of the trace begins with "xyz"; expected the beginning of an id, like "abcd"/,
  );
  // As a run says it.
  const run = simulate({
    policy: 'domains:8',
    workload: {
      serverless: { trace: 'azure2019-28', assignment: { policy: 'static', map: { 'no-such-function': 3 } } },
    },
  });
  const error = await run.then(
    () => undefined,
    (reason) => reason,
  );
  assert.is(error?.code, 'static_map');
  assert.match(error.message, 'begins with "no-such-function"');
});

test.run();
