// Services files with one mistake each, what it is called, and where.

export interface MalformedFile {
  name: string;
  text: string;
  code: string;
  /** Parts joined by ".". */
  path: string;
}

const GOOD: Record<string, string> = {
  machines: '{a: {cores: 8, network: {queue_pairs: 1, cores: 0-1}}, b: {cores: 8}}',
  network: '{stack: linux, latency: 65us}',
  models:
    '{linux: {stages: {send: {time: 1us}}, paths: {send_local: {stages: [send]}, send_remote: {stages: [send]}, receive_remote: {stages: [send]}}}, web: {stages: {read: {time: 1us, take: heads}, work: {time: {exponential: 20us}}}, paths: {main: {stages: [read, work]}}}}',
  services:
    '{front: {model: web, instances: {front-1: {machine: a, threads: 2, cores: 2-3}}}, back: {model: web, instances: {back-1: {machine: b, threads: 2, cores: 2-3}}}}',
  requests:
    '{get: {nodes: {ask: {service: front, next: [look]}, look: {service: back, next: [answer]}, answer: {service: front, next: [client]}}}}',
  client: '{load: 100/s}',
  run: '{duration: 1s}',
};

function file(
  name: string,
  code: string,
  path: string,
  changes: Record<string, string | undefined>,
): MalformedFile {
  const sections = { ...GOOD, ...changes };
  const text = Object.entries(sections)
    .filter(([, value]) => value !== undefined)
    .map(([key, value]) => `${key}: ${value}\n`)
    .join('');
  return { name, text, code, path };
}

/** A section with one part of its text replaced. */
const replaced = (key: string, from: string, to: string) => {
  if (!GOOD[key].includes(from)) throw new Error(`${key} has no ${from}`);
  return { [key]: GOOD[key].replace(from, to) };
};

