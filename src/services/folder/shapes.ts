// The files of a µqSim folder: what each field is, in the release (times in whole ns, probabilities in percent), in the format
// before it (µs and fractions), and in a fork's (links between machines). Every field is mandatory unless said otherwise, as in the
// release; unknown fields, which the release ignores, are warnings.

import * as z from 'zod';
import { section, show } from '../../config/schema/values.js';

function whole(what: string, minimum = 0) {
  return z.any().superRefine((value: unknown, context) => {
    const fail = (message: string) => context.addIssue({ code: 'custom', message, input: value });
    if (value === undefined) fail(`missing; expected ${what}`);
    else if (typeof value !== 'number') fail(`expected ${what}, got ${show(value)}`);
    else if (!Number.isInteger(value))
      fail(`expected ${what}, got ${value}, which the release cuts to ${Math.trunc(value)}`);
    else if (value < minimum)
      fail(
        `expected ${what}${minimum > 0 ? ` of at least ${minimum}` : ', not a negative one'}, got ${value}`,
      );
    else if (!Number.isSafeInteger(value)) fail(`expected ${what}, got ${value}, which is too large`);
  }) as unknown as z.ZodType<number>;
}

function real(what: string, minimum: number, maximum = Number.MAX_SAFE_INTEGER) {
  return z.any().superRefine((value: unknown, context) => {
    const fail = (message: string) => context.addIssue({ code: 'custom', message, input: value });
    if (value === undefined) fail(`missing; expected ${what}`);
    else if (typeof value !== 'number') fail(`expected ${what}, got ${show(value)}`);
    else if (value < minimum || value > maximum) {
      fail(
        `expected ${what} ${maximum === Number.MAX_SAFE_INTEGER ? `of at least ${minimum}` : `from ${minimum} to ${maximum}`}, got ${value}`,
      );
    }
  }) as unknown as z.ZodType<number>;
}

const text = z.string({
  error: (issue) =>
    issue.input === undefined ? 'missing; expected a text' : `expected a text, got ${show(issue.input)}`,
});
const flag = z.boolean({
  error: (issue) =>
    issue.input === undefined
      ? 'missing; expected true or false'
      : `expected true or false, got ${show(issue.input)}`,
});
function list<Item extends z.ZodType>(item: Item, what: string) {
  return z.array(item, {
    error: (issue) =>
      issue.input === undefined
        ? `missing; expected a list of ${what}`
        : `expected a list of ${what}, got ${show(issue.input)}`,
  });
}
function word<const Words extends readonly [string, ...string[]]>(...words: Words) {
  return z.enum(words, {
    error: (issue) =>
      issue.input === undefined
        ? `missing; expected one of ${words.join(', ')}`
        : `expected one of ${words.join(', ')}, got ${show(issue.input)}`,
  });
}

/** ns in the release, µs before. */
export interface Units {
  old: boolean;
}

const cores = list(whole('the number of a core'), 'cores').refine((value) => value.length > 0, {
  error: 'expected at least one core',
});

const queueAffinity = list(
  section({ queue: whole('the number of a queue'), cores }),
  'queues with cores',
).optional();
const threadAffinity = list(
  section({ thread: whole('the number of a thread'), cores }),
  'threads with cores',
).optional();
const cmt = section({
  type: z.literal('CMT'),
  num_threads: whole('a number of threads', 1),
  cores,
  core_affinity: threadAffinity,
});
function queues<Type extends string>(type: Type) {
  return section({
    type: z.literal(type),
    num_queues: whole('a number of queues', 1),
    cores,
    core_affinity: queueAffinity,
  });
}

const TYPES = {
  error: (issue: { code?: string; input?: unknown }) => {
    const type =
      typeof issue.input === 'object' && issue.input !== null
        ? Reflect.get(issue.input, 'type')
        : issue.input;
    return type === undefined
      ? 'missing; expected the type of a scheduler: CMT, Simplified or, for the network stack, LinuxNetStack'
      : `expected the type CMT, Simplified or, for the network stack, LinuxNetStack, got ${show(type)}`;
  },
};
const networkScheduler = z.discriminatedUnion(
  'type',
  [cmt, queues('Simplified'), queues('LinuxNetStack')],
  TYPES,
);
const scheduler = z.discriminatedUnion('type', [cmt, queues('Simplified')], TYPES);
export type Scheduler = z.output<typeof networkScheduler>;

