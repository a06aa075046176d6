import { EMBEDDED_CATALOGUE } from '../../src/catalogue/built-in-catalogue.ts';
import type { CaptureRecord, DecidedRecord } from '../../src/journal/capture/capture-record.ts';
import { type RunRedecision, redecide } from '../../src/redecide/redecide.ts';
import { seededRandom } from '../../src/runtime/seeded-random.ts';
import type { Readable } from './held-pages.ts';

/** How a configuration agrees with the picker that made the recorded decisions. */
export interface Agreement {
  readonly decisions: number;
  /** The same endpoint. */
  readonly same: number;
  /** Another endpoint, to which this configuration gives the same score: drawn at random. */
  readonly ties: number;
  /** Another one, which has the best score when some servers' other readable page is taken. */
  readonly scrapes: number;
  /** Explained by none of these. */
  readonly others: readonly Difference[];
  /** How many picks at random would be the same or explained, in the mean. */
  readonly byChance: number;
  /** Decisions for which both pickers had read the same pages. */
  readonly still: Alike;
  /** Decisions for which all of this allows one endpoint, and those that went there. */
  readonly sole: Alike;
}

/** So many decisions, of which so many were the same or a tie. */
interface Alike {
  readonly decisions: number;
  readonly alike: number;
  readonly byChance: number;
}

export type Difference = Pick<RunRedecision, 'n' | 'was' | 'is' | 'standing'>;

/** What the pages of the servers said, and which of them could be read for a request. */
export interface Pages {
  /** By number of the pages, then by endpoint: waiting, running, KV usage. */
  readonly said: readonly ReadonlyMap<string, readonly [number, number, number]>[];
  readonly readable: (request: DecidedRecord['r']) => Readable;
}

interface Judged {
  readonly again: RunRedecision;
  readonly isStill: boolean;
  readonly allowed: Set<string>;
}

/** More ways of reading the pages are not tried; a decision that only they allow is not explained. */
const WAYS_MAX = 256;

/** Decides a capture again by this configuration, and says why decisions differ. */
export async function agreementOf(
  records: readonly CaptureRecord[],
  config: string,
  pages: Pages,
): Promise<Agreement> {
  const ways = waysOf(records, pages);
  const judged = new Map<number, Judged>();
  for (let way = 0; way < Math.max(1, ...ways.values()); way++) {
    for await (const again of decidedAgain(readAs(records, pages, way), config)) {
      const { n, best = [] } = again;
      const known = judged.get(n) ?? { again, isStill: ways.get(n) === 1, allowed: new Set() };
      for (const endpoint of best) known.allowed.add(endpoint);
      judged.set(n, known);
    }
  }
  return summary([...judged.values()], pages.said[0]?.size ?? 1);
}

function summary(all: readonly Judged[], servers: number): Agreement {
  const differing = all.filter(({ again }) => wentTo(again) !== wentTo({ was: again.is }));
  const ties = differing.filter(({ again }) => again.best?.includes(wentTo(again)) === true);
  const others = differing.filter(({ again, allowed }) => !allowed.has(wentTo(again)));
  const alike = (some: readonly Judged[]): Alike => ({
    decisions: some.length,
    alike: some.filter(({ again, allowed }) => allowed.has(wentTo(again))).length,
    byChance: some.reduce((sum, { allowed }) => sum + allowed.size / servers, 0),
  });
  return {
    decisions: all.length,
    same: all.length - differing.length,
    ties: ties.length,
    scrapes: differing.length - ties.length - others.length,
    others: others.map(({ again: { n, was, is, standing } }) => ({ n, was, is, standing })),
    byChance: alike(all).byChance,
    still: alike(all.filter(({ isStill }) => isStill)),
    sole: alike(all.filter(({ allowed }) => allowed.size === 1)),
  };
}

function wentTo({ was }: Pick<RunRedecision, 'was'>): string {
  return 'endpoint' in was ? was.endpoint : '';
}

async function* decidedAgain(
  records: Iterable<CaptureRecord>,
  text: string,
): AsyncGenerator<RunRedecision> {
  const config = { text, source: 'the configuration to compare' };
  const options = {
    catalogue: EMBEDDED_CATALOGUE,
    randomOf: seededRandom,
    config,
    explains: true,
    namesBest: true,
  };
  for await (const again of redecide(records, options)) if (!('error' in again.was)) yield again;
}

/** By number of the request: in how many ways the pages could be read, each server's by itself. */
function waysOf(records: readonly CaptureRecord[], { said, readable }: Pages): Map<number, number> {
  const servers = said[0]?.size ?? 0;
  const ways = new Map<number, number>();
  for (const record of records) {
    if (record.e !== 'q') continue;
    const { first, last } = readable(record.r);
    ways.set(record.n, Math.min(WAYS_MAX, (last - first + 1) ** servers));
  }
  return ways;
}

/**
 * The records with the samples of one way of reading the pages: way 0 takes the latest of all
 * servers, and each digit of a way is how many pages older that of one server is.
 */
function* readAs(
  records: readonly CaptureRecord[],
  { said, readable }: Pages,
  way: number,
): Iterable<CaptureRecord> {
  for (const record of records) {
    if (record.e === 'm') continue;
    if (record.e === 'q') {
      const { first, last } = readable(record.r);
      let digits = way;
      for (const id of said[last]?.keys() ?? []) {
        const page = said[last - (digits % (last - first + 1))]?.get(id);
        digits = Math.floor(digits / (last - first + 1));
        if (page !== undefined) yield { e: 'm', id, m: [...page, record.t] };
      }
    }
    yield record;
  }
}
