// HTML text. Whatever comes from a config, a trace or a message passes through `escapeHtml`.

const ENTITIES: Record<string, string> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

export function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (character) => ENTITIES[character]);
}

export interface TableCell {
  text: string;
  class?: string;
  /** Columns it spans. */
  span?: number;
  header?: boolean;
}

export interface TableRow {
  cells: (string | TableCell)[];
  class?: string;
}

function cellHtml(cell: string | TableCell, header: boolean): string {
  const given = typeof cell === 'string' ? { text: cell } : cell;
  const tag = header || given.header ? 'th' : 'td';
  const attributes = [
    given.class === undefined ? '' : ` class="${given.class}"`,
    given.span === undefined ? '' : ` colspan="${given.span}"`,
  ];
  return `<${tag}${attributes.join('')}>${escapeHtml(given.text)}</${tag}>`;
}

function rowHtml({ cells, class: name }: TableRow, header: boolean): string {
  const attribute = name === undefined ? '' : ` class="${name}"`;
  return `<tr${attribute}>${cells.map((cell) => cellHtml(cell, header)).join('')}</tr>`;
}

/** A table; every text is escaped here. */
export function tableHtml(header: readonly TableRow[], rows: readonly TableRow[], name?: string): string {
  const head = header.map((row) => rowHtml(row, true)).join('');
  const body = rows.map((row) => rowHtml(row, false)).join('\n');
  const attribute = name === undefined ? '' : ` class="${name}"`;
  return `<div class="scroll"><table${attribute}><thead>${head}</thead><tbody>\n${body}\n</tbody></table></div>`;
}
