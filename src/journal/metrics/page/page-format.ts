import type { Exemplar } from './tally.ts';

/** One of the two texts in which Prometheus reads a page. */
export interface PageFormat {
  readonly contentType: string;
  /** Comes between two metrics, and after the last one. */
  readonly between: string;
  readonly end: string;
  /** The lines that come before the values of a metric. */
  head(name: string, help: string, type: string): string;
  /** An upper bound of a histogram's bucket, as its label `le` has it. */
  bound(le: number): string;
  /** What follows the count of a bucket. */
  exemplar(exemplar: Exemplar | undefined): string;
}

/** The text that everything reads. It has no exemplars. */
export const PLAIN_TEXT: PageFormat = {
  contentType: 'text/plain; version=0.0.4; charset=utf-8',
  between: '\n',
  end: '',
  head: (name, help, type) => `# HELP ${name} ${escapedHelp(help)}\n# TYPE ${name} ${type}\n`,
  bound: (le) => String(le),
  exemplar: () => '',
};

/** OpenMetrics 1.0: https://prometheus.io/docs/specs/om/open_metrics_spec/. */
export const OPEN_METRICS: PageFormat = {
  contentType: 'application/openmetrics-text; version=1.0.0; charset=utf-8',
  between: '',
  end: '# EOF\n',
  head(name, help, type) {
    // A counter is named without its ending. One that has none keeps its name, and is no counter.
    const isCounter = type === 'counter' && name.endsWith(TOTAL);
    const family = isCounter ? name.slice(0, -TOTAL.length) : name;
    const shown = type === 'counter' && !isCounter ? 'unknown' : type;
    const escaped = escapedHelp(help).replaceAll('"', '\\"');
    return `# HELP ${family} ${escaped}\n# TYPE ${family} ${shown}\n`;
  },
  bound: canonicalBound,
  exemplar(exemplar) {
    if (exemplar === undefined) return '';
    const { traceId, value, wallTime } = exemplar;
    return ` # {trace_id="${traceId}"} ${value} ${wallTime / 1000}`;
  },
};

const TOTAL = '_total';

function escapedHelp(help: string): string {
  return help.replaceAll('\\', '\\\\').replaceAll('\n', '\\n');
}

/** The text of Go's `%g`, with `.0` after whole numbers: Prometheus takes `le` as a text. */
function canonicalBound(le: number): string {
  const [digits = '', power = '0'] = le.toExponential().split('e');
  const exponent = Number(power);
  if (exponent >= -4 && exponent < 6) return Number.isInteger(le) ? `${le}.0` : String(le);
  const sign = exponent < 0 ? '-' : '+';
  return `${digits}e${sign}${String(Math.abs(exponent)).padStart(2, '0')}`;
}

/** What an `Accept` header takes of both formats: plain text unless it prefers the other one. */
export function formatFor(accept: string | undefined): PageFormat {
  const parts = (accept ?? '').split(',').map(parsePart);
  const best = (types: readonly string[]): number =>
    Math.max(0, ...parts.filter(({ type }) => types.includes(type)).map(({ quality }) => quality));
  const open = best(['application/openmetrics-text']);
  const plain = best(['text/plain', 'text/*', '*/*']);
  return open > 0 && open >= plain ? OPEN_METRICS : PLAIN_TEXT;
}

const VERSIONS: ReadonlySet<string> = new Set(['0.0.1', '1.0.0']);

/** A version of OpenMetrics that is not written here has the quality 0. */
function parsePart(part: string): { readonly type: string; readonly quality: number } {
  const [type = '', ...parameters] = part.split(';').map((each) => each.trim().toLowerCase());
  const valueOf = (name: string): string | undefined =>
    parameters.find((each) => each.startsWith(`${name}=`))?.slice(name.length + 1);
  const isOpen = type === 'application/openmetrics-text';
  const isKnown = !isOpen || VERSIONS.has(valueOf('version') ?? '1.0.0');
  const quality = Number(valueOf('q') ?? 1);
  return { type, quality: isKnown && Number.isFinite(quality) ? quality : 0 };
}
