import { join } from 'node:path';
import { type Bound, ofEcho } from './bounds.ts';
import { type CostRow, KIB, USUAL } from './row.ts';

/** Enough to keep the picker busy without pause. */
const CONNECTIONS = 16;
/** With large bodies Envoy is the bottleneck; more of them only wait in its buffers. */
const CONNECTIONS_LARGE = 8;

/** A configuration other than the default, and the ending of its rows' names. */
interface RowPolicy {
  readonly config: string;
  readonly title: string;
  readonly ending: string;
}

export const REFERENCE: RowPolicy = {
  config: 'reference-default',
  title: ', reference-default',
  ending: '-ref',
};
/** The reference's configuration for bodies of any kind, which nothing reads. */
export const PASSTHROUGH: RowPolicy = {
  config: join(import.meta.dirname, 'passthrough.yaml'),
  title: ', bodies unread',
  ending: '-passthrough',
};

export function saturated(
  size: Pick<CostRow, 'endpoints' | 'reference'> & {
    readonly policy?: RowPolicy;
    readonly kib: number;
  },
  asked: readonly Bound[],
): CostRow {
  const { kib, policy, ...rest } = size;
  const ending = policy?.ending ?? '';
  return {
    ...USUAL,
    ...rest,
    id: `${size.endpoints}-${sizeOf(kib, '')}${ending}`.toLowerCase(),
    group: 'cpu',
    title: `${size.endpoints} endpoints, ${sizeOf(kib, ' ')}B${policy?.title ?? ''}`,
    config: policy?.config ?? USUAL.config,
    load: closed(kib),
    asked,
  };
}

/** So many answers at once, each of which takes `chunks` times 2 ms. */
const STREAMS_AT_ONCE = 24;
const STREAM_GAP_MS = 2;

export function streamed(chunks: number): CostRow {
  return {
    ...USUAL,
    id: `sse-${chunks}`,
    group: 'stream',
    title: `answer of ${chunks.toLocaleString('en')} SSE chunks, ${STREAMS_AT_ONCE} at once`,
    answerChunks: chunks,
    chunkGapMs: STREAM_GAP_MS,
    load: { kind: 'streams', connections: STREAMS_AT_ONCE, bodyBytes: KIB },
    asked: [ofEcho('cost', 1.15)],
  };
}

export function efficient(
  prompts: { readonly kib: number; readonly name?: string; readonly sharedPart?: number },
  asked: readonly Bound[],
): CostRow {
  const { kib, name, sharedPart } = prompts;
  return {
    ...USUAL,
    id: `efficient-${sizeOf(kib, '').toLowerCase()}${name === undefined ? '' : `-${name}`}`,
    group: 'efficient',
    title: `efficient wiring, ${sizeOf(kib, ' ')}B${name === undefined ? '' : `, ${name}`}`,
    wiring: 'envoy-efficient',
    ...(sharedPart !== undefined && { sharedPart }),
    load: closed(kib),
    asked,
  };
}

/** A row of `efficient`, where Envoy shows the picker only the beginning of a large body. */
export function partial(row: CostRow): CostRow {
  return {
    ...row,
    id: row.id.replace('efficient', 'partial'),
    title: row.title.replace('wiring', 'wiring with beginnings'),
    wiring: 'envoy-partial',
  };
}

/** Both lengths at the same rate, as what is done at any rate is divided by the requests. */
const EFFICIENT_PER_SECOND = 20;

export function efficientStream(chunks: number, asked: readonly Bound[]): CostRow {
  return {
    ...USUAL,
    id: `efficient-${chunks}-chunks`,
    group: 'efficient',
    title: `efficient wiring, answer of ${chunks.toLocaleString('en')} chunks, ${EFFICIENT_PER_SECOND}/s`,
    wiring: 'envoy-efficient',
    answerChunks: chunks,
    chunkGapMs: 0,
    load: { kind: 'open', perSecond: EFFICIENT_PER_SECOND, bodyBytes: KIB },
    lengthened: 3,
    asked,
  };
}

export function scraping(
  { endpoints, busy, ...rest }: Pick<CostRow, 'endpoints' | 'reference'> & { busy: boolean },
  asked: readonly Bound[],
): CostRow {
  return {
    ...USUAL,
    ...rest,
    id: `scrape-${endpoints}${busy ? '' : '-idle'}`,
    group: 'scrape',
    title: `scraping ${endpoints} ${busy ? 'busy' : 'idle'} endpoints, pages of 22 KB`,
    endpoints,
    page: busy ? 'real' : 'real-idle',
    load: { kind: 'idle' },
    asked,
  };
}

function closed(kib: number): CostRow['load'] {
  const connections = kib > 100 ? CONNECTIONS_LARGE : CONNECTIONS;
  return { kind: 'closed', connections, bodyBytes: kib * KIB };
}

function sizeOf(kib: number, space: string): string {
  return kib < KIB ? `${kib}${space}K` : `${kib / KIB}${space}M`;
}
