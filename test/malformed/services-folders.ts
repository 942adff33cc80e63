// µqSim folders with one mistake each, what it is called, and where.

import type { Path } from '../../src/config/mistakes.js';
import type { SmallFolder } from '../support/uqsim-folder.js';

export interface MalformedFolder {
  name: string;
  /** Makes the mistake. */
  change: (files: SmallFolder) => Record<string, unknown> | undefined;
  code: string;
  file: string;
  path: Path;
}

type Json = Record<string, unknown>;
type Change = (files: SmallFolder) => Record<string, unknown> | undefined;

const given =
  (file: string) =>
  (name: string, path: Path, code: string, change: Change): MalformedFolder => ({
    name,
    change,
    code,
    file,
    path,
  });
const machines = given('machines.json');
const graph = given('graph.json');
const paths = given('path.json');
const client = given('client.json');
const web = given('microservice/web.json');
const base = given('microservice/base.json');
const disk = given('microservice/disk.json');

/** The mapping at a path of a file, to be changed in place. */
function at(files: SmallFolder, file: keyof SmallFolder, ...path: Path): Json {
  return path.reduce<unknown>((inner, key) => Reflect.get(Object(inner), key), files[file]) as Json;
}
const set =
  (file: keyof SmallFolder, path: Path, key: string, value: unknown): Change =>
  (files) => {
    at(files, file, ...path)[key] = value;
    return undefined;
  };
const stageOf = (name: 'web' | 'base' | 'disk', position: number, key: string, value: unknown) =>
  set(`microservice/${name}.json`, ['paths', 0, 'stages', position], key, value);
const nodeOf = (path: number, node: number, key: string, value: unknown) =>
  set('path.json', [path, 'nodes', node], key, value);
const service = (i: number, key: string, value: unknown) =>
  set('graph.json', ['microservices', i], key, value);
const scheduler = (i: number, key: string, value: unknown) =>
  set('graph.json', ['microservices', i, 'scheduler'], key, value);

