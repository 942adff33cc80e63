// Where the virtual machine's packages come from: the mirror that the machine's own apt sources name.

import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { emulatorArguments, lastLines } from '../src/bpf/vm/boot.js';
import { mirrorOf } from '../src/bpf/vm/packages.js';
import { evenMemory, topologyArguments } from '../src/bpf/vm/topology.js';

test('the first stanza of a deb822 file that is not the security suite', () => {
  const text = [
    'Types: deb',
    'URIs: http://mirror.example/debian-security',
    'Suites: bookworm-security',
    'Components: main',
    'Signed-By: /usr/share/keyrings/debian-archive-keyring.gpg',
    '',
    'Types: deb',
    '# a snapshot',
    'URIs: http://mirror.example/debian',
    'Suites: bookworm bookworm-updates',
    'Components: main',
    'Signed-By: /usr/share/keyrings/debian-archive-keyring.gpg',
  ].join('\n');
  assert.is(mirrorOf(text), 'http://mirror.example/debian');
});

test('a line of the older format', () => {
  const text = [
    '# deb http://old.example/debian bookworm main',
    'deb http://mirror.example/debian-security bookworm-security main',
    'deb [arch=amd64] https://mirror.example/debian/ bookworm main contrib',
  ].join('\n');
  assert.is(mirrorOf(text), 'https://mirror.example/debian/');
});

test('sources of other archives are none', () => {
  assert.is(mirrorOf('deb https://packages.example/apt tools main\n'), undefined);
  assert.is(
    mirrorOf('Types: deb\nURIs: https://packages.example/node\nSuites: nodistro\nComponents: main\n'),
    undefined,
  );
});

test('the exact mode ties nothing in the guest to the time of the host', () => {
  const options = {
    emulator: { command: 'qemu', prefix: [], version: '10' },
    kernel: { release: '7.3', image: 'vmlinuz', config: 'config', modules: [] },
    initramfs: new Uint8Array(),
    cpus: Array.from({ length: 4 }, () => ({ package: 0, node: 0 })),
    memory_mb: 512,
    timeout_ms: 1000,
  };
  const exact = emulatorArguments({ ...options, exact: true }).join(' ');
  assert.match(exact, '-icount shift=1,align=off,sleep=off');
  // Without a fixed date the guest reads another time from its clock chip in every run.
  assert.match(exact, /-rtc base=\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d,clock=vm/);
  assert.match(exact, 'ioeventfd=off');
  assert.match(exact, '-seed 1');
  const fast = emulatorArguments({ ...options, exact: false }).join(' ');
  assert.match(fast, 'thread=multi');
  assert.not.match(fast, 'icount');
});

test('packages and nodes of the machine become those of the guest', () => {
  const places = (nodes: number, perNode: number, packages = nodes) =>
    Array.from({ length: nodes * perNode }, (_, cpu) => {
      const node = Math.floor(cpu / perNode);
      return { node, package: packages === nodes ? node : 0 };
    });
  assert.equal(topologyArguments(places(1, 4), 512), ['-smp', '4']);
  assert.equal(topologyArguments(places(2, 2), 512), [
    ...['-smp', '4,sockets=2,dies=1,cores=2,threads=1'],
    ...['-object', 'memory-backend-ram,id=memory0,size=256M'],
    ...['-numa', 'node,nodeid=0,memdev=memory0,cpus=0-1'],
    ...['-object', 'memory-backend-ram,id=memory1,size=256M'],
    ...['-numa', 'node,nodeid=1,memdev=memory1,cpus=2-3'],
  ]);
  // 1184 MB for three nodes: 394.67 MB each, rounded up.
  assert.is(evenMemory(places(3, 2), 1184), 3 * 395);
  const uneven = [0, 0, 1].map((number) => ({ package: number, node: number }));
  assert.throws(() => topologyArguments(uneven, 512), /packages of the machine profile/);
});

test('the last lines of a console, without what a terminal would obey', () => {
  const text = '\x1bc\x1b[?7l\x1b[2JSeaBIOS\r\n\r\none\r\ntwo\r\nthree\r\n';
  assert.is(lastLines(text, 2), '  two\n  three');
  assert.is(lastLines(text), '  SeaBIOS\n  one\n  two\n  three');
});

test.run();
