// The dependency graph: the client, the services in the order in which requests come to them, and calls per request.

import { CLIENT, type ResolvedServices } from '../resolved.js';
import { dependencies } from './dependencies.js';
import { arrowSvg, boxSize, boxSvg, drawing, type Line, labelSvg } from './drawing.js';
import { layered } from './layers.js';

const MARGIN = 16;
const GAP = { x: 92, y: 18 };
/** Alike services from so many on are drawn as one. */
const MANY = 9;

interface Group {
  services: number[];
  lines: Line[];
  layer: number;
}

/** 0.14, 3, 100: no more digits than tell something. */
const rateText = (value: number) => `${Number(value.toPrecision(3))}`;

function linesOf(services: ResolvedServices, members: readonly number[]): Line[] {
  const [first] = members;
  const service = services.services[first];
  const instances = service.instances.map((i) => services.instances[i]);
  const machines = new Set(
    members.flatMap((i) => services.services[i].instances.map((j) => services.instances[j].machine)),
  );
  const [{ execution }] = instances;
  const last = services.services[members[members.length - 1]];
  const title = members.length === 1 ? service.name : `${service.name} … ${last.name}`;
  const kind = execution.kind === 'threads' ? 'thread' : 'queue';
  const each = `${execution.number} ${kind}${execution.number === 1 ? '' : 's'} on ${execution.cores.length} core${execution.cores.length === 1 ? '' : 's'}`;
  const copies =
    members.length > 1
      ? `${members.length} services, each `
      : instances.length > 1
        ? `${instances.length} instances, each `
        : '';
  const names = [...machines].map((machine) => services.machines[machine].name);
  return [
    { text: title, bold: true },
    ...(services.models[service.model].name === service.name
      ? []
      : [{ text: `model ${services.models[service.model].name}` }]),
    { text: `${copies}${each}`, muted: true },
    { text: names.length > 3 ? `on ${names.length} machines` : `on ${names.join(', ')}`, muted: true },
  ];
}

/** Services that differ in nothing but name and machine, and have the same calls, as one group. */
function groupsOf(services: ResolvedServices): {
  groups: Group[];
  groupOf: Map<number, number>;
  calls: ReturnType<typeof dependencies>['calls'];
} {
  const { calls, depth } = dependencies(services);
  const deepest = Math.max(0, ...depth);
  const alike = new Map<string, number[]>();
  services.services.forEach(({ model, instances }, i) => {
    const own = calls
      .filter(({ from, to }) => from === i || to === i)
      .map((call) => [
        call.from === i ? 'self' : call.from,
        call.to === i ? 'self' : call.to,
        call.per_request,
      ]);
    const { kind, number, cores } = services.instances[instances[0]].execution;
    const key = JSON.stringify([model, instances.length, kind, number, cores.length, own]);
    alike.set(key, [...(alike.get(key) ?? []), i]);
  });
  const groups: Group[] = [
    {
      services: [CLIENT],
      lines: [
        { text: 'client', bold: true },
        { text: clientText(services), muted: true },
      ],
      layer: 0,
    },
  ];
  const groupOf = new Map([[CLIENT, 0]]);
  for (const members of alike.values()) {
    for (const own of members.length >= MANY ? [members] : members.map((i) => [i])) {
      for (const i of own) groupOf.set(i, groups.length);
      groups.push({
        services: own,
        lines: linesOf(services, own),
        layer: depth[own[0]] < 0 ? deepest + 2 : depth[own[0]] + 1,
      });
    }
  }
  return { groups, groupOf, calls };
}

function clientText({ client }: ResolvedServices): string {
  if (client.loop === 'closed') return `${client.clients} in a closed loop`;
  const rates = client.epochs.map(({ rate_per_s }) => rate_per_s);
  if (rates.length === 0) return 'open loop';
  const [low, high] = [Math.min(...rates), Math.max(...rates)];
  return low === high
    ? `${low.toLocaleString('en-US')}/s`
    : `${low.toLocaleString('en-US')}–${high.toLocaleString('en-US')}/s`;
}

/** SVG of the dependency graph. Labels are mean calls per request, where they are not one. */
export function servicesGraph(services: ResolvedServices, standalone = true): string {
  const { groups, groupOf, calls } = groupsOf(services);
  const sizes = groups.map(({ lines }) => boxSize(lines));
  const edges = new Map<string, { from: number; to: number; per_request: number }>();
  for (const { from, to, per_request } of calls) {
    const [a, b] = [groupOf.get(from) ?? 0, groupOf.get(to) ?? 0];
    const known = edges.get(`${a} ${b}`);
    if (known === undefined) edges.set(`${a} ${b}`, { from: a, to: b, per_request });
    else known.per_request += per_request;
  }
  const pairs = [...edges.values()].map(({ from, to }) => [from, to] as const);
  const { places, width, height } = layered(
    groups.map(({ layer }, i) => ({ layer, ...sizes[i] })),
    pairs,
    GAP,
  );
  const parts: string[] = [];
  const labels: string[] = [];
  for (const { from, to, per_request } of edges.values()) {
    const [a, b] = [places[from], places[to]];
    const start = { x: MARGIN + a.x + sizes[from].width, y: MARGIN + a.y + sizes[from].height / 2 };
    const end = { x: MARGIN + b.x, y: MARGIN + b.y + sizes[to].height / 2 };
    parts.push(arrowSvg(start, end, 1 + Math.min(2, Math.log2(1 + per_request) / 2)));
    if (Math.abs(per_request - 1) > 1e-9)
      labels.push(labelSvg((start.x + end.x) / 2, (start.y + end.y) / 2, `× ${rateText(per_request)}`));
  }
  groups.forEach(({ lines, services: members }, i) => {
    const box = { x: MARGIN + places[i].x, y: MARGIN + places[i].y, ...sizes[i] };
    const visited = members[0] === CLIENT || calls.some(({ to }) => to === members[0]);
    parts.push(
      boxSvg(box, lines, { dashed: !visited, ...(members[0] === CLIENT ? { accent: 'var(--accent)' } : {}) }),
    );
  });
  return drawing(
    width + 2 * MARGIN,
    height + 2 * MARGIN,
    parts.join('\n') + labels.join('\n'),
    `Services of ${services.name} and their calls per request`,
    standalone,
  );
}
