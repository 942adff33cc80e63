// Figures of a load sweep: latency and utilisation over load, where the time goes, and distributions.

import { exceedance } from '../../report/distributions.js';
import { type Figure, type LegendEntry, PAGE_WIDTH, panels } from '../../report/panels.js';
import { svg } from '../../report/vega.js';
import type { PointSummary, Quantile, RunSummary } from '../run/summary.js';
import { type ReferencePoint, referenceQuantile } from './reference.js';

const COLORS = ['var(--c1)', 'var(--c2)', 'var(--c3)', 'var(--c4)', 'var(--c5)', 'var(--c6)'];
const REFERENCE_COLOR = 'var(--c0)';
const HEIGHT = 210;

type Encoding = Record<string, unknown>;
interface Row {
  x: number;
  y: number;
  low?: number;
  high?: number;
  color: string;
}

const schedulersOf = (points: readonly PointSummary[]) => [
  ...new Set(points.map(({ scheduler }) => scheduler)),
];

const loadAxis = (points: readonly PointSummary[]): Encoding => ({
  field: 'x',
  type: 'quantitative',
  scale: { zero: false, nice: false },
  axis: {
    title: points[0].unit === '/s' ? 'offered load, requests/s' : 'clients',
    format: '~s',
    tickCount: 6,
  },
});

function linePanel(
  title: string,
  rows: readonly Row[],
  x: Encoding,
  y: Encoding,
  width: number,
  marks: readonly Row[] = [],
) {
  const color = { field: 'color', type: 'nominal', scale: null, legend: null };
  const detail = { field: 'color', type: 'nominal' };
  return {
    title,
    width,
    height: HEIGHT,
    layer: [
      {
        data: { values: rows.filter(({ low, high }) => low !== undefined && high !== undefined) },
        mark: { type: 'rule', strokeWidth: 1.2 },
        encoding: { x, y: { ...y, field: 'low' }, y2: { field: 'high' }, color },
      },
      {
        data: { values: rows },
        mark: { type: 'line', strokeWidth: 1.6, interpolate: 'linear' },
        encoding: { x, y, color, detail },
      },
      {
        data: { values: rows },
        mark: { type: 'point', filled: true, size: 18, opacity: 1 },
        encoding: { x, y, color },
      },
      {
        data: { values: marks },
        mark: { type: 'point', shape: 'diamond', filled: false, size: 62, strokeWidth: 1.5, opacity: 1 },
        encoding: { x, y, color },
      },
    ],
  };
}

/** Mean and quantiles over the offered load, with the reference's points beside them. */
export async function latencyOverLoad(
  summary: RunSummary,
  reference: readonly ReferencePoint[] = [],
): Promise<Figure | undefined> {
  const { points } = summary;
  if (points.length < 2) return undefined;
  const schedulers = schedulersOf(points);
  const [low, high] = [
    Math.min(...points.map(({ load }) => load)),
    Math.max(...points.map(({ load }) => load)),
  ];
  const shown = reference.filter(({ kqps }) => kqps * 1000 >= low && kqps * 1000 <= high);
  const measures: {
    title: string;
    own: (point: PointSummary) => { mean: number; half?: number } | undefined;
    theirs: (at: ReferencePoint) => number;
  }[] = [
    { title: 'mean', own: ({ mean_ms }) => mean_ms, theirs: ({ mean_ms }) => mean_ms },
    ...([0.5, 0.99] as Quantile[]).map((q) => ({
      title: `p${q * 100}`,
      own: ({ quantiles_ms, unsupported }: PointSummary) =>
        unsupported.includes(q) ? undefined : quantiles_ms[q],
      theirs: (at: ReferencePoint) => referenceQuantile(at, q),
    })),
  ];
  const width = Math.floor((PAGE_WIDTH - 2 * 24 - 3 * 58) / 3);
  const specs = measures.map(({ title, own, theirs }) => {
    const rows = points.flatMap((point): Row[] => {
      const value = own(point);
      if (value === undefined || !(value.mean > 0)) return [];
      const color = COLORS[schedulers.indexOf(point.scheduler) % COLORS.length];
      const { mean, half } = value;
      return [
        {
          x: point.load,
          y: mean,
          color,
          ...(half === undefined ? {} : { low: Math.max(mean / 10, mean - half), high: mean + half }),
        },
      ];
    });
    const marks = shown.map((at): Row => ({ x: at.kqps * 1000, y: theirs(at), color: REFERENCE_COLOR }));
    const y = {
      field: 'y',
      type: 'quantitative',
      scale: { type: 'log', nice: true },
      axis: { title: 'latency, ms', format: '~g', tickCount: 5 },
    };
    return linePanel(title, rows, loadAxis(points), y, width, marks);
  });
  const legend: LegendEntry[] = [
    ...(schedulers.length > 1 || shown.length > 0
      ? schedulers.map((label, i) => ({
          label: schedulers.length > 1 ? label : 'vtime',
          color: COLORS[i % COLORS.length],
          kind: 'line' as const,
        }))
      : []),
    ...(shown.length > 0 ? [{ label: 'reference', color: REFERENCE_COLOR, kind: 'mark' as const }] : []),
  ];
  const n = points[0].seeds.length;
  return {
    svg: await svg(panels(specs), 'Latency over the offered load'),
    caption: `Latency from the client’s side over the offered load, logarithmic. n = ${n} replication${n === 1 ? '' : 's'} per point${n > 1 ? '; bars: 95 % intervals over them' : ''}.${shown.length > 0 ? ' Diamonds: the reference.' : ''}`,
    legend,
  };
}