const machine = section({
  machine_id: whole('the number of the machine'),
  name: text,
  total_cores: whole('a number of cores', 1),
  net_stack_sched: networkScheduler,
});

const machineList = list(machine, 'machines').refine((value) => value.length > 0, {
  error: 'expected at least one machine',
});

function linkedMachines({ old }: Units) {
  const latency = old ? real('a latency in µs', 0) : whole('a latency in whole ns');
  return section({
    machines: machineList,
    links: list(
      section({
        machine_id_1: whole('the number of a machine'),
        machine_id_2: whole('the number of a machine'),
        latency,
        capacity: real('a capacity', 0).optional(),
      }),
      'links',
    ),
    client_latency: latency,
  });
}

/** A list of machines, or with links between them as in a fork. */
export function machinesShape(value: unknown, units: Units) {
  return Array.isArray(value) || value === undefined ? machineList : linkedMachines(units);
}
export type Machine = z.output<typeof machine>;
export interface LinkedMachines {
  machines: Machine[];
  links: { machine_id_1: number; machine_id_2: number; latency: number }[];
  client_latency: number;
}

function service({ old }: Units) {
  return section({
    service_name: text,
    service_domain: text,
    instance_name: text,
    model_name: old ? text.optional() : text,
    machine_id: whole('the number of a machine'),
    scheduler,
  });
}
const edge = section({ source: text, target: text, biDirectional: flag });

/** `linked`: latencies are those of links, as in a fork. */
export function graphShape(units: Units, linked: boolean) {
  const latency = units.old ? real('a latency in µs', 0) : whole('a latency in whole ns');
  return section({
    net_latency: linked ? latency.optional() : latency,
    microservices: list(service(units), 'instances').refine((value) => value.length > 0, {
      error: 'expected at least one instance',
    }),
    edges: list(edge, 'edges'),
  });
}
export type Graph = z.output<ReturnType<typeof graphShape>>;

const node = section({
  node_id: whole('the number of the node'),
  service_name: text,
  service_domain: text,
  code_path: z.int({ error: (issue) => integerMessage(issue.input, 'a code path, or -1') }).min(-1, {
    error: (issue) => `expected a code path, or -1, got ${show(issue.input)}`,
  }),
  start_stage: whole('a stage of the code path'),
  end_stage: z
    .int({ error: (issue) => integerMessage(issue.input, 'a stage of the code path, or -1') })
    .min(-1, {
      error: (issue) => `expected a stage of the code path, or -1, got ${show(issue.input)}`,
    }),
  sync: flag,
  sync_node_id: whole('the number of a node').optional(),
  childs: list(whole('the number of a node'), 'numbers of nodes'),
});
export type PathNode = z.output<typeof node>;

function integerMessage(input: unknown, what: string): string {
  return input === undefined ? `missing; expected ${what}` : `expected ${what}, got ${show(input)}`;
}

export function pathShape({ old }: Units) {
  return list(
    section({
      micro_service_path_id: whole('the number of the path'),
      entry: whole('the number of a node'),
      probability: old ? real('a probability', 0, 1) : whole('a whole percentage'),
      nodes: list(node, 'nodes').refine((value) => value.length > 0, { error: 'expected at least one node' }),
    }),
    'paths',
  ).refine((value) => value.length > 0, { error: 'expected at least one path' });
}
export type Paths = z.output<ReturnType<typeof pathShape>>;

export const clientShape = section({
  monitor_interval_sec: real('a time in s', 0),
  epoch_end_sec: list(real('a time in s', 0), 'ends of epochs in s'),
  epoch_qps: list(whole('a number of requests per second', 1), 'numbers of requests per second'),
}).superRefine(({ epoch_end_sec: ends, epoch_qps: rates }, context) => {
  const fail = (path: (string | number)[], message: string) =>
    context.addIssue({ code: 'custom', message, path, input: ends });
  if (ends.length === 0) fail(['epoch_end_sec'], 'expected at least one epoch');
  if (ends.length !== rates.length) {
    fail(['epoch_qps'], `there are ${ends.length} ends of epochs, but ${rates.length} rates`);
  }
  for (let i = 0; i < ends.length; i++) {
    if (ends[i] <= (ends[i - 1] ?? 0)) fail(['epoch_end_sec', i], 'ends of epochs must ascend from above 0');
  }
});
export type ClientFile = z.output<typeof clientShape>;