export const FOLDERS: MalformedFolder[] = [
  // Files.
  machines('no machines.json', [], 'missing-file', (files) => ({ ...files, 'machines.json': undefined })),
  graph('no graph.json', [], 'missing-file', (files) => ({ ...files, 'graph.json': undefined })),
  paths('no path.json', [], 'missing-file', (files) => ({ ...files, 'path.json': undefined })),
  client('no client.json', [], 'missing-file', (files) => ({ ...files, 'client.json': undefined })),
  given('microservice')(
    'no models',
    [],
    'missing-file',
    ({ 'client.json': a, 'machines.json': b, 'graph.json': c, 'path.json': d }) => ({
      'client.json': a,
      'machines.json': b,
      'graph.json': c,
      'path.json': d,
    }),
  ),
  given('microservice.json')('models that are no list', [], 'bad-value', (files) => ({
    ...files,
    'microservice.json': {},
  })),
  graph('cut off', [], 'json-syntax', (files) => ({
    ...files,
    'graph.json': '{"net_latency": 65000, "microservices": [',
  })),
  paths('empty file', [], 'json-syntax', (files) => ({ ...files, 'path.json': '' })),
  paths('a comma too many', [], 'json-syntax', (files) => ({ ...files, 'path.json': '[{"entry": 0,}]' })),

  // machines.json
  machines('no machine', [], 'bad-value', (files) => ({ ...files, 'machines.json': [] })),
  machines('no cores', [0, 'total_cores'], 'bad-value', set('machines.json', [0], 'total_cores', 0)),
  machines('half a core', [0, 'total_cores'], 'bad-value', set('machines.json', [0], 'total_cores', 7.5)),
  machines(
    'a machine twice',
    [1, 'machine_id'],
    'duplicate-machine',
    set('machines.json', [1], 'machine_id', 0),
  ),
  machines('negative machine', [0, 'machine_id'], 'bad-value', set('machines.json', [0], 'machine_id', -1)),
  machines(
    'unknown scheduler',
    [0, 'net_stack_sched', 'type'],
    'bad-value',
    set('machines.json', [0, 'net_stack_sched'], 'type', 'RSS'),
  ),
  machines(
    'no queues',
    [0, 'net_stack_sched', 'num_queues'],
    'bad-value',
    set('machines.json', [0, 'net_stack_sched'], 'num_queues', 0),
  ),
  machines(
    'a network on no core',
    [0, 'net_stack_sched', 'cores'],
    'bad-value',
    set('machines.json', [0, 'net_stack_sched'], 'cores', []),
  ),
  machines(
    'a network core that is not there',
    [0, 'net_stack_sched'],
    'core-out-of-range',
    set('machines.json', [0, 'net_stack_sched'], 'cores', [0, 8]),
  ),
  machines(
    'affinity of no queue',
    [0, 'net_stack_sched', 'core_affinity', 1, 'queue'],
    'affinity-out-of-range',
    set('machines.json', [0, 'net_stack_sched', 'core_affinity', 1], 'queue', 2),
  ),
  machines(
    'affinity twice',
    [0, 'net_stack_sched', 'core_affinity', 1, 'queue'],
    'duplicate-affinity',
    set('machines.json', [0, 'net_stack_sched', 'core_affinity', 1], 'queue', 0),
  ),
  machines('a link to no machine', ['links', 0, 'machine_id_2'], 'unknown-machine', (files) => ({
    ...files,
    'machines.json': {
      machines: files['machines.json'],
      links: [{ machine_id_1: 0, machine_id_2: 9, latency: 1000, capacity: 1 }],
      client_latency: 1000,
    },
  })),

  // client.json
  client('no epoch', ['epoch_end_sec'], 'bad-value', (files) => ({
    ...files,
    'client.json': { monitor_interval_sec: 1, epoch_end_sec: [], epoch_qps: [] },
  })),
  client(
    'epochs that run backwards',
    ['epoch_end_sec', 1],
    'bad-value',
    set('client.json', [], 'epoch_end_sec', [2, 1]),
  ),
  client('more ends than rates', ['epoch_qps'], 'bad-value', set('client.json', [], 'epoch_qps', [100])),
  client('no requests', ['epoch_qps', 0], 'bad-value', set('client.json', [], 'epoch_qps', [0, 100])),
  client('half a request', ['epoch_qps', 0], 'bad-value', set('client.json', [], 'epoch_qps', [0.5, 100])),
  client(
    'negative interval',
    ['monitor_interval_sec'],
    'bad-value',
    set('client.json', [], 'monitor_interval_sec', -1),
  ),

  // graph.json
  graph('negative latency', ['net_latency'], 'bad-value', set('graph.json', [], 'net_latency', -1)),
  graph(
    'a fraction of a ns, which the release cuts',
    ['net_latency'],
    'bad-value',
    set('graph.json', [], 'net_latency', 65.5),
  ),
  graph('nothing runs', ['microservices'], 'bad-value', set('graph.json', [], 'microservices', [])),
  graph(
    'an instance twice',
    ['microservices', 1, 'instance_name'],
    'duplicate-instance',
    service(1, 'instance_name', 'web_a'),
  ),
  graph(
    'a model that is not there',
    ['microservices', 0, 'model_name'],
    'unknown-model',
    service(0, 'model_name', 'wed'),
  ),
  graph(
    'a machine that is not there',
    ['microservices', 0, 'machine_id'],
    'unknown-machine',
    service(0, 'machine_id', 7),
  ),
  graph(
    'a service named client',
    ['microservices', 0, 'service_name'],
    'reserved-name',
    service(0, 'service_name', 'client'),
  ),
  graph(
    'no threads',
    ['microservices', 0, 'scheduler', 'num_threads'],
    'bad-value',
    scheduler(0, 'num_threads', 0),
  ),
  graph(
    'a core that is not there',
    ['microservices', 0, 'scheduler', 'cores'],
    'core-out-of-range',
    scheduler(0, 'cores', [2, 40]),
  ),
  graph(
    'a core twice',
    ['microservices', 0, 'scheduler', 'cores', 1],
    'duplicate-core',
    scheduler(0, 'cores', [2, 2]),
  ),
  graph(
    'the network scheduler for a service',
    ['microservices', 0, 'scheduler', 'type'],
    'bad-value',
    scheduler(0, 'type', 'LinuxNetStack'),
  ),
  graph(
    'affinity of no thread',
    ['microservices', 0, 'scheduler', 'core_affinity', 0, 'thread'],
    'affinity-out-of-range',
    set('graph.json', ['microservices', 0, 'scheduler', 'core_affinity', 0], 'thread', 2),
  ),
  graph(
    'an edge to nothing',
    ['edges', 0, 'target'],
    'unknown-instance',
    set('graph.json', ['edges', 0], 'target', 'base_b'),
  ),
  graph(
    'an edge to itself',
    ['edges', 0, 'target'],
    'self-edge',
    set('graph.json', ['edges', 0], 'target', 'web_a'),
  ),

  // path.json
  paths('no path', [], 'bad-value', (files) => ({ ...files, 'path.json': [] })),
  paths('no node', [0, 'nodes'], 'bad-value', set('path.json', [0], 'nodes', [])),
  paths(
    'probabilities of 110 %',
    [1, 'probability'],
    'probability-sum',
    set('path.json', [1], 'probability', 20),
  ),
  paths('half a per cent', [1, 'probability'], 'bad-value', set('path.json', [1], 'probability', 9.5)),
  paths('negative probability', [1, 'probability'], 'bad-value', set('path.json', [1], 'probability', -10)),
  paths('an entry that is not there', [1, 'entry'], 'unknown-node', set('path.json', [1], 'entry', 9)),
  paths('the client as entry', [0, 'entry'], 'entry-client', set('path.json', [0], 'entry', 1)),
  paths('a node twice', [1, 'nodes', 1, 'node_id'], 'duplicate-node', nodeOf(1, 1, 'node_id', 2)),
  paths(
    'a child that is not there',
    [0, 'nodes', 0, 'childs', 0],
    'unknown-node',
    nodeOf(0, 0, 'childs', [9]),
  ),
  paths('a child twice', [1, 'nodes', 0, 'childs', 1], 'duplicate-next', nodeOf(1, 0, 'childs', [3, 3])),
  paths(
    'a misspelt service',
    [0, 'nodes', 0, 'service_name'],
    'unknown-service',
    nodeOf(0, 0, 'service_name', 'wbe'),
  ),
  paths(
    'an unknown domain',
    [0, 'nodes', 0, 'service_name'],
    'unknown-service',
    nodeOf(0, 0, 'service_domain', 'b'),
  ),
  paths(
    'a code path that is not there',
    [0, 'nodes', 0, 'code_path'],
    'path-out-of-range',
    nodeOf(0, 0, 'code_path', 1),
  ),
  paths('a code path of -2', [0, 'nodes', 0, 'code_path'], 'bad-value', nodeOf(0, 0, 'code_path', -2)),
  paths(
    'a first stage that is not there',
    [0, 'nodes', 0, 'start_stage'],
    'stage-out-of-range',
    nodeOf(0, 0, 'start_stage', 2),
  ),
  paths(
    'a last stage that is not there',
    [1, 'nodes', 1, 'end_stage'],
    'stage-out-of-range',
    nodeOf(1, 1, 'end_stage', 5),
  ),
  paths(
    'the last stage before the first',
    [1, 'nodes', 3, 'end_stage'],
    'stage-order',
    nodeOf(1, 3, 'end_stage', 0),
  ),
  paths(
    'a drawn code path from its middle',
    [0, 'nodes', 0, 'start_stage'],
    'stage-of-drawn-path',
    (files) => {
      Object.assign(at(files, 'path.json', 0, 'nodes', 0), { code_path: -1, start_stage: 1 });
      return undefined;
    },
  ),
  paths(
    'never back to the client, which the release accepts',
    [0, 'nodes', 0, 'childs'],
    'no-way-back',
    nodeOf(0, 0, 'childs', []),
  ),
  paths('on behind the client', [0, 'nodes', 1, 'childs'], 'client-goes-on', nodeOf(0, 1, 'childs', [0])),
  paths('round in a circle', [1, 'nodes', 1, 'childs'], 'cycle', nodeOf(1, 4, 'childs', [3])),
  paths('from a service to itself', [0, 'nodes', 0, 'childs', 0], 'send-to-itself', (files) => {
    const first = at(files, 'path.json', 0, 'nodes', 0);
    first.childs = [8];
    files['path.json'][0].nodes.push({ ...first, node_id: 8, childs: [1] });
    return undefined;
  }),
  paths(
    'a stage within a path that nothing goes on from',
    [1, 'nodes', 0, 'end_stage'],
    'continuation',
    nodeOf(1, 0, 'end_stage', 0),
  ),
  paths(
    'sync without its node',
    [1, 'nodes', 1, 'sync_node_id'],
    'missing-field',
    nodeOf(1, 1, 'sync_node_id', undefined),
  ),
  paths(
    'sync with a node that is not there',
    [1, 'nodes', 1, 'sync_node_id'],
    'unknown-node',
    nodeOf(1, 1, 'sync_node_id', 9),
  ),
  paths(
    'sync with another service',
    [1, 'nodes', 1, 'sync_node_id'],
    'sync-elsewhere',
    nodeOf(1, 1, 'sync_node_id', 6),
  ),
  paths(
    'sync at the end of its code path',
    [1, 'nodes', 1, 'sync_node_id'],
    'sync-at-end',
    nodeOf(1, 1, 'end_stage', -1),
  ),
  paths(
    'a reply that skips a stage',
    [1, 'nodes', 1, 'sync_node_id'],
    'sync-stage',
    nodeOf(1, 3, 'start_stage', 0),
  ),
  paths('a call whose reply never comes', [1, 'nodes', 1, 'childs', 0], 'sync-lost', (files) => {
    at(files, 'path.json', 1, 'nodes', 2).childs = [6];
    return undefined;
  }),
  paths('fan-in that waits for a node that nothing leads to', [1, 'nodes', 6], 'fan-in-starved', (files) => {
    files['path.json'][1].nodes.push({ ...at(files, 'path.json', 1, 'nodes', 2), node_id: 8, childs: [6] });
    return undefined;
  }),
  paths('no edge to the next service', [1, 'nodes', 2, 'childs', 0], 'missing-edge', (files) => {
    Object.assign(files['graph.json'].edges[1], { biDirectional: false });
    return undefined;
  }),
  paths('a thread that waits for itself', [1, 'nodes', 1, 'sync_node_id'], 'deadlock', (files) => {
    // disk → web → base → disk again, while base's thread waits for the first disk.
    const { nodes } = files['path.json'][1];
    files['graph.json'].edges.push({ source: 'disk_a', target: 'web_a', biDirectional: true });
    at(files, 'path.json', 1, 'nodes', 2).childs = [10];
    nodes.push(
      { ...nodes[0], node_id: 10, childs: [11] },
      { ...nodes[1], node_id: 11, end_stage: -1, sync: false, sync_node_id: undefined, childs: [12] },
      { ...nodes[2], node_id: 12, childs: [5] },
    );
    return undefined;
  }),

  // Models.
  web('no code path', ['paths'], 'bad-value', set('microservice/web.json', [], 'paths', [])),
  web(
    'no stage',
    ['paths', 0, 'stages'],
    'bad-value',
    set('microservice/web.json', ['paths', 0], 'stages', []),
  ),
  web(
    'more stages than there are',
    ['paths', 0, 'num_stages'],
    'bad-value',
    set('microservice/web.json', ['paths', 0], 'num_stages', 9),
  ),
  web(
    'code paths of 60 %',
    ['paths', 0, 'probability'],
    'probability-sum',
    set('microservice/web.json', ['paths', 0], 'probability', 60),
  ),
  web(
    'priority without a stage',
    ['paths', 0, 'priority'],
    'priority',
    set('microservice/web.json', ['paths', 0], 'priority', [1]),
  ),
  web(
    'priority twice',
    ['paths', 0, 'priority'],
    'priority',
    set('microservice/web.json', ['paths', 0], 'priority', [1, 1]),
  ),
  web(
    'a stage out of its place',
    ['paths', 0, 'stages', 1, 'path_stage_id'],
    'bad-value',
    stageOf('web', 1, 'path_stage_id', 0),
  ),
  web(
    'a word for a flag',
    ['paths', 0, 'stages', 0, 'batching'],
    'bad-value',
    stageOf('web', 0, 'batching', 'yes'),
  ),
  web(
    'a socket stage that takes one',
    ['paths', 0, 'stages', 1, 'batching'],
    'bad-value',
    stageOf('web', 1, 'socket', true),
  ),
  web(
    'a stage that is socket and epoll',
    ['paths', 0, 'stages', 0, 'epoll'],
    'bad-value',
    stageOf('web', 0, 'socket', true),
  ),
  web(
    'a share of 120 %',
    ['paths', 0, 'stages', 0, 'scale_factor'],
    'bad-value',
    stageOf('web', 0, 'scale_factor', 1.2),
  ),
  web('a frequency of 0', ['base_freq'], 'bad-value', set('microservice/web.json', [], 'base_freq', 0)),
  web(
    'a name twice',
    ['service_name'],
    'duplicate-model',
    set('microservice/web.json', [], 'service_name', 'base'),
  ),
  base(
    'a blocking batch',
    ['paths', 0, 'stages', 0, 'batching'],
    'bad-value',
    stageOf('base', 0, 'batching', true),
  ),
  base(
    'a critical section without a limit',
    ['paths', 0, 'stages', 1, 'thread_limit'],
    'missing-field',
    stageOf('base', 1, 'thread_limit', undefined),
  ),
  base(
    'a critical section for nobody',
    ['paths', 0, 'stages', 1, 'thread_limit'],
    'bad-value',
    stageOf('base', 1, 'thread_limit', 0),
  ),
  disk(
    'an unknown distribution',
    ['paths', 0, 'stages', 0, 'recv_time_model', 'type'],
    'bad-value',
    stageOf('disk', 0, 'recv_time_model', { type: 'normal', latency: 1 }),
  ),
  disk(
    'an exponential time of 0, by which the release divides',
    ['paths', 0, 'stages', 0, 'recv_time_model', 'latency'],
    'bad-value',
    stageOf('disk', 0, 'recv_time_model', { type: 'expo', latency: 0 }),
  ),
  disk(
    'a fraction of a ns',
    ['paths', 0, 'stages', 0, 'recv_time_model', 'latency'],
    'bad-value',
    stageOf('disk', 0, 'recv_time_model', { type: 'expo', latency: 1.5 }),
  ),
  disk(
    'chunks without a model',
    ['paths', 0, 'stages', 0, 'chunk_model'],
    'missing-field',
    stageOf('disk', 0, 'chunk_model', undefined),
  ),
  disk(
    'no chunks',
    ['paths', 0, 'stages', 0, 'chunk_model', 'number'],
    'bad-value',
    stageOf('disk', 0, 'chunk_model', { type: 'expo', number: 0 }),
  ),
];