export const FILES: MalformedFile[] = [
  { name: 'empty', text: '', code: 'bad-value', path: '' },
  { name: 'no YAML', text: 'machines: {a: [\n', code: 'syntax', path: '' },
  ...Object.keys(GOOD)
    .filter((key) => key !== 'run' && key !== 'network')
    .map((key) => file(`no ${key}`, 'missing-field', key, { [key]: undefined })),
  file('an unknown section', 'unknown-key', 'servicse', { servicse: '{}' }),
  file(
    'a misspelt key',
    'unknown-key',
    'models.web.stages.work.tiem',
    replaced('models', '{time: {exp', '{tiem: 1us, time: {exp'),
  ),
  file(
    'a bare number for a time',
    'bad-value',
    'models.web.stages.read.time',
    replaced('models', 'read: {time: 1us', 'read: {time: 1000'),
  ),
  file('an unknown unit', 'bad-value', 'network.latency', { network: '{stack: linux, latency: 65m}' }),
  file(
    'an unknown way to take',
    'bad-value',
    'models.web.stages.read.take',
    replaced('models', 'take: heads', 'take: head'),
  ),
  file(
    'no threads and no queues',
    'bad-value',
    'services.front.instances.front-1',
    replaced('services', 'threads: 2, ', ''),
  ),
  file(
    'threads and queues',
    'bad-value',
    'services.front.instances.front-1',
    replaced('services', 'threads: 2, ', 'threads: 2, queues: 1, '),
  ),
  file(
    'cores that run backwards',
    'bad-value',
    'services.front.instances.front-1.cores',
    replaced('services', 'cores: 2-3', 'cores: 3-2'),
  ),
  file(
    'a core that is not there',
    'core-out-of-range',
    'services.front.instances.front-1.cores',
    replaced('services', 'cores: 2-3', 'cores: 2-8'),
  ),
  file(
    'an unknown model',
    'unknown-model',
    'services.front.model',
    replaced('services', 'model: web', 'model: wed'),
  ),
  file(
    'an unknown machine',
    'unknown-machine',
    'services.front.instances.front-1.machine',
    replaced('services', 'machine: a', 'machine: c'),
  ),
  file(
    'an instance twice',
    'duplicate-instance',
    'services.back.instances.front-1',
    replaced('services', 'back-1', 'front-1'),
  ),
  file(
    'a stage that is not there',
    'unknown-stage',
    'models.web.paths.main.stages.1',
    replaced('models', '[read, work]', '[read, wrk]'),
  ),
  file(
    'a profile that is not there',
    'unknown-profile',
    'models.web.stages.read.time.profile',
    replaced('models', 'read: {time: 1us', 'read: {time: {profile: fast}'),
  ),
  file('no text for the machine profile', 'bad-value', 'profile', { profile: '{extends: ideal-1}' }),
  file('a machine profile that is not there', 'profile', 'profile', { profile: 'xeon-8610-4' }),
  file('the file of a machine profile that is not there', 'profile', 'profile', { profile: './my.json' }),
  file('a frequency that the machine profile has not', 'profile-frequency', 'power.frequencies.0', {
    profile: 'xeon-8160-16',
    power: '{target: 1ms, interval: 100ms, frequencies: [800MHz, 2GHz]}',
  }),
  file(
    'an instance beyond the machine profile',
    'profile-frequency',
    'services.front.instances.front-1.frequency',
    { profile: 'xeon-8160-16', ...replaced('services', 'cores: 2-3', 'cores: 2-3, frequency: 4GHz') },
  ),
  file('a model beyond the machine profile', 'profile-frequency', 'models.web.reference_frequency', {
    profile: 'xeon-8160-16',
    ...replaced('models', 'web: {stages', 'web: {reference_frequency: 5GHz, stages'),
  }),
  file(
    'power of a machine',
    'unknown-key',
    'machines.b.idle_power',
    replaced('machines', 'b: {cores: 8', 'b: {cores: 8, idle_power: 3W'),
  ),
  file('the machine profile where it was', 'unknown-key', 'scheduled.profile', {
    mode: 'scheduled',
    scheduled: '{profile: ideal-8}',
  }),
  file('a profile with a setting twice', 'duplicate-setting', 'profiles.p.1', {
    profiles: '{p: [{time: 1us}, {time: 2us}]}',
  }),
  file(
    'a blocking batch',
    'blocking-batch',
    'models.web.stages.read.blocks_thread',
    replaced('models', 'take: heads', 'take: heads, blocks_thread: true'),
  ),
  file(
    'batches with another kind',
    'batch-mismatch',
    'models.web.stages.read.batches_with',
    replaced('models', 'take: heads', 'take: heads, batches_with: work'),
  ),
  file(
    'a network stack without a path',
    'stack-path',
    'models.linux.paths',
    replaced('models', 'receive_remote', 'receive'),
  ),
  file('a network stack without a model', 'missing-stack', 'network.stack', { network: '{latency: 65us}' }),
  file(
    'an unknown node',
    'unknown-node',
    'requests.get.nodes.ask.next.0',
    replaced('requests', 'next: [look]', 'next: [lok]'),
  ),
  file(
    'an unknown service',
    'unknown-service',
    'requests.get.nodes.look.service',
    replaced('requests', 'service: back', 'service: bakc'),
  ),
  file(
    'a cycle',
    'cycle',
    'requests.get.nodes.look.next',
    replaced('requests', 'next: [client]', 'next: [look]'),
  ),
  file(
    'nowhere to go',
    'bad-value',
    'requests.get.nodes.answer.next',
    replaced('requests', 'next: [client]', 'next: []'),
  ),
  file(
    'a connection held until another service',
    'hold-elsewhere',
    'requests.get.nodes.ask.hold_connection',
    replaced(
      'requests',
      '{service: front, next: [look]',
      '{service: front, hold_connection: look, next: [look]',
    ),
  ),
  file(
    'two kinds of requests without probabilities',
    'missing-probability',
    'requests.other.probability',
    replaced('requests', '{get: ', '{other: {nodes: {a: {service: front, next: [client]}}}, get: '),
  ),
  file('an edge that is missing', 'missing-edge', 'requests.get.nodes.ask.next.0', {
    edges: '[{from: back, to: front, both_ways: false}]',
  }),
  file('an edge to nobody', 'unknown-service-or-instance', 'edges.0.to', {
    edges: '[{from: front, to: bakc}]',
  }),
  file('a closed loop with a rate', 'bad-value', 'client.load', {
    client: '{loop: closed, clients: 5, load: 100/s}',
  }),
  file('a closed loop without clients', 'missing-field', 'client.clients', { client: '{loop: closed}' }),
  file('an open loop without a rate', 'bad-value', 'client', { client: '{}' }),
  file('retries without a timeout', 'bad-value', 'client.retries', {
    client: '{load: 100/s, retries: {max: 3}}',
  }),
  file('epochs that run backwards', 'bad-value', 'client.load.1.until', {
    client: '{load: [{until: 2s, rate: 5/s}, {until: 1s, rate: 6/s}]}',
  }),
  file('a warm-up longer than the run', 'warmup', 'run.warmup', { run: '{duration: 1s, warmup: 2s}' }),
  file('frequencies that do not ascend', 'frequency-order', 'power.frequencies.1', {
    power: '{target: 5ms, frequencies: [2GHz, 1GHz]}',
  }),
  file('a tier that is not there', 'unknown-service', 'power.services.0', {
    power: '{target: 5ms, services: [fornt]}',
  }),
  file('run queues of cgroups', 'cgroups', 'scheduled.kernel.group_scheduling', {
    mode: 'scheduled',
    scheduled: '{kernel: {group_scheduling: true}}',
  }),
  file('quotas of cgroups', 'cgroups', 'scheduled.kernel.bandwidth_slice', {
    mode: 'scheduled',
    scheduled: '{kernel: {bandwidth_slice: 1ms}}',
  }),
  file('a scheduler without scheduling', 'mode', 'scheduled', { scheduled: '{policy: eevdf}' }),
];
