import type { Dialect, Family, Labels, MetricsSource } from './family.ts';
import { SGLANG } from './sglang.ts';
import { TRTLLM } from './trtllm.ts';
import { VLLM, VLLM_2025 } from './vllm.ts';

export type DialectName = 'vllm' | 'vllm-2025' | 'sglang' | 'trtllm';

export const DIALECTS: Readonly<Record<DialectName, Dialect>> = {
  vllm: VLLM,
  'vllm-2025': VLLM_2025,
  sglang: SGLANG,
  trtllm: TRTLLM,
};

/** Which the Python client adds to every page. */
const START_TIME =
  '# HELP process_start_time_seconds Start time of the process since unix epoch in seconds.\n' +
  '# TYPE process_start_time_seconds gauge\nprocess_start_time_seconds ';

type Renderer = (source: MetricsSource) => string;

/** Pages that differ in their labels, whose text is kept for others of the same; a pool has a handful of models. */
const TEMPLATES_MAX = 64;

const templates = new WeakMap<Dialect, Map<string, readonly Renderer[]>>();

/**
 * A page in Prometheus text format under a model server's own names. All that does not change, which is nearly all, is
 * written once for all servers with the same labels: a process holds hundreds of engines, each scraped twenty times a
 * second, and a metrics library would cost more than the engines do.
 */
export function createMetricsPage(dialect: Dialect, source: MetricsSource): () => string {
  const renderers = templateOf(dialect, source);
  return () => {
    let text = '';
    for (const render of renderers) text += render(source);
    return `${text}${START_TIME}${float(source.startSeconds())}\n`;
  };
}

function templateOf(dialect: Dialect, source: MetricsSource): readonly Renderer[] {
  const shared = dialect.labels(source);
  const bounds = dialect.families.map((family) =>
    family.type === 'histogram' ? family.histogram(source.stats).bounds.length : 0,
  );
  const key = JSON.stringify([shared, bounds]);
  const kept = templates.get(dialect) ?? new Map<string, readonly Renderer[]>();
  templates.set(dialect, kept);
  const template =
    kept.get(key) ?? dialect.families.map((family) => rendererOf(family, { shared, source }));
  const [oldest] = kept.keys();
  if (kept.size >= TEMPLATES_MAX && oldest !== undefined && !kept.has(key)) kept.delete(oldest);
  kept.set(key, template);
  return template;
}

interface Parts {
  readonly shared: Labels;
  /** Any with these labels and bounds: its values are not looked at. */
  readonly source: MetricsSource;
}

function rendererOf(family: Family, parts: Parts): Renderer {
  const { name, help } = family;
  const type = family.type === 'info' ? 'gauge' : family.type;
  const head = `# HELP ${name} ${help}\n# TYPE ${name} ${type}\n`;
  switch (family.type) {
    case 'histogram':
      return histogramRenderer(head, family, parts);
    case 'info':
      return infoRenderer(head, family);
    case 'gauge':
    case 'counter':
      return seriesRenderer(head, family, parts.shared);
  }
}

function seriesRenderer(
  head: string,
  { name, series }: Extract<Family, { type: 'gauge' | 'counter' }>,
  shared: Labels,
): Renderer {
  const lines = series.map(({ labels = {}, value }) => ({
    start: `${name}${braced({ ...shared, ...labels })} `,
    value,
  }));
  return (source) => {
    let text = head;
    for (const { start, value } of lines) {
      const told = value(source);
      if (told !== undefined) text += `${start}${float(told)}\n`;
    }
    return text.length > head.length ? text : '';
  };
}

function histogramRenderer(
  head: string,
  { name, histogram }: Extract<Family, { type: 'histogram' }>,
  { shared, source: { stats } }: Parts,
): Renderer {
  const starts = [...histogram(stats).bounds.map(float), '+Inf'].map(
    (le) => `${name}_bucket${braced({ ...shared, le })} `,
  );
  const sum = `${name}_sum${braced(shared)} `;
  const count = `${name}_count${braced(shared)} `;
  return (source) => {
    const read = histogram(source.stats);
    let text = head;
    let cumulative = 0;
    for (let index = 0; index < starts.length; index++) {
      cumulative += read.counts[index] as number;
      text += `${starts[index]}${float(cumulative)}\n`;
    }
    return `${text}${sum}${float(read.sum)}\n${count}${float(read.count)}\n`;
  };
}

function infoRenderer(head: string, { name, info }: Extract<Family, { type: 'info' }>): Renderer {
  return (source) => {
    const told = info(source);
    return told === undefined ? '' : `${head}${name}${braced(told.labels)} ${float(told.value)}\n`;
  };
}

/** By name, as the Python client prints them. */
function braced(labels: Labels): string {
  const pairs = Object.entries(labels)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, value]) => `${name}="${escaped(value)}"`);
  return `{${pairs.join(',')}}`;
}

function escaped(value: string): string {
  return value.replace(/[\\"\n]/g, (found) => (found === '\n' ? '\\n' : `\\${found}`));
}

/** A number as Python prints a float. */
function float(value: number): string {
  return Number.isInteger(value) ? `${value}.0` : String(value);
}