/** Utilisation of each tier's cores over the load. */
export async function utilisationOverLoad({ points }: RunSummary): Promise<Figure | undefined> {
  if (points.length < 2) return undefined;
  const schedulers = schedulersOf(points);
  const tiers = points[0].tiers.filter((_, i) =>
    points.some(({ tiers }) => (tiers[i].utilisation?.mean ?? 0) > 0.001),
  );
  // The busiest ones; the others would only be lines at the bottom.
  const peak = (name: string) =>
    Math.max(
      ...points.map((point) => point.tiers.find((tier) => tier.name === name)?.utilisation?.mean ?? 0),
    );
  const names = tiers
    .map(({ name }) => name)
    .sort((a, b) => peak(b) - peak(a))
    .slice(0, COLORS.length);
  const width = Math.min(420, Math.floor((PAGE_WIDTH - 2 * 24 - 3 * 58) / Math.min(3, schedulers.length)));
  const specs = schedulers.map((scheduler) => {
    const rows = points
      .filter((point) => point.scheduler === scheduler)
      .flatMap((point) =>
        names.flatMap((name, i): Row[] => {
          const used = point.tiers.find((tier) => tier.name === name)?.utilisation;
          return used === undefined ? [] : [{ x: point.load, y: used.mean, color: COLORS[i] }];
        }),
      );
    const y = {
      field: 'y',
      type: 'quantitative',
      scale: { domain: [0, 1] },
      axis: { title: 'share of the cores’ time', format: '.0%', tickCount: 5 },
    };
    return linePanel(schedulers.length > 1 ? scheduler : '', rows, loadAxis(points), y, width);
  });
  return {
    svg: await svg(panels(specs), 'Utilisation of tiers over the offered load'),
    caption: `Utilisation of each tier’s cores, until the last reply${names.length < tiers.length ? `; the ${names.length} busiest of ${tiers.length} tiers` : ''}.`,
    legend: names.map((label, i) => ({ label, color: COLORS[i], kind: 'line' as const })),
  };
}

