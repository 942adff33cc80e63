// The page's style: one accent, colours that stay apart for colour-blind eyes (after Okabe and Ito), light and dark.

const LIGHT = `
  --page: #ffffff; --ink: #1c2530; --muted: #5d6875; --line: #aab3bd; --grid: #e6e9ed; --wash: #f5f7f9;
  --accent: #1f6fa8; --lower: #1f6fa8; --higher: #c75b12; --open: #c3ccd5;
  --c0: #1c2530; --c1: #0072b2; --c2: #d55e00; --c3: #009e73; --c4: #b0629a; --c5: #d99a00; --c6: #56b4e9;
  --s1: #1f6fa8; --s2: #8fc1e3; --s3: #b9c0c8; --s4: #8a93a0; --s5: #b0629a; --s6: #f2cf63; --s7: #eda63a;
  --s8: #d9711c; --s9: #9c3d12; --s10: #5f4690;
  --heatminus4: #1f6fa8; --heatminus3: #5a97c4; --heatminus2: #95bedb; --heatminus1: #cfe2ef; --heat0: #eef0f2;
  --heatplus1: #f8dfcb; --heatplus2: #efbd93; --heatplus3: #dd8d50; --heatplus4: #c75b12; --heat-ink: #ffffff;`;

const DARK = `
  --page: #14181d; --ink: #e4e8ec; --muted: #9aa5b1; --line: #5d6875; --grid: #2a3138; --wash: #1b2127;
  --accent: #57a8dd; --lower: #57a8dd; --higher: #e88a45; --open: #48525d;
  --c0: #e4e8ec; --c1: #3f9fdd; --c2: #e97a2b; --c3: #2fbf93; --c4: #cf86b9; --c5: #e6b53c; --c6: #8fd0f5;
  --s1: #57a8dd; --s2: #2f6288; --s3: #6b7682; --s4: #46505b; --s5: #cf86b9; --s6: #f2d77c; --s7: #eda63a;
  --s8: #d9711c; --s9: #a84a1c; --s10: #9a86d0;
  --heatminus4: #57a8dd; --heatminus3: #447fa7; --heatminus2: #345b76; --heatminus1: #273c4b; --heat0: #232a31;
  --heatplus1: #47352a; --heatplus2: #75492a; --heatplus3: #ad672f; --heatplus4: #e88a45; --heat-ink: #10151a;`;

export const STYLE = `
:root { color-scheme: light dark; ${LIGHT} }
@media screen and (prefers-color-scheme: dark) { :root { ${DARK} } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--page); color: var(--ink);
  font: 15px/1.55 system-ui, -apple-system, "Segoe UI", Roboto, Helvetica, Arial, sans-serif; }
main { max-width: 1160px; margin: 0 auto; padding: 40px 24px 72px; }
h1 { font-size: 27px; line-height: 1.2; margin: 0 0 6px; font-weight: 650; letter-spacing: -0.01em; }
h2 { font-size: 18px; margin: 52px 0 12px; font-weight: 650; padding-top: 14px; border-top: 1px solid var(--grid); }
h3 { font-size: 14px; margin: 24px 0 6px; font-weight: 650; }
p { margin: 0 0 10px; max-width: 78ch; }
.lead { color: var(--muted); margin-bottom: 4px; }
dl.findings { margin: 0 0 12px; } dl.findings dt { font-weight: 600; margin-top: 8px; } dl.findings dd { margin: 0; }
table.findings { font-size: 14px; width: 100%; table-layout: fixed; }
table.findings th:first-child { width: 128px; font-weight: 600; white-space: normal; color: var(--ink); }
table.findings thead th { color: var(--ink); font-weight: 650; }
table.findings th, table.findings td { vertical-align: top; padding: 7px 22px 7px 0; line-height: 1.45; }
figure { margin: 26px 0 34px; } figure svg { display: block; max-width: 100%; height: auto; }
figcaption { color: var(--muted); font-size: 13px; margin-top: 8px; max-width: 92ch; }
.legend { display: flex; flex-wrap: wrap; gap: 2px 18px; font-size: 13px; margin: 0 0 10px; padding: 0; list-style: none; }
.legend i { display: inline-block; margin-right: 6px; vertical-align: middle; width: 12px; height: 12px; border-radius: 2px; }
.legend .line i { height: 3px; width: 18px; border-radius: 0; } .legend .mark i { border-radius: 50%; width: 9px; height: 9px; }
.scroll { overflow-x: auto; margin: 8px 0 6px; }
table { border-collapse: collapse; font-size: 12.5px; font-variant-numeric: tabular-nums; }
th, td { padding: 3px 8px 3px 2px; text-align: right; white-space: nowrap; font-weight: 400; }
th:first-child, td:first-child { text-align: left; } td.text, th.text { text-align: left; white-space: normal; min-width: 124px; }
thead th { white-space: normal; color: var(--muted); border-bottom: 1px solid var(--line); vertical-align: bottom; }
thead th.group { text-align: center; padding-left: 14px; }
tbody tr { border-bottom: 1px solid var(--grid); } tbody tr.section th { font-weight: 650; padding-top: 12px; }
tbody tr.baseline { background: var(--wash); }
th:first-child, td:first-child { padding-left: 0; } td.diff { color: var(--muted); } td.lower { color: var(--lower); font-weight: 600; } td.higher { color: var(--higher); font-weight: 600; }
code, .mono { font-family: ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; font-size: 12px; overflow-wrap: anywhere; }
pre { background: var(--wash); padding: 12px 14px; overflow-x: auto; font-size: 12px; line-height: 1.45; white-space: pre-wrap; }
.notes { color: var(--muted); font-size: 13px; } details summary { cursor: pointer; color: var(--muted); font-size: 13px; }
@media print {
  @page { margin: 14mm; } body { font-size: 11px; } main { padding: 0; max-width: none; }
  figure, table { break-inside: avoid; } h2, h3 { break-after: avoid; } .scroll { overflow: visible; }
  h1 { font-size: 20px; } h2 { font-size: 14px; margin-top: 28px; } .notes, figcaption, .legend { font-size: 10px; }
  table, table.findings { font-size: 9px; } table.findings th:first-child { width: 90px; } th, td { padding-right: 6px; } thead { display: table-header-group; }
  * { -webkit-print-color-adjust: exact; print-color-adjust: exact; }
}`;
