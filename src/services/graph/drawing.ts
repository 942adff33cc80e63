// SVG text of boxes, lines and labels. Colours are the page's CSS variables; a picture of its own brings their values.

import { escapeHtml } from '../../report/markup.js';
import { STYLE } from '../../report/style.js';
import { textWidth } from '../../report/vega.js';

const FONT = 'system-ui, -apple-system, Segoe UI, Roboto, Helvetica, Arial, sans-serif';

/** `:root` of the page's style: the variables, light and dark. */
const VARIABLES = STYLE.slice(0, STYLE.indexOf('* { box-sizing')).replaceAll(':root', 'svg');

export interface Line {
  text: string;
  bold?: boolean;
  muted?: boolean;
}

export interface Box {
  x: number;
  y: number;
  width: number;
  height: number;
}

export const FONT_SIZE = 12;
export const LINE_HEIGHT = 16;
const PADDING = 9;

/** Size of a box that holds these lines. */
export function boxSize(lines: readonly Line[]): { width: number; height: number } {
  // Bold characters are about a twentieth wider.
  const widths = lines.map(({ text, bold }) => textWidth(text, FONT_SIZE) * (bold ? 1.06 : 1));
  return {
    width: Math.ceil(Math.max(48, ...widths)) + 2 * PADDING,
    height: lines.length * LINE_HEIGHT + 2 * PADDING - 4,
  };
}

export function boxSvg(
  { x, y, width, height }: Box,
  lines: readonly Line[],
  options: { dashed?: boolean; accent?: string } = {},
): string {
  const stroke = options.accent ?? 'var(--line)';
  const dash = options.dashed ? ' stroke-dasharray="4 3"' : '';
  const text = lines
    .map(({ text: content, bold, muted }, i) => {
      const style = `${bold ? ' font-weight="600"' : ''} fill="var(--${muted ? 'muted' : 'ink'})"`;
      return `<text x="${x + PADDING}" y="${y + PADDING + 10 + i * LINE_HEIGHT}"${style}>${escapeHtml(content)}</text>`;
    })
    .join('');
  return `<rect x="${x}" y="${y}" width="${width}" height="${height}" rx="4" fill="var(--wash)" stroke="${stroke}"${dash}/>${text}`;
}

/** From the right side of one box to the left side of another, in a curve that leaves and arrives level. */
export function arrowSvg(from: { x: number; y: number }, to: { x: number; y: number }, width = 1.3): string {
  const bend = Math.max(18, (to.x - from.x) / 2);
  const path = `M${from.x},${from.y} C${from.x + bend},${from.y} ${to.x - bend},${to.y} ${to.x - 6},${to.y}`;
  const head = `M${to.x - 7},${to.y - 4} L${to.x},${to.y} L${to.x - 7},${to.y + 4} Z`;
  return `<path d="${path}" fill="none" stroke="var(--muted)" stroke-width="${width}"/><path d="${head}" fill="var(--muted)"/>`;
}

/** A label with the page behind it, so that lines below do not cross it. */
export function labelSvg(x: number, y: number, text: string): string {
  const width = textWidth(text, 11) + 6;
  return (
    `<rect x="${x - width / 2}" y="${y - 8}" width="${width}" height="15" fill="var(--page)"/>` +
    `<text x="${x}" y="${y + 4}" text-anchor="middle" font-size="11" fill="var(--muted)">${escapeHtml(text)}</text>`
  );
}

export function textSvg(x: number, y: number, text: string, bold = false): string {
  return `<text x="${x}" y="${y}"${bold ? ' font-weight="600"' : ''} fill="var(--${bold ? 'ink' : 'muted'})">${escapeHtml(text)}</text>`;
}

/** A drawing as it stands in a page, or with `standalone` in a file. */
export function drawing(
  width: number,
  height: number,
  body: string,
  description: string,
  standalone: boolean,
): string {
  const label = escapeHtml(description);
  const style = standalone
    ? `<style>${VARIABLES}</style><rect width="${width}" height="${height}" fill="var(--page)"/>`
    : '';
  const namespace = standalone ? ' xmlns="http://www.w3.org/2000/svg"' : '';
  return `<svg${namespace} role="img" aria-label="${label}" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" font-family="${FONT}" font-size="${FONT_SIZE}">${style}${body}</svg>`;
}
