// Where the virtual machine's packages come from: the mirror that the machine's own apt sources name.

import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { emulatorArguments, lastLines } from '../src/bpf/vm/boot.js';
import { mirrorOf } from '../src/bpf/vm/packages.js';

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
    cpus: 4,
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

test('the last lines of a console, without what a terminal would obey', () => {
  const text = '\x1bc\x1b[?7l\x1b[2JSeaBIOS\r\n\r\none\r\ntwo\r\nthree\r\n';
  assert.is(lastLines(text, 2), '  two\n  three');
  assert.is(lastLines(text), '  SeaBIOS\n  one\n  two\n  three');
});

test.run();
