// Every policy serves a short serverless cell of the bundled trace on a real machine's profile.

import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { describePolicies, POLICY_NAMES } from '../src/config/schema/policy.js';
import type { ConfigInput } from '../src/config/schema.js';
import { simulate } from '../src/engine/simulate.js';

/** Minutes of the bundled trace on a real machine's profile; processor sharing knows ideal ones only. */
function cell(name: (typeof POLICY_NAMES)[number], minutes: string): ConfigInput {
  const parameters = describePolicies().find((policy) => policy.name === name)!.parameters;
  const domains = parameters.some((parameter) => parameter.name === 'domains') ? ':8' : '';
  return {
    machine: name === 'processor-sharing' ? 'ideal-48' : 'xeon-8160-2s',
    policy: name === 'bpf' ? { object: 'bpf/objects/domains.bpf.o', domains: 8 } : `${name}${domains}`,
    workload: {
      serverless: {
        trace: 'azure2019-28',
        window: { start: '600min', length: minutes, history: '5min' },
        durations: 'lognormal',
        offered_load: 0.8,
        profiles: { mapping: 'nearest-duration' },
        worker: { concurrency: 192 },
      },
    },
  };
}

for (const name of POLICY_NAMES) {
  test(`${name} serves a minute of the bundled trace: no stall, everything completed, the same twice`, async () => {
    const result = await simulate(cell(name, '1min'));
    assert.is(result.outcome, 'completed', result.reason?.message);
    const { arrived, completed, dropped, in_system } = result.metrics;
    assert.ok(arrived > 10_000);
    assert.is(completed + dropped, arrived);
    assert.is(in_system, 0);
    const again = await simulate(cell(name, '1min'));
    assert.equal(again.metrics, result.metrics);
  });
}

test.run();
