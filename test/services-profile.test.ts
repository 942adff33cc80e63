// Stage times from recordings, and hit ratios from the size of a cache.

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { parse } from 'yaml';
import { hitRatio } from '../src/services/cache.js';
import { stageTimes } from '../src/services/resolve-time.js';
import { timeAt } from '../src/services/resolved.js';
import { profile } from '../src/services/schema/time.js';
import { commandLine } from './support/command-line.js';
import { temporaryFolder } from './support/folder.js';

const root = temporaryFolder('profile');

function placed(name: string, text: string): string {
  const file = join(root, name);
  writeFileSync(file, text);
  return file;
}

async function imported(...args: string[]) {
  const { exitCode, stdout, stderr } = await commandLine('services', 'profile', 'import', ...args);
  assert.is(exitCode, 0, stderr);
  return parse(stdout).profiles;
}

test('boundaries of stages become percentiles, counts become means', async () => {
  const file = placed(
    '2600MHz.csv',
    'stage,begin_ns,end_ns,count\nread,0,100,1\nepoll,100,1100,1\nepoll,2000,5000,3\nepoll,6000,8000,1\nread,200,500,1\n',
  );
  assert.equal(await imported(file), {
    read: [{ frequency: '2600MHz', time: { percentiles: ['100ns', '300ns'] } }],
    // One event: (1000 + 2000) / 2; three: 3000.
    epoll: [
      {
        frequency: '2600MHz',
        time: {
          table: {
            of: 'jobs',
            points: [
              [1, '1500ns'],
              [3, '3000ns'],
            ],
            beyond: 'last',
            draw: 'exponential',
          },
        },
      },
    ],
  });
});

test("listings of µqSim's authors: percentiles, and times by number of events; the setting is in the name", async () => {
  const percentiles = placed('1600MHz_120000qps.txt', '17\n17.5\n20\n');
  const events = placed('1200MHz.txt', '3 : 3.77\n4 : 4.06\n');
  assert.equal(await imported(percentiles, events, '--name', 'handler'), {
    handler: [
      { frequency: '1600MHz', load: '120000/s', time: { percentiles: ['17000ns', '17500ns', '20000ns'] } },
      {
        frequency: '1200MHz',
        time: {
          table: {
            of: 'connections',
            points: [
              [3, '3770ns'],
              [4, '4060ns'],
            ],
            beyond: 'last',
            draw: 'exponential',
          },
        },
      },
    ],
  });
});

test('mistakes of recordings', async () => {
  const cases: [string, string, RegExp][] = [
    ['a.csv', 'stage,begin_ns\nread,0\n', /a\.csv:1: there is no column end_ns/],
    [
      'b.csv',
      'stage,begin_ns,end_ns\nread,100,50\n',
      /b\.csv:2:10: column end_ns is "50"; expected a whole number of ns, not before/,
    ],
    ['c.csv', 'stage,begin_ns,end_ns\n', /there is no row in it/],
    ['d.txt', '17\nfast\n', /d\.txt:2: "fast"; expected a time in µs/],
    ['e.txt', '3 : 4\n2 : 5\n', /e\.txt:2: "2 : 5"; expected more than 3 events/],
    ['f.txt', '', /there is no time in it/],
  ];
  for (const [name, text, message] of cases) {
    const { exitCode, stdout, stderr } = await commandLine(
      'services',
      'profile',
      'import',
      placed(name, text),
    );
    assert.is(exitCode, 2, name);
    assert.is(stdout, '');
    assert.match(stderr, message);
  }
  const twice = await commandLine(
    'services',
    'profile',
    'import',
    placed('x.txt', '1\n'),
    placed('y.txt', '2\n'),
  );
  assert.match(twice.stderr, /another recording at the same setting/);
});

test('of a profile the nearest setting is used: by frequency, then threads, then load', () => {
  const entries = profile.parse([
    { frequency: '1.2GHz', load: '1000/s', time: '1us' },
    { frequency: '1.2GHz', load: '9000/s', time: '2us' },
    { frequency: '2.6GHz', load: '1000/s', time: '3us' },
  ]);
  const times = stageTimes({ profile: 'p' }, { p: entries });
  const at = (frequency_mhz: number, load_per_s: number) => {
    const { time } = timeAt(times, { frequency_mhz, load_per_s });
    return time.kind === 'draw' ? time.time : undefined;
  };
  assert.is(at(1800, 1000), '1us');
  assert.is(at(1800, 6000), '2us');
  // 2000 MHz is nearer to 2600 than to 1200, whatever the load.
  assert.is(at(2000, 9000), '3us');
});

test("a cache's hit ratio: all, none, and by Che's approximation", () => {
  const cache = { memory: '100B', working_set: '1000B', item: '1B', zipf: 0 };
  assert.is(hitRatio({ ...cache, memory: '1000B' }), 1);
  assert.is(hitRatio({ ...cache, item: '200B' }), 0);
  // All items alike: a tenth of them is in memory, and so is a tenth of what is asked for.
  assert.ok(Math.abs(hitRatio(cache) - 0.1) < 1e-9);
  // Zipf 1 over 1000 items of which 100 fit. A simulated LRU list hits 0.5765 of 2·10⁶ requests.
  assert.ok(
    Math.abs(hitRatio({ ...cache, zipf: 1 }) - 0.5765) < 0.0005,
    `${hitRatio({ ...cache, zipf: 1 })}`,
  );
  // Ranges of ranks instead of single ones: 10⁶ items, of which 10⁵ fit. Item by item the sum is 0.487113.
  const large = { memory: '100000B', working_set: '1000000B', item: '1B', zipf: 0.8 };
  assert.ok(Math.abs(hitRatio(large) - 0.487113) < 1e-5, `${hitRatio(large)}`);
});

test.run();
