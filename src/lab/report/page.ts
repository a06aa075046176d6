/**
 * A self-contained HTML page, without scripts and network access, for small and large screens,
 * light and dark, and for paper.
 */
export function htmlPage(title: string, body: string): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escaped(title)}</title>
<style>${STYLE}</style>
</head>
<body>
<h1>${escaped(title)}</h1>
${body}
</body>
</html>
`;
}

/** A longer name takes several lines, so that the figures beside it stay on the page. */
const NAME_CHARS_MAX = 38;

/** A table from cells of text. The first row and the first column are heads. */
export function htmlTable([head = [], ...body]: readonly (readonly string[])[]): string {
  const heads = head.map((cell) => `<th>${escaped(cell).replace('\n', '<br>')}</th>`);
  const rows = body.map(([name = '', ...cells]) => {
    const figures = cells.map(
      (cell) => `<td>${escaped(cell).replace(/±[^ ]+/, '<small>$&</small>')}</td>`,
    );
    const long = name.length > NAME_CHARS_MAX ? ' class="long"' : '';
    return `<tr><th scope="row"${long}>${escaped(name)}</th>${figures.join('')}</tr>`;
  });
  return `<table><thead><tr>${heads.join('')}</tr></thead><tbody>${rows.join('\n')}</tbody></table>`;
}

/** A chart under its name, with a sentence that says how to read it. */
export function figure(caption: string, reading: string, svg: string): string {
  return `<figure><figcaption>${escaped(caption)}<span>${escaped(reading)}</span></figcaption>${svg}</figure>`;
}

/** Names and values of what a page is about. */
export type Facts = readonly (readonly [name: string, value: string])[];

/** A box of facts. */
export function factBox(facts: Facts): string {
  const items = facts.map(
    ([name, value]) => `<div><dt>${escaped(name)}</dt><dd>${escaped(value)}</dd></div>`,
  );
  return `<dl class="facts">${items.join('')}</dl>`;
}

/** The names of curves beside their colours, dashes and marks. */
export function legend(drawn: readonly { readonly name: string }[]): string {
  const items = drawn.map(({ name }, at) => `<li>${keyOf(at)}${escaped(name)}</li>`);
  return `<ul class="legend">${items.join('')}</ul>`;
}

const DASHES: readonly string[] = ['', ' stroke-dasharray="6 4"', ' stroke-dasharray="2 3"'];
/** The marks of `symbolOf`, around the middle of the key. */
const MARKS: readonly string[] = [
  '<circle cx="16" cy="7" r="5"/>',
  '<path d="M11 2h10v10h-10z"/>',
  '<path d="M16 1l6 11h-12z"/>',
  '<path d="M16 1l6 6-6 6-6-6z"/>',
];

/** The line and the mark of the configuration with this index. */
function keyOf(at: number): string {
  const line = `<path d="M0 7h32" stroke="var(--c${at % 8})" stroke-width="2"${DASHES[at % DASHES.length] ?? ''}/>`;
  const mark = (MARKS[at % MARKS.length] ?? '').replace('/>', ` fill="var(--c${at % 8})"/>`);
  return `<svg class="key" viewBox="0 0 32 14" aria-hidden="true">${line}${mark}</svg>`;
}

/** Text with HTML's special characters escaped. */
export function escaped(text: string): string {
  return text.replace(/[&<>"]/g, (found) => `&#${found.charCodeAt(0)};`);
}

/** Escaped text whose flags in brackets stay on one line. */
export function withFlags(html: string): string {
  return html.replaceAll(/\((--[^)]*)\)/g, '(<code>$1</code>)');
}

