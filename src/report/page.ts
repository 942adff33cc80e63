// The parts of a report's page: no script, no request, readable on paper.

import { escapeHtml } from './markup.js';
import type { Figure } from './panels.js';
import { STYLE } from './style.js';

export const paragraph = (text: string, name?: string): string =>
  `<p${name === undefined ? '' : ` class="${name}"`}>${escapeHtml(text)}</p>`;

export function section(title: string, ...parts: string[]): string {
  const body = parts.filter(Boolean).join('\n');
  return body === '' ? '' : `<section>\n<h2>${escapeHtml(title)}</h2>\n${body}\n</section>`;
}

export function figureHtml(figure: Figure | undefined): string {
  if (figure === undefined) return '';
  const legend = figure.legend.map(
    ({ label, color, kind }) =>
      `<li class="${kind}"><i style="background:${color}"></i>${escapeHtml(label)}</li>`,
  );
  const list = legend.length === 0 ? '' : `<ul class="legend">${legend.join('')}</ul>\n`;
  return `<figure>\n${list}${figure.svg}\n<figcaption>${escapeHtml(figure.caption)}</figcaption>\n</figure>`;
}

/** The whole page; parts that are empty are left out. */
export function page(title: string, body: readonly string[]): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escapeHtml(title)}</title>
<style>${STYLE}</style>
</head>
<body>
<main>
${body.filter(Boolean).join('\n')}
</main>
</body>
</html>
`;
}
