// The stages of a model: each path as a row of queues and what serves them.

import type { Time } from '../../config/schema.js';
import { durationNs } from '../../config/units.js';
import { VtimeError } from '../../errors.js';
import {
  NONE,
  type ResolvedModel,
  type ResolvedServices,
  type ResolvedStage,
  type StageDraw,
} from '../resolved.js';
import { arrowSvg, boxSize, boxSvg, drawing, type Line, textSvg } from './drawing.js';

const MARGIN = 16;
const GAP = { x: 44, y: 16 };
const HEADING = 24;

/** 19.75 µs, 5 ms: up to four digits. */
export function timeText(ns: number): string {
  const [value, unit] =
    ns >= 1e9 ? [ns / 1e9, 's'] : ns >= 1e6 ? [ns / 1e6, 'ms'] : ns >= 1000 ? [ns / 1000, 'µs'] : [ns, 'ns'];
  return `${Number(value.toPrecision(4))} ${unit}`;
}

const nsOf = (text: string) => Number(durationNs(text));

function distributionText(time: Time): string {
  if (typeof time === 'string') return timeText(nsOf(time));
  if ('exponential' in time) return `exponential, ${timeText(nsOf(time.exponential))}`;
  if ('uniform' in time) return `uniform, ${time.uniform.map((text) => timeText(nsOf(text))).join('–')}`;
  if ('lognormal' in time) return `log-normal, median ${timeText(nsOf(time.lognormal.median))}`;
  if ('hyperexponential' in time)
    return `hyperexponential, ${time.hyperexponential.means.map((text) => timeText(nsOf(text))).join(' and ')}`;
  if ('pareto' in time) return `Pareto, from ${timeText(nsOf(time.pareto.minimum))}`;
  const { points } = time.empirical;
  return `measured, ${timeText(nsOf(points[0][1]))}–${timeText(nsOf(points[points.length - 1][1]))}`;
}

function drawText(time: StageDraw): string {
  if (time.kind === 'draw') return distributionText(time.time);
  const drawn = time.draw === 'exponential' ? 'exponential, ' : '';
  if (time.kind === 'linear')
    return `${drawn}${timeText(time.base_ns)} + ${timeText(time.each_ns)} per ${time.of.replace(/s$/, '')}`;
  const means = time.points.map(([, mean]) => mean);
  return `${drawn}${timeText(means[0])}–${timeText(means[means.length - 1])} by ${time.of}`;
}

function takeText({ take: { kind, limit } }: ResolvedStage): string {
  const bound = limit === 0 ? '' : ` (at most ${limit})`;
  if (kind === 'first')
    return limit === 1 ? 'takes one job' : limit === 0 ? 'takes all jobs' : `takes the first ${limit}`;
  if (kind === 'connection') return `takes a connection's jobs${bound}`;
  return limit === 1 ? 'takes the first of each connection' : `takes the jobs of each connection${bound}`;
}

function linesOf(stage: ResolvedStage): Line[] {
  const time =
    stage.times.length === 1 ? drawText(stage.times[0].time) : `${stage.times.length} measured settings`;
  const { repeat } = stage;
  const repeated =
    repeat.draw === 'exponential'
      ? ` × ⌈exponential ${repeat.number}⌉`
      : repeat.number > 1
        ? ` × ${repeat.number}`
        : '';
  const extra = [
    ...(stage.blocks_thread ? ['blocks its thread'] : []),
    ...(stage.critical_section > 0
      ? [`at most ${stage.critical_section} thread${stage.critical_section === 1 ? '' : 's'} inside`]
      : []),
    ...(stage.leaves === 'network' ? ['leaves by the network'] : []),
  ];
  return [
    { text: stage.name, bold: true },
    { text: time + repeated },
    ...[takeText(stage), ...extra].map((text) => ({ text, muted: true })),
  ];
}

/** SVG of a model's paths; a stage that several paths share has the same colour in each. */
export function stagesGraph(services: ResolvedServices, model: ResolvedModel, standalone = true): string {
  const isDrawn = services.requests.some(({ nodes }) =>
    nodes.some(
      ({ service, path }) => path === NONE && services.models[services.services[service].model] === model,
    ),
  );
  const lines = model.stages.map(linesOf);
  const sizes = lines.map(boxSize);
  const uses = model.stages.map(
    (_, stage) => model.paths.filter(({ stages }) => stages.includes(stage)).length,
  );
  const shared = model.stages.map((_, stage) => stage).filter((stage) => uses[stage] > 1);
  // Stages that stand in the same column of every path are as wide, so that they line up.
  const columns = Math.max(...model.paths.map(({ stages }) => stages.length));
  const columnWidths = Array.from({ length: columns }, (_, column) =>
    Math.max(
      0,
      ...model.paths.map(({ stages }) => (column < stages.length ? sizes[stages[column]].width : 0)),
    ),
  );
  const parts: string[] = [];
  let y = MARGIN;
  let width = 0;
  for (const path of model.paths) {
    const share = isDrawn ? `, ${Number((100 * path.probability).toPrecision(3))} % of the visits` : '';
    parts.push(textSvg(MARGIN, y + 12, `${path.name}${share}`));
    y += HEADING;
    const height = Math.max(...path.stages.map((stage) => sizes[stage].height));
    let x = MARGIN;
    path.stages.forEach((stage, column) => {
      const box = { x, y, width: columnWidths[column], height };
      const colour = shared.indexOf(stage);
      parts.push(boxSvg(box, lines[stage], colour < 0 ? {} : { accent: `var(--c${1 + (colour % 6)})` }));
      const right = x + columnWidths[column];
      if (column + 1 < path.stages.length)
        parts.push(arrowSvg({ x: right, y: y + height / 2 }, { x: right + GAP.x, y: y + height / 2 }));
      x = right + GAP.x;
      width = Math.max(width, right);
    });
    y += height + GAP.y;
  }
  return drawing(width + MARGIN, y - GAP.y + MARGIN, parts.join('\n'), `Stages of ${model.name}`, standalone);
}

/** The model of a service, by the service's or the model's name. */
export function modelNamed(services: ResolvedServices, name: string): ResolvedModel {
  const service = services.services.find((candidate) => candidate.name === name);
  const model =
    service === undefined
      ? services.models.find((candidate) => candidate.name === name)
      : services.models[service.model];
  if (model !== undefined) return model;
  throw new VtimeError('unknown_service', `there is no service or model "${name}"`, {
    value: name,
    expected: services.services.map((candidate) => candidate.name).join(', '),
  });
}