function timeModel({ old }: Units) {
  const latency = old ? real('a latency in µs', 0) : whole('a latency in whole ns');
  return section({ type: word('expo', 'const'), latency }).superRefine((value, context) => {
    if (value.type !== 'expo' || value.latency !== 0) return;
    context.addIssue({
      code: 'custom',
      message: 'an exponential time needs a mean above 0; the release divides by it',
      path: ['latency'],
    });
  });
}

function stage(units: Units) {
  return section({
    stage_name: text,
    code_path_id: whole('the number of the code path'),
    path_stage_id: whole('the position of the stage'),
    stage_id: whole('the number of the stage'),
    blocking: flag,
    batching: flag,
    socket: flag,
    epoll: flag,
    ngx_proc: units.old ? flag.default(false) : flag,
    net: flag,
    chunk: flag,
    critical_section: flag,
    thread_limit: whole('a number of threads', 1).optional(),
    scale_factor: units.old ? real('a share', 0, 1).default(0) : real('a share', 0, 1),
    recv_time_model: timeModel(units),
    // Parsed by the release and used by nothing in it.
    resp_time_model: timeModel(units).optional(),
    // Of a version that was not released: without a histogram in the file, the release's time model is all there is.
    use_histogram: flag.optional(),
    chunk_model: section({ type: word('expo', 'const'), number: whole('a number of chunks', 1) }).optional(),
  }).superRefine((value, context) => {
    const fail = (path: string[], message: string) => context.addIssue({ code: 'custom', message, path });
    if (value.critical_section && value.thread_limit === undefined) {
      fail(['thread_limit'], 'missing; a critical section needs a limit');
    }
    if (value.chunk && value.chunk_model === undefined)
      fail(['chunk_model'], 'missing; the stage is in chunks');
    if (value.socket && !value.batching) fail(['batching'], 'a socket stage is a batching one');
    if (value.socket && value.epoll) fail(['epoll'], 'a stage is socket or epoll, not both');
    if (value.blocking && value.batching) fail(['batching'], 'a blocking stage cannot be a batching one');
    if (value.chunk && value.batching) fail(['batching'], 'a stage in chunks cannot be a batching one');
  });
}
export type Stage = z.output<ReturnType<typeof stage>>;

function frequency({ old }: Units) {
  const shape = whole('a frequency in MHz', 1);
  return old ? shape.default(2600) : shape;
}

export function modelShape(units: Units) {
  const path = section({
    code_path_id: whole('the number of the code path'),
    num_stages: whole('a number of stages', 1),
    probability: (units.old ? real('a probability', 0, 1) : whole('a whole percentage')).optional(),
    priority: list(whole('the position of a stage'), 'positions of stages').optional(),
    stages: list(stage(units), 'stages').refine((value) => value.length > 0, {
      error: 'expected at least one stage',
    }),
  }).superRefine((value, context) => {
    const fail = (path: (string | number)[], message: string) =>
      context.addIssue({ code: 'custom', message, path });
    if (value.num_stages !== value.stages.length) {
      fail(['num_stages'], `is ${value.num_stages}, but there are ${value.stages.length} stages`);
    }
    value.stages.forEach(({ path_stage_id: position }, i) => {
      if (position !== i)
        fail(['stages', i, 'path_stage_id'], `is ${position}, but the stage is number ${i} of its path`);
    });
  });
  return section({
    service_name: text,
    type: text,
    bind_connection: flag,
    base_freq: frequency(units),
    cur_freq: frequency(units),
    paths: list(path, 'code paths').refine((value) => value.length > 0, {
      error: 'expected at least one code path',
    }),
  });
}
export type ModelFile = z.output<ReturnType<typeof modelShape>>;
