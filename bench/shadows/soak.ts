import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises';
import type { RoutedRequest } from '../../src/framework/routing.ts';
import { seededRandom } from '../../src/runtime/seeded-random.ts';
import type { Shadow } from '../../src/shadow/start-shadow.ts';
import { makeRequest, SEED, sampleEndpoints, startCore } from './core.ts';
import type { Outcome } from './live.ts';

export interface SoakOptions {
  readonly requests: number;
  readonly say: (line: string) => void;
}

const SHADOWS = ['default', 'reference-default', 'sticky', 'random'];
const IN_FLIGHT = 200;
/** Requests per turn of the loop. */
const BATCH = 50;
/** Decisions that the slowest shadow may be behind: less than what restarts it. */
const BEHIND_MAX = 10_000;
const SAMPLES = 40;

interface Sample {
  readonly requests: number;
  /** The whole process with its threads. */
  readonly rssMb: number;
  /** The main thread. */
  readonly heapMb: number;
}

/** Samples the memory while requests go through a decision core with four shadows. */
export async function soak({ requests, say }: SoakOptions): Promise<Outcome> {
  const { picker, shadows } = startCore(SHADOWS);
  const samples: Sample[] = [];
  const open: RoutedRequest[] = [];
  const random = seededRandom(SEED).fork('requests');
  const startedAt = performance.now();
  const every = Math.max(1, Math.floor(requests / SAMPLES));
  for (let n = 0; n < requests; n++) {
    if (n % BATCH === 0) {
      sampleEndpoints(picker);
      await nextTurn();
      while (n - leastDecided(shadows) > BEHIND_MAX) await sleep(10);
    }
    open.push(picker.route(makeRequest(n, random.next()), { firstTokenVisible: true }));
    if (open.length >= IN_FLIGHT) endOldest(open);
    if ((n + 1) % every === 0) {
      const sample = memory(n + 1);
      samples.push(sample);
      say(`${n + 1} requests, RSS ${sample.rssMb} MB, heap ${sample.heapMb} MB`);
    }
  }
  while (leastDecided(shadows) < requests) await sleep(50);
  const seconds = (performance.now() - startedAt) / 1000;
  const fates = shadows.map((shadow) => shadow.status());
  await Promise.all(shadows.map((shadow) => shadow.stop()));
  picker.stop();
  return outcomeOf(samples, { requests, seconds, fates });
}

/** Decisions of the slowest shadow. Throws when a shadow was restarted. */
function leastDecided(shadows: readonly Shadow[]): number {
  const lost = shadows.map((shadow) => shadow.status()).find(({ restarts }) => restarts > 0);
  if (lost !== undefined)
    throw new Error(`the shadow ${lost.name} was restarted: run with fewer requests`);
  return Math.min(...shadows.map((shadow) => shadow.status().parity?.all.decisions ?? 0));
}

function endOldest(open: RoutedRequest[]): void {
  const oldest = open.shift();
  oldest?.firstToken();
  oldest?.done('completed', { promptTokens: 640, completionTokens: 100, cachedTokens: 0 });
}

function memory(requests: number): Sample {
  const { rss, heapUsed } = process.memoryUsage();
  const mb = (bytes: number): number => Math.round(bytes / 1024 / 1024);
  return { requests, rssMb: mb(rss), heapMb: mb(heapUsed) };
}

function outcomeOf(
  samples: readonly Sample[],
  {
    requests,
    seconds,
    fates,
  }: {
    readonly requests: number;
    readonly seconds: number;
    readonly fates: readonly ReturnType<Shadow['status']>[];
  },
): Outcome {
  const quarter = Math.floor(samples.length / 4);
  const mean = (part: readonly Sample[]): number =>
    Math.round(part.reduce((sum, { rssMb }) => sum + rssMb, 0) / part.length);
  const quarters = [0, 1, 2, 3].map((at) => mean(samples.slice(at * quarter, (at + 1) * quarter)));
  const peak = Math.max(...samples.map(({ rssMb }) => rssMb));
  const shadows = fates.map(({ name, parity, restarts, dropped }) => ({
    name,
    decisions: parity?.all.decisions ?? 0,
    restarts,
    dropped,
  }));
  const text = [
    `${requests} requests, ${SHADOWS.length} shadows, ${Math.round(seconds)} s (${Math.round(requests / seconds)}/s)`,
    `RSS of the process with its threads, mean of each quarter: ${quarters.join(', ')} MB; peak ${peak} MB`,
    ...shadows.map((each) => JSON.stringify(each)),
    '',
  ].join('\n');
  return { document: { requests, seconds, quarters, peak, shadows, samples }, text };
}
