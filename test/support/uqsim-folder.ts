// A small µqSim folder: a web server, a database, and its disk, for which the database's thread waits.

import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

type Json = Record<string, unknown>;

const stage = (name: string, id: number, position: number, more: Json = {}): Json => ({
  stage_name: name,
  code_path_id: 0,
  path_stage_id: position,
  stage_id: id,
  blocking: false,
  batching: false,
  socket: false,
  epoll: false,
  ngx_proc: false,
  net: false,
  chunk: false,
  critical_section: false,
  scale_factor: 0.5,
  recv_time_model: { type: 'expo', latency: 10000 },
  ...more,
});

const model = (name: string, stages: Json[]): Json => ({
  service_name: name,
  type: 'micro_service',
  bind_connection: true,
  base_freq: 2600,
  cur_freq: 2600,
  paths: [
    {
      code_path_id: 0,
      num_stages: stages.length,
      probability: 100,
      priority: stages.map((_, i) => i),
      stages,
    },
  ],
});

const stackPath = (i: number): Json => ({
  code_path_id: i,
  num_stages: 1,
  stages: [stage(`net_${i}`, i, 0, { code_path_id: i, net: true, scale_factor: 0 })],
});

const machine = (id: number): Json => ({
  machine_id: id,
  name: `machine_${id}`,
  total_cores: 8,
  net_stack_sched: {
    type: 'LinuxNetStack',
    num_queues: 2,
    cores: [0, 1],
    core_affinity: [
      { queue: 0, cores: [0] },
      { queue: 1, cores: [1] },
    ],
  },
});

const node = (id: number, service: string, childs: number[], more: Json = {}): Json => ({
  node_id: id,
  service_name: service,
  service_domain: '',
  code_path: 0,
  start_stage: 0,
  end_stage: -1,
  sync: false,
  childs,
  ...more,
});

const instance = (service: string, machine_id: number, scheduler: Json): Json => ({
  service_name: service,
  service_domain: '',
  instance_name: `${service}_a`,
  model_name: service,
  machine_id,
  scheduler,
});

/** Files by name, fresh for each caller. */
export function smallFolder() {
  return {
    'client.json': { monitor_interval_sec: 1, epoch_end_sec: [1, 2], epoch_qps: [100, 200] } as Json,
    'machines.json': [machine(0), machine(1)],
    'graph.json': {
      net_latency: 65000,
      microservices: [
        instance('web', 0, {
          type: 'CMT',
          num_threads: 2,
          cores: [2, 3],
          core_affinity: [{ thread: 0, cores: [2] }],
        }),
        instance('base', 1, { type: 'CMT', num_threads: 4, cores: [2, 3] }),
        instance('disk', 1, {
          type: 'Simplified',
          num_queues: 1,
          cores: [4],
          core_affinity: [{ queue: 0, cores: [4] }],
        }),
      ],
      edges: [
        { source: 'web_a', target: 'base_a', biDirectional: true },
        { source: 'base_a', target: 'disk_a', biDirectional: true },
      ],
    } as { net_latency: unknown; microservices: Json[]; edges: Json[] },
    'path.json': [
      {
        micro_service_path_id: 0,
        entry: 0,
        probability: 90,
        nodes: [node(0, 'web', [1]), node(1, 'client', [], { code_path: -1 })],
      },
      {
        micro_service_path_id: 1,
        entry: 2,
        probability: 10,
        nodes: [
          node(2, 'web', [3]),
          node(3, 'base', [4], { end_stage: 0, sync: true, sync_node_id: 5 }),
          node(4, 'disk', [5]),
          node(5, 'base', [6], { start_stage: 1 }),
          node(6, 'web', [7]),
          node(7, 'client', [], { code_path: -1 }),
        ],
      },
    ] as { micro_service_path_id: unknown; entry: unknown; probability: unknown; nodes: Json[] }[],
    'microservice/web.json': model('web', [
      stage('epoll', 0, 0, { batching: true, epoll: true }),
      stage('handler', 1, 1, { ngx_proc: true, net: true }),
    ]),
    'microservice/base.json': model('base', [
      stage('ask', 0, 0, { blocking: true }),
      stage('answer', 1, 1, { net: true, critical_section: true, thread_limit: 1 }),
    ]),
    'microservice/disk.json': model('disk', [
      stage('io', 0, 0, { chunk: true, chunk_model: { type: 'expo', number: 2 } }),
    ]),
    'microservice/net_stack.json': { ...model('net_stack', []), paths: [0, 1, 2, 3].map(stackPath) },
  };
}

export type SmallFolder = ReturnType<typeof smallFolder>;

/** Writes the files below `folder`; a text as it is, everything else as JSON. */
export function writeFolder(folder: string, files: Record<string, unknown>): void {
  for (const [name, content] of Object.entries(files)) {
    if (content === undefined) continue;
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    writeFileSync(
      join(folder, name),
      typeof content === 'string' ? content : JSON.stringify(content, null, 1),
    );
  }
}
