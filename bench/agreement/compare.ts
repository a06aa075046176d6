import { EMBEDDED_CATALOGUE } from '../../src/catalogue/built-in-catalogue.ts';
import type { CaptureRecord } from '../../src/journal/capture/capture-record.ts';
import { redecide } from '../../src/lab/redecide/redecide.ts';
import { seededRandom } from '../../src/runtime/seeded-random.ts';

/** How a configuration agrees with the picker that made the recorded decisions. */
export interface Agreement {
  readonly decisions: number;
  /** The same endpoint. */
  readonly same: number;
  /** Another endpoint, to which this configuration gives the same score: drawn at random. */
  readonly ties: number;
  /** Explained when some servers' samples are taken one or two scrapes earlier or later. */
  readonly scrapes: number;
  /** Explained by none of these, with their numbers in the capture. */
  readonly others: readonly number[];
  /** How many picks at random would be the same or explained, in the mean. */
  readonly byChance: number;
  /**
   * Decisions for which neither a tie nor a scrape allows more than one endpoint, and how many of
   * them went there: of picks at random, one in as many as there are servers.
   */
  readonly sole: { readonly decisions: number; readonly same: number };
}

interface Compared {
  readonly n: number;
  readonly was: string;
  readonly same: boolean;
  readonly best: readonly string[];
}

type Sample = Extract<CaptureRecord, { e: 'm' }>;

/** Decides a capture again by this configuration, and says why decisions differ. */
export async function agreementOf(
  records: readonly CaptureRecord[],
  config: string,
): Promise<Agreement> {
  const compared = await decidedAgain(records, config);
  const allowed = new Map(compared.map(({ n, best }) => [n, new Set(best)]));
  for (const [scrapes, servers] of shiftsOf(records)) {
    for (const { n, best } of await decidedAgain(withSamples(records, scrapes, servers), config)) {
      for (const endpoint of best) allowed.get(n)?.add(endpoint);
    }
  }
  const setOf = ({ n }: Compared): Set<string> => allowed.get(n) ?? new Set();
  const servers = new Set(records.flatMap((each) => (each.e === '+' ? [each.id] : []))).size;
  const differing = compared.filter(({ same }) => !same);
  const ties = differing.filter(({ was, best }) => best.includes(was));
  const others = differing.filter((each) => !setOf(each).has(each.was));
  const sole = compared.filter((each) => setOf(each).size === 1);
  return {
    decisions: compared.length,
    same: compared.length - differing.length,
    ties: ties.length,
    scrapes: differing.length - ties.length - others.length,
    others: others.map(({ n }) => n),
    byChance: compared.reduce((sum, each) => sum + setOf(each).size / servers, 0),
    sole: { decisions: sole.length, same: sole.filter(({ same }) => same).length },
  };
}

async function decidedAgain(
  records: readonly CaptureRecord[],
  text: string,
): Promise<readonly Compared[]> {
  const compared: Compared[] = [];
  const config = { text, source: 'the configuration to compare' };
  const options = {
    catalogue: EMBEDDED_CATALOGUE,
    randomOf: seededRandom,
    config,
    namesBest: true,
  };
  for await (const { n, was, is, best = [] } of redecide(records, options)) {
    if ('error' in was) continue;
    const same = !('error' in is) && was.endpoint === is.endpoint;
    compared.push({ n, was: was.endpoint, same, best });
  }
  return compared;
}

/** All servers' samples one or two scrapes earlier or later, and those of each server alone. */
function* shiftsOf(records: readonly CaptureRecord[]): Iterable<readonly [number, Set<string>]> {
  const servers = [...new Set(records.filter((record) => record.e === 'm').map(({ id }) => id))];
  for (const scrapes of [-2, -1, 1, 2]) {
    yield [scrapes, new Set(servers)];
    for (const server of servers) yield [scrapes, new Set([server])];
  }
}

/** Each sample of these servers in the place of the one so many scrapes before or behind it. */
export function withSamples(
  records: readonly CaptureRecord[],
  scrapes: number,
  servers: ReadonlySet<string>,
): readonly CaptureRecord[] {
  const places = new Map<string, number[]>();
  records.forEach((record, at) => {
    if (record.e !== 'm' || !servers.has(record.id)) return;
    const known = places.get(record.id);
    if (known === undefined) places.set(record.id, [at]);
    else known.push(at);
  });
  const shifted = [...records];
  for (const at of places.values()) {
    at.forEach((place, k) => {
      const from = Math.min(Math.max(k - scrapes, 0), at.length - 1);
      shifted[place] = records[at[from] as number] as Sample;
    });
  }
  return shifted;
}
