import type { PageSize } from '../load/answers.ts';

export type RowLoad =
  | { readonly kind: 'closed'; readonly connections: number; readonly bodyBytes: number }
  | { readonly kind: 'open'; readonly perSecond: number; readonly bodyBytes: number }
  /** No requests: what scraping costs by itself. */
  | { readonly kind: 'idle' };

export interface CostRow {
  readonly id: string;
  readonly title: string;
  /** A built-in configuration's name. */
  readonly config: 'default' | 'reference-default';
  readonly endpoints: number;
  readonly page: PageSize;
  /** Server-sent events in each answer; 0 for a short JSON answer. */
  readonly answerChunks: number;
  readonly load: RowLoad;
  /** Time until as many requests end as begin: at least the duration of an answer. */
  readonly settleMs: number;
  /**
   * The reference picker's figure with its default configuration: ms per request, or cores if idle.
   */
  readonly reference: number;
}

/** Enough to keep the picker busy without pause. */
const CONNECTIONS = 16;
/** With large bodies Envoy is the bottleneck; more of them only wait in its buffers. */
const CONNECTIONS_LARGE = 8;
const KIB = 1024;

/**
 * The reference picker's figures were measured on a machine with two cores like this project's,
 * through the same Envoy, with its default configuration, saturated.
 */
export const COST_ROWS: readonly CostRow[] = [
  ...(['default', 'reference-default'] as const).flatMap((config) => [
    saturated(config, 8, 1, 0.25),
    saturated(config, 8, 32, 1),
    saturated(config, 8, 400, 7.5),
  ]),
  saturated('default', 64, 1, 0.45),
  saturated('default', 64, 32, 1.65),
  saturated('default', 256, 1, 1.6),
  saturated('default', 256, 32, 3),
  {
    id: 'sse-100',
    title: 'answer of 100 SSE chunks, 100 requests/s',
    config: 'default',
    endpoints: 8,
    page: 'small',
    answerChunks: 100,
    settleMs: 1600,
    load: { kind: 'open', perSecond: 100, bodyBytes: KIB },
    reference: 3.8,
  },
  {
    id: 'scrape-64',
    title: 'scraping 64 endpoints, pages of 22 KB',
    config: 'default',
    endpoints: 64,
    page: 'real',
    answerChunks: 0,
    settleMs: 400,
    load: { kind: 'idle' },
    reference: 0.9,
  },
];

function saturated(
  config: CostRow['config'],
  endpoints: number,
  bodyKib: number,
  reference: number,
): CostRow {
  return {
    id: `${endpoints}-${bodyKib}k${config === 'default' ? '' : '-ref'}`,
    title: `${endpoints} endpoints, ${bodyKib} KB`,
    config,
    endpoints,
    page: 'small',
    answerChunks: 0,
    settleMs: 400,
    load: {
      kind: 'closed',
      connections: bodyKib > 100 ? CONNECTIONS_LARGE : CONNECTIONS,
      bodyBytes: bodyKib * KIB,
    },
    reference,
  };
}