const STYLE = `
:root { color-scheme: light dark; --ink: #1c2127; --faint: #626b77; --line: #d9dde3; --paper: #fff; --shade: #0004;
  --c0: #0072b2; --c1: #d55e00; --c2: #009e73; --c3: #cc79a7; --c4: #b58900; --c5: #56b4e9; --c6: #7a5195; --c7: #4d4d4d; }
@media screen and (prefers-color-scheme: dark) { :root { --ink: #e7e9ec; --faint: #a0a8b3; --line: #363c46; --paper: #15181c; --shade: #fff4;
  --c0: #56a9e4; --c1: #f08a3c; --c2: #35c49a; --c3: #e39cc4; --c4: #e0b83e; --c5: #8fd0f5; --c6: #b795d4; --c7: #b5bac2; } }
* { box-sizing: border-box; }
body { font: 16px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--paper); max-width: 96rem; margin: 0 auto; padding: 1.5rem 1rem 4rem; overflow-wrap: anywhere; }
h1 { font-size: 1.5rem; line-height: 1.25; } h2 { font-size: 1.2rem; margin-top: 2.5rem; }
p { max-width: 46rem; color: var(--faint); }
.scroll { overflow-x: auto; background: linear-gradient(90deg, var(--paper) 40%, transparent) 0 0 / 3rem 100% local no-repeat,
  linear-gradient(270deg, var(--paper) 40%, transparent) 100% 0 / 3rem 100% local no-repeat,
  linear-gradient(90deg, var(--shade), transparent) 0 0 / 1.2rem 100% scroll no-repeat,
  linear-gradient(270deg, var(--shade), transparent) 100% 0 / 1.2rem 100% scroll no-repeat; }
table { overflow-wrap: normal; border-collapse: collapse; font-variant-numeric: tabular-nums; font-size: .875rem; }
th, td { text-align: right; padding: .4rem; border-bottom: 1px solid var(--line); white-space: nowrap; font-weight: 400; }
thead th { color: var(--faint); font-size: .85rem; vertical-align: bottom; white-space: normal; min-width: 4.2rem; line-height: 1.3; }
thead th:first-child, tbody th:first-child { text-align: left; } tbody th { font-weight: 600; } tbody th.long { white-space: normal; overflow-wrap: anywhere; min-width: 16rem; }
.worded th:nth-child(2), .worded td:nth-child(2) { text-align: left; white-space: normal; min-width: 10rem; } .worded thead th:nth-child(2) { overflow-wrap: anywhere; }
.plan th:nth-child(3), .plan td:nth-child(3) { text-align: left; } code { white-space: nowrap; font: inherit; }
small { color: var(--faint); }
.legend { display: flex; flex-wrap: wrap; gap: .3rem 1.4rem; list-style: none; padding: 0; margin: 1.6rem 0 .6rem; }
.legend .key { display: inline-block; width: 32px; height: 14px; margin-right: .5rem; vertical-align: -1px; }
.verdict { color: var(--ink); font-size: 1.25rem; line-height: 1.4; max-width: 60rem; margin: 1rem 0; }
.caution { color: var(--ink); border-left: 4px solid var(--c1); padding: .3rem .8rem; }
.facts { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(100%, 17rem), 1fr)); gap: .6rem 1.6rem; border: 1px solid var(--line); border-radius: 6px; padding: .9rem 1rem; margin: 1.2rem 0; }
.facts dt { color: var(--faint); font-size: .85rem; } .facts dd { margin: 0; overflow-wrap: anywhere; }
.scroll + section { margin-top: 1.5rem; }
section { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(100%, 30rem), 1fr)); gap: 1.5rem; }
figure { margin: 0; min-width: 0; container-type: inline-size; } figcaption { font-weight: 600; margin-bottom: .3rem; }
figcaption span { display: block; font-weight: 400; color: var(--faint); font-size: .9rem; }
svg { display: block; width: 100%; height: auto; }
@container (min-width: 500px) { svg text { font-size: 13px !important; } }
@page { size: landscape; margin: 12mm; }
@media print { :root { color-scheme: light; font-size: 12px; } body { max-width: none; padding: 0; font-size: 1rem; } h2 { break-after: avoid; } tr, figure { break-inside: avoid; }
  .scroll { overflow: visible; background: none; } table { font-size: clamp(7.5px, 1.05vw, 12px); } thead th { min-width: 0; font-size: 1em; } th, td { padding: 3px; }
  .worded th:nth-child(2), .worded td:nth-child(2) { min-width: 7em; } section { grid-template-columns: 1fr 1fr; } }
`;