/** Time per request in each tier, stacked. */
export async function tierBreakdown({ points, knees }: RunSummary): Promise<Figure | undefined> {
  // Beyond saturation the backlog grows with the length of the run, and would flatten all other bars.
  const isSustained = ({ scheduler, load }: PointSummary) =>
    knees.every(
      (knee) => knee.scheduler !== scheduler || knee.sustained === undefined || load <= knee.sustained,
    );
  const shown = points.filter(
    (point) => isSustained(point) && point.tiers.some(({ mean_ms }) => mean_ms !== undefined),
  );
  if (shown.length === 0) return undefined;
  const schedulers = schedulersOf(points);
  const total = (name: string) =>
    shown.reduce((sum, { tiers }) => {
      const tier = tiers.find((own) => own.name === name);
      return sum + (tier?.mean_ms?.mean ?? 0) * (tier?.visits ?? 0);
    }, 0);
  const all = [...new Set(shown.flatMap(({ tiers }) => tiers.map(({ name }) => name)))].filter(
    (name) => total(name) > 0,
  );
  const names = [...all].sort((a, b) => total(b) - total(a)).slice(0, COLORS.length);
  const rows = shown.flatMap((point) =>
    all.map((name) => {
      const tier = point.tiers.find((own) => own.name === name);
      const place = names.indexOf(name);
      return {
        load: `${point.load >= 1000 ? `${point.load / 1000}k` : point.load}${schedulers.length > 1 ? ` ${point.scheduler}` : ''}`,
        time: (tier?.mean_ms?.mean ?? 0) * (tier?.visits ?? 0),
        order: place < 0 ? names.length : place,
        color: place < 0 ? 'var(--open)' : COLORS[place],
      };
    }),
  );
  const spec = {
    width: Math.min(PAGE_WIDTH - 80, Math.max(160, shown.length * 46)),
    height: HEIGHT,
    data: { values: rows },
    mark: { type: 'bar', stroke: 'var(--page)', strokeWidth: 0.5 },
    encoding: {
      x: {
        field: 'load',
        type: 'nominal',
        sort: null,
        axis: { title: points[0].unit === '/s' ? 'offered load, requests/s' : 'clients', labelAngle: 0 },
      },
      y: {
        field: 'time',
        type: 'quantitative',
        aggregate: 'sum',
        axis: { title: 'ms per request', tickCount: 5 },
      },
      color: { field: 'color', type: 'nominal', scale: null, legend: null },
      order: { field: 'order' },
    },
  };
  return {
    svg: await svg(spec, 'Time per request in each tier'),
    caption: `Mean time of a request in each tier: visits × mean time from arrival at the service to the end of the visit. Without the network; what runs in parallel counts for each.${shown.length < points.length ? ' Loads below saturation.' : ''}${names.length < all.length ? ` Grey: ${all.length - names.length} more tiers.` : ''}`,
    legend: names.map((label, i) => ({ label, color: COLORS[i], kind: 'area' as const })),
  };
}

/** Complementary distribution functions at up to six of the loads. */
export async function latencyDistributions({ points }: RunSummary): Promise<Figure | undefined> {
  const step = Math.max(1, (points.length - 1) / (COLORS.length - 1));
  const chosen = [
    ...new Set(COLORS.map((_, i) => points[Math.min(points.length - 1, Math.round(i * step))])),
  ];
  const curves = chosen.flatMap((point) => {
    const curve = exceedance(point.latency).filter(({ x }) => x > 0);
    return curve.length < 2 ? [] : [{ point, curve }];
  });
  if (curves.length === 0) return undefined;
  const several = schedulersOf(points).length > 1;
  const spec = {
    width: 520,
    height: 230,
    data: { values: curves.flatMap(({ curve }, i) => curve.map((at) => ({ ...at, color: COLORS[i] }))) },
    mark: { type: 'line', strokeWidth: 1.6, interpolate: 'linear' },
    encoding: {
      x: {
        field: 'x',
        type: 'quantitative',
        scale: { type: 'log', nice: false },
        axis: { title: 'latency, ms', format: '~g', tickCount: 6 },
      },
      y: {
        field: 'above',
        type: 'quantitative',
        scale: { type: 'log', nice: false, domainMax: 1 },
        axis: {
          title: 'share of requests above',
          values: [1, 0.1, 0.01, 0.001, 0.0001, 0.00001],
          labelExpr: "format(100 * datum.value, '~r') + ' %'",
        },
      },
      detail: { field: 'color', type: 'nominal' },
      color: { field: 'color', type: 'nominal', scale: null, legend: null },
    },
  };
  return {
    svg: await svg(spec, 'Share of requests above each latency'),
    caption:
      'Share of requests that took longer, both axes logarithmic; all replications merged. A curve ends where ten are left.',
    legend: curves.map(({ point }, i) => ({
      label: `${point.load.toLocaleString('en-US')}${point.unit === '/s' ? '/s' : ' clients'}${several ? `, ${point.scheduler}` : ''}`,
      color: COLORS[i],
      kind: 'line' as const,
    })),
  };
}
