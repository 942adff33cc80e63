// Malformed traces are refused with the place of the mistake and what was expected there.

import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { readTrace } from '../src/trace/index.js';
import { DURATION_HEADER, failure, folderOf } from './support/traces.js';

const HEADER = 'HashOwner,HashApp,HashFunction,Trigger,1,2';

const cases: { name: string; text: string; code: string; message: string }[] = [
  {
    name: 'a count that is not whole',
    text: `${HEADER}\no,a,f,http,1,2\no,a,g,http,1.5,2\n`,
    code: 'trace_value',
    message: 't.csv:3:12: column 1 is "1.5"; expected a whole number from 0 to 4294967295',
  },
  {
    name: 'a negative count',
    text: `${HEADER}\no,a,f,http,1,-2\n`,
    code: 'trace_value',
    message: 't.csv:2:14: column 2 is "-2"; expected a whole number from 0 to 4294967295',
  },
  {
    name: 'a count beyond 32 bits',
    text: `${HEADER}\no,a,f,http,1,4294967296\n`,
    code: 'trace_value',
    message: 't.csv:2:14: column 2 is "4294967296"; expected a whole number from 0 to 4294967295',
  },
  {
    name: 'a word for a count',
    text: `${HEADER}\no,a,f,http,many,2\n`,
    code: 'trace_value',
    message: 't.csv:2:12: column 1 is "many"; expected a number',
  },
  {
    name: 'a row that is too short',
    text: `${HEADER}\no,a,f,http,1\n`,
    code: 'trace_ragged',
    message: 't.csv:2:13: row has 5 fields; expected 6 fields, as in the header',
  },
  {
    name: 'a row that is too long',
    text: `${HEADER}\no,a,f,http,1,2,3\n`,
    code: 'trace_ragged',
    message: 't.csv:2:16: row has 7 fields; expected 6 fields, as in the header',
  },
  {
    name: 'an empty key',
    text: `${HEADER}\no,,f,http,1,2\n`,
    code: 'trace_value',
    message: 't.csv:2:3: column HashApp is ""; expected a key that is not empty',
  },
  {
    name: 'a misspelt column',
    text: 'HashOwner,HashAp,HashFunction,1\no,a,f,1\n',
    code: 'trace_header',
    message:
      't.csv:1:11: column HashApp is missing from the invocations table; expected HashApp instead of "HashAp"',
  },
  {
    name: 'a gap between the minutes',
    text: 'HashOwner,HashApp,HashFunction,1,2,4\no,a,f,1,1,1\n',
    code: 'trace_header',
    message: 't.csv:1:36: minute 3 is missing; expected every minute from 1 to 4',
  },
  {
    name: 'a minute twice',
    text: 'HashOwner,HashApp,HashFunction,1,minute_1\no,a,f,1,1\n',
    code: 'trace_value',
    message: 't.csv:1:34: column 5 is "minute_1"; expected minute 1 only once',
  },
  {
    name: 'a quote that is not closed',
    text: `${HEADER}\n"o,a,f,http,1,2\n`,
    code: 'trace_csv',
    message: 't.csv:2:1: quoted field is not closed; expected a closing quote on the same line',
  },
  {
    name: 'text after a quote',
    text: `${HEADER}\n"o"x,a,f,http,1,2\n`,
    code: 'trace_csv',
    message: 't.csv:2:4: text after a quoted field; expected a comma',
  },
  {
    name: 'a header without rows',
    text: `${HEADER}\n`,
    code: 'trace_empty',
    message: 'no functions; expected at least one row below the header',
  },
];

for (const { name, text, code, message } of cases) {
  test(`refused: ${name}`, async () => {
    const folder = folderOf({ 't.csv': text });
    const error = await failure(() => readTrace(folder));
    assert.is(error.code, code);
    assert.is(error.exitCode, 2);
    assert.ok(error.message.endsWith(message), error.message);
  });
}

test('refused: a duration that is no number, a missing percentile', async () => {
  const invocations = 'HashOwner,HashApp,HashFunction,1\no,a,f,1\n';
  const word = folderOf({
    'i.csv': invocations,
    'd.csv': `${DURATION_HEADER}\no,a,f,1,1,1,1,1,x,1,1,1,1,1\n`,
  });
  const wrong = await failure(() => readTrace(word));
  assert.is(wrong.message, 'd.csv:2:17: column percentile_Average_1 is "x"; expected a number');
  const short = folderOf({
    'i.csv': invocations,
    'd.csv': 'HashOwner,HashApp,HashFunction,Average\no,a,f,1\n',
  });
  const missing = await failure(() => readTrace(short));
  assert.match(missing.message, 'd.csv:1:1: column Count is missing from the durations table');
});

test('refused: files that are no table of the format', async () => {
  const folder = folderOf({
    'other.csv': 'x,y\n1,2\n',
    'empty.csv': '',
    'packed.csv': Buffer.from([0x1f, 0x8b, 8, 0]),
    'wide.csv': Buffer.from('\ufeffHashOwner\n', 'utf16le'),
  });
  const code = async (path: string) => (await failure(() => readTrace(path))).code;
  assert.is(await code(join(folder, 'other.csv')), 'trace_format');
  assert.is(await code(join(folder, 'empty.csv')), 'trace_format');
  assert.is(await code(join(folder, 'packed.csv')), 'trace_encoding');
  assert.is(await code(join(folder, 'wide.csv')), 'trace_encoding');
  assert.is(await code(join(folder, 'absent.csv')), 'trace_file');
  assert.is(await code(folderOf({ 'd.csv': `${DURATION_HEADER}\n` })), 'trace_format');
});

test('refused: two days at once', async () => {
  const day = 'HashOwner,HashApp,HashFunction,1\no,a,f,1\n';
  const error = await failure(() => readTrace(folderOf({ 'd01.csv': day, 'd02.csv': day })));
  assert.is(error.code, 'trace_ambiguous');
  assert.match(error.message, 'a second invocations table beside d01.csv');
});

test('an import can be aborted', async () => {
  const folder = folderOf({ 'i.csv': 'HashOwner,HashApp,HashFunction,1\no,a,f,1\n' });
  const error = await failure(() => readTrace(folder, { signal: AbortSignal.abort() }));
  assert.is(error.exitCode, 130);
});

test.run();
