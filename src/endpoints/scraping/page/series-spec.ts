import type { Labels } from './prometheus-labels.ts';

/** Selects series: the metric's name, and labels that a series must have. */
export interface SeriesSpec {
  readonly name: string;
  readonly labels: Labels;
}

/** Reads `name` or `name{label=value,…}`, the values with or without quotes. */
export function parseSpec(text: string): SeriesSpec {
  const brace = text.indexOf('{');
  if (brace < 0) return { name: text, labels: new Map() };
  const labels = new Map<string, string>();
  for (const pair of text.slice(brace + 1, text.lastIndexOf('}')).split(',')) {
    const equals = pair.indexOf('=');
    if (equals < 0) continue;
    const value = pair.slice(equals + 1).trim();
    labels.set(pair.slice(0, equals).trim(), value.replace(/^"(.*)"$/, '$1'));
  }
  return { name: text.slice(0, brace), labels };
}
