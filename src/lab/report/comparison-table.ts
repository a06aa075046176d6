import type { ConfigReport, Estimate, Figure } from '../run-summary/compare.ts';
import { escaped } from './page.ts';

interface Column {
  readonly head: string;
  readonly figure: Figure;
  readonly unit: 'ms' | '%' | '';
}

const COLUMNS: readonly Column[] = [
  { head: 'TTFT mean', figure: 'ttftMeanMs', unit: 'ms' },
  { head: 'TTFT p50', figure: 'ttftP50Ms', unit: 'ms' },
  { head: 'TTFT p99', figure: 'ttftP99Ms', unit: 'ms' },
  { head: 'per token', figure: 'tpotMeanMs', unit: 'ms' },
  { head: 'end to end', figure: 'e2eMeanMs', unit: 'ms' },
  { head: 'good', figure: 'goodput', unit: '%' },
  { head: 'found in caches', figure: 'hitRate', unit: '%' },
  { head: 'preempted', figure: 'preemptions', unit: '' },
  { head: 'failed', figure: 'failed', unit: '' },
];

/** A table with a row for each configuration, with intervals if there are several draws. */
export function comparisonTable(reports: readonly ConfigReport[]): string {
  const heads = COLUMNS.map(
    ({ head, unit }) => `<th>${head}${unit === '' ? '' : `, ${unit}`}</th>`,
  );
  const rows = reports.map((report) => {
    const cells = COLUMNS.map(
      ({ figure, unit }) => `<td>${estimateHtml(report.figures[figure], unit)}</td>`,
    );
    return `<tr><th scope="row">${escaped(report.name)}</th><td>${against(report, reports[0])}</td>${cells.join('')}</tr>`;
  });
  return `<table><thead><tr><th></th><th>TTFT against the first</th>${heads.join('')}</tr></thead><tbody>${rows.join('\n')}</tbody></table>`;
}

function estimateHtml({ mean, plusMinus }: Estimate, unit: Column['unit']): string {
  const text = (value: number): string => {
    const scaled = unit === '%' ? 100 * value : value;
    return Math.abs(scaled) < 100 ? scaled.toFixed(1) : Math.round(scaled).toLocaleString('en');
  };
  if (Number.isNaN(mean)) return '–';
  return Number.isNaN(plusMinus) || plusMinus === 0
    ? text(mean)
    : `${text(mean)} <small>±${text(plusMinus)}</small>`;
}

function against({ againstFirst }: ConfigReport, first: ConfigReport | undefined): string {
  if (againstFirst === undefined || first === undefined) return '';
  const base = first.figures.ttftMeanMs.mean;
  const { mean, plusMinus } = againstFirst.ttftMeanMs;
  const sign = mean > 0 ? '+' : '−';
  const interval = Number.isNaN(plusMinus)
    ? ''
    : ` <small>±${((100 * plusMinus) / base).toFixed(1)}</small>`;
  return `${sign}${Math.abs((100 * mean) / base).toFixed(1)}${interval} %`;
}
