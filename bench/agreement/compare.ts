import { EMBEDDED_CATALOGUE } from '../../src/catalogue/built-in-catalogue.ts';
import type { Random } from '../../src/framework/runtime.ts';
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
  /** Explained when some servers' samples are taken one scrape earlier or later. */
  readonly scrapes: number;
  /** Explained by none of these, with their numbers in the capture. */
  readonly others: readonly number[];
}

interface Compared {
  readonly n: number;
  readonly same: boolean;
  readonly isBest: boolean;
}

type Shift = 'earlier' | 'later';
type Sample = Extract<CaptureRecord, { e: 'm' }>;

/** Decides a capture again by this configuration, and says why decisions differ. */
export async function agreementOf(
  records: readonly CaptureRecord[],
  config: string,
): Promise<Agreement> {
  const compared = await decidedAgain(records, config);
  let others = new Set(compared.filter(({ isBest }) => !isBest).map(({ n }) => n));
  const differing = others.size;
  for (const [shift, servers] of shiftsOf(records)) {
    if (others.size === 0) break;
    const again = await decidedAgain(withSamples(records, shift, servers), config);
    const best = new Set(again.filter(({ isBest }) => isBest).map(({ n }) => n));
    others = new Set([...others].filter((n) => !best.has(n)));
  }
  const same = compared.filter((each) => each.same).length;
  return {
    decisions: compared.length,
    same,
    ties: compared.length - same - differing,
    scrapes: differing - others.size,
    others: [...others],
  };
}

async function decidedAgain(
  records: readonly CaptureRecord[],
  text: string,
): Promise<readonly Compared[]> {
  const compared: Compared[] = [];
  const config = { text, source: 'the configuration to compare' };
  const options = { catalogue: EMBEDDED_CATALOGUE, randomOf: seededRandom, config };
  for await (const { n, was, is, place } of redecide(records, options)) {
    if ('error' in was) continue;
    const same = !('error' in is) && was.endpoint === is.endpoint;
    compared.push({ n, same, isBest: same || place === 1 });
  }
  return compared;
}

/**
 * The same capture, but with each pick drawn at random from the endpoints: how much of these is
 * explained says how little an explanation proves.
 */
export function withRandomPicks(
  records: readonly CaptureRecord[],
  random: Random,
): readonly CaptureRecord[] {
  const present = new Set<string>();
  return records.map((record) => {
    if (record.e === '+') present.add(record.id);
    else if (record.e === '-') present.delete(record.id);
    if (record.e !== 'q' || 'error' in record.d) return record;
    const endpoint = [...present][Math.floor(present.size * random.next())];
    return endpoint === undefined ? record : { ...record, d: { ...record.d, endpoint } };
  });
}

/** All servers' samples one scrape earlier or later, and those of each server alone. */
function* shiftsOf(records: readonly CaptureRecord[]): Iterable<readonly [Shift, Set<string>]> {
  const servers = [...new Set(records.filter((record) => record.e === 'm').map(({ id }) => id))];
  for (const shift of ['earlier', 'later'] as const) {
    yield [shift, new Set(servers)];
    for (const server of servers) yield [shift, new Set([server])];
  }
}

/** Each sample of these servers in the place of the one before it, or of the one after it. */
export function withSamples(
  records: readonly CaptureRecord[],
  shift: Shift,
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
    const last = at.length - 1;
    at.forEach((place, k) => {
      const from = shift === 'earlier' ? Math.min(k + 1, last) : Math.max(k - 1, 0);
      shifted[place] = records[at[from] as number] as Sample;
    });
  }
  return shifted;
}
