// Malformed microservices: each mistake has a name and a place, and the command line ends with exit code 2 and a message. Warnings are
// what the reference accepts and vtime only points at.

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { checkPath } from '../src/services/load.js';
import { FILES } from './malformed/services-files.js';
import { FOLDERS } from './malformed/services-folders.js';
import { commandLine } from './support/command-line.js';
import { temporaryFolder } from './support/folder.js';
import { smallFolder, writeFolder } from './support/uqsim-folder.js';

const root = temporaryFolder('services');

function checkMessage(
  { exitCode, stdout, stderr }: { exitCode: number; stdout: string; stderr: string },
  place: string,
) {
  assert.is(exitCode, 2);
  assert.is(stdout, '');
  assert.ok(stderr.includes(place), `${place} in ${stderr}`);
  assert.not.match(stderr, /\n\s+at |bug in vtime|unexpected |undefined|\[object|NaN/);
}

test('the folder without a mistake is valid', () => {
  const folder = join(root, 'right');
  writeFolder(folder, smallFolder());
  assert.equal(
    checkPath(folder).findings.filter(({ severity }) => severity !== 'note'),
    [],
  );
});

FOLDERS.forEach(({ name, change, code, file, path }, i) => {
  test(`${file}: ${name}`, async () => {
    const folder = join(root, String(i));
    const files = smallFolder();
    writeFolder(folder, change(files) ?? files);
    const { services, findings } = checkPath(folder);
    assert.is(services, undefined);
    const errors = findings.filter(({ severity }) => severity === 'error');
    const found = errors.find((error) => error.code === code);
    assert.ok(found, `${code} among ${JSON.stringify(errors)}`);
    assert.is(found.file, join(folder, file));
    // A place within the field is as good.
    assert.equal(found.path.slice(0, path.length), path);
    checkMessage(await commandLine('services', 'check', folder, '--quiet'), join(folder, file));
  });
});

FILES.forEach(({ name, text, code, path }, i) => {
  test(`services file: ${name}`, async () => {
    const file = join(root, `file-${i}.yaml`);
    writeFileSync(file, text);
    const { services, findings } = checkPath(file);
    assert.is(services, undefined);
    const found = findings.find((finding) => finding.code === code && finding.severity === 'error');
    assert.ok(found, `${code} among ${JSON.stringify(findings)}`);
    assert.equal(found.path.join('.'), path);
    checkMessage(await commandLine('services', 'check', file, '--quiet'), file);
  });
});

test('all mistakes are found at once', () => {
  const folder = join(root, 'several');
  const files = smallFolder();
  files['graph.json'].net_latency = -1;
  files['graph.json'].microservices[0].machine_id = 7;
  files['path.json'][0].nodes[0].service_name = 'wbe';
  files['client.json'].epoch_qps = [1];
  writeFolder(folder, files);
  const codes = checkPath(folder).findings.map(({ code }) => code);
  assert.equal(codes.sort(), ['bad-value', 'bad-value', 'unknown-machine', 'unknown-service']);
});

test('what the reference accepts and nobody means is a warning', async () => {
  const folder = join(root, 'shared');
  const files = smallFolder();
  // The disk on a core of the database and on one of the network stack; a path that nothing leads to.
  Object.assign(files['graph.json'].microservices[2], {
    scheduler: { type: 'Simplified', num_queues: 1, cores: [1, 2] },
  });
  files['path.json'][1].nodes.push({
    ...files['path.json'][1].nodes[0],
    node_id: 9,
    childs: [7],
    colour: 'red',
  });
  writeFolder(folder, files);
  const { services, findings } = checkPath(folder);
  assert.ok(services);
  assert.equal(
    findings
      .filter(({ severity }) => severity === 'warning')
      .map(({ code }) => code)
      .sort(),
    ['shared-cores', 'shared-cores', 'unknown-field', 'unreachable-node'],
  );
  assert.is((await commandLine('services', 'check', folder)).exitCode, 0);
  assert.is((await commandLine('services', 'check', folder, '--strict')).exitCode, 2);
});

test("a fork's machines without a link between them", () => {
  const folder = join(root, 'unlinked');
  const files = smallFolder();
  const machines = {
    machines: files['machines.json'],
    links: [{ machine_id_1: 0, machine_id_2: 0, latency: 1 }],
    client_latency: 1,
  };
  // A link of a machine with itself is an error of its own; a third machine makes a right one that helps nobody.
  machines.machines.push({ ...machines.machines[0], machine_id: 2, name: 'machine_2' });
  machines.links[0].machine_id_2 = 2;
  writeFolder(folder, { ...files, 'machines.json': machines });
  const { findings } = checkPath(folder);
  const found = findings.filter(({ code }) => code === 'missing-link');
  assert.equal(
    found.map(({ path }) => path),
    [[1, 'nodes', 0, 'childs', 0]],
  );
  assert.match(found[0].message, /"machine_0" and "machine_1"/);
});

test('deadlocks that are only possible are warnings that name the cycle', () => {
  const folder = join(root, 'cycle');
  const files = smallFolder();
  // Another kind of request holds a thread of web while it needs one of base, and the other way round.
  const stages = Reflect.get(files['microservice/web.json'].paths as object, 0).stages;
  stages[0] = {
    ...stages[1],
    stage_name: 'call',
    stage_id: 0,
    path_stage_id: 0,
    ngx_proc: false,
    blocking: true,
  };
  const call = (id: number, service: string, other: string) => [
    {
      ...files['path.json'][1].nodes[1],
      service_name: service,
      node_id: id,
      childs: [id + 1],
      sync_node_id: id + 2,
    },
    { ...files['path.json'][1].nodes[2], service_name: other, node_id: id + 1, childs: [id + 2] },
    { ...files['path.json'][1].nodes[3], service_name: service, node_id: id + 2, childs: [99] },
    { ...files['path.json'][1].nodes[5], node_id: 99 },
  ];
  files['path.json'][0] = {
    micro_service_path_id: 0,
    entry: 0,
    probability: 50,
    nodes: call(0, 'web', 'base'),
  };
  files['path.json'][1] = {
    micro_service_path_id: 1,
    entry: 20,
    probability: 50,
    nodes: call(20, 'base', 'web'),
  };
  writeFolder(folder, files);
  const { services, findings } = checkPath(folder);
  assert.ok(services, JSON.stringify(findings));
  const [deadlock] = findings.filter(({ code }) => code === 'possible-deadlock');
  assert.match(deadlock.message, /the threads of "web", held while waiting for the threads of "base"/);
});

test.run();
