// Vega-Lite specifications to SVG text, without a browser. Colours are CSS variables, so that one figure suits light and
// dark pages; see style.ts for their values.

import type { Config, TopLevelSpec } from 'vega-lite';

const FONT = 'system-ui, -apple-system, Segoe UI, Roboto, Helvetica, Arial, sans-serif';

/** Mean advance of a character over its font size, in the widest of those fonts. */
const ADVANCE = 0.58;

export function textWidth(text: string, fontSize = 11): number {
  return Math.ceil(text.length * fontSize * ADVANCE);
}

/** The libraries take a fifth of a second to load, which commands that draw nothing need not wait for. */
async function loadVega() {
  const [vega, { compile }] = await Promise.all([import('vega'), import('vega-lite')]);
  // Without a canvas Vega takes every character for 0.8 of the font size, and leaves that much room.
  const { textMetrics } = vega as unknown as {
    textMetrics: { width: (item: { fontSize?: number }, text: unknown) => number };
  };
  textMetrics.width = ({ fontSize }, text) => textWidth(String(text ?? ''), fontSize);
  return { vega, compile };
}

const config: Config = {
  background: undefined,
  font: FONT,
  aria: false,
  view: { stroke: null },
  axis: {
    labelColor: 'var(--muted)',
    titleColor: 'var(--muted)',
    titleFontWeight: 'normal',
    titleFontSize: 11,
    labelFontSize: 11,
    gridColor: 'var(--grid)',
    domainColor: 'var(--line)',
    tickColor: 'var(--line)',
    labelLimit: 260,
    labelPadding: 5,
  },
  header: { labelColor: 'var(--ink)', titleColor: 'var(--ink)' },
  title: { color: 'var(--ink)', fontSize: 12, fontWeight: 600, anchor: 'start', offset: 8 },
  legend: {
    labelColor: 'var(--ink)',
    titleColor: 'var(--muted)',
    titleFontWeight: 'normal',
    labelFontSize: 11,
    titleFontSize: 11,
    labelLimit: 260,
  },
  text: { color: 'var(--ink)', fontSize: 11 },
};

/**
 * SVG to stand inside an HTML page; `description`, different for each figure of a page, is what a screen reader says in
 * its place.
 */
export async function svg(spec: object, description: string): Promise<string> {
  const { vega, compile } = await loadVega();
  const compiled = compile({ ...spec, config } as TopLevelSpec).spec;
  const view = new vega.View(vega.parse(compiled), { renderer: 'none', logLevel: vega.Error });
  const text = await view.toSVG();
  view.finalize();
  const slug = description.toLowerCase().replace(/[^a-z0-9]+/g, '-');
  const label = description.replace(/[&<>"]/g, (c) => `&#${c.charCodeAt(0)};`);
  return (
    text
      .replace(/ xmlns(?::xlink)?="[^"]*"/g, '')
      // Ids are the page's, and Vega begins with clip0 in every figure.
      .replace(/(id="|url\(#)(clip\d+)/g, `$1${slug}-$2`)
      .replace(/^<svg /, `<svg role="img" aria-label="${label}" `)
      .replace(/<rect [^>]*fill="white"\/>/, '')
  );
}
