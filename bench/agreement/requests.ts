import { seededRandom } from '../../src/runtime/seeded-random.ts';

export interface RequestOptions {
  readonly requests: number;
  readonly clients: number;
  readonly seed: number;
}

/** When a request was sent, and when its answer was there, in milliseconds of the process. */
export interface RequestTimes {
  readonly sentAt: number;
  readonly answeredAt: number;
}

/** Prompts that begin alike, so that prefixes count, of one to about twenty blocks. */
const FAMILIES = 12;
/**
 * Prompts are whole blocks of 64 tokens of four bytes: not all releases of the reference count the
 * rest behind the last whole block.
 */
const BLOCK_BYTES = 256;

/**
 * Sends requests by clients in a closed loop, each of which waits for its answer. Returns their
 * times by number.
 */
export async function sendAll(
  origin: string,
  options: RequestOptions,
  onAnswered: () => void,
): Promise<readonly RequestTimes[]> {
  const { requests, clients, seed } = options;
  const random = seededRandom(seed);
  const times: RequestTimes[] = [];
  let sent = 0;
  const client = async (): Promise<void> => {
    while (sent < requests) {
      const n = sent++;
      const body = numbered(n, options, {
        prompt: promptOf(n, random.next(), random.next()),
        max_tokens: 4 + Math.floor(12 * random.next()),
      });
      const sentAt = performance.now();
      const headers = { 'content-type': 'application/json' };
      const response = await fetch(`${origin}/v1/completions`, { method: 'POST', headers, body });
      if (response.status !== 200) throw new Error(`request ${n} got ${response.status}`);
      await response.text();
      times[n] = { sentAt, answeredAt: performance.now() };
      onAnswered();
    }
  };
  await Promise.all(Array.from({ length: clients }, client));
  return times;
}

function promptOf(n: number, family: number, length: number): string {
  const beginning = `family ${Math.floor(FAMILIES * family)} `;
  const end = ` ${n}`;
  const blocks = 1 + Math.floor(18 * length);
  return `${beginning.repeat(BLOCK_BYTES * blocks).slice(0, BLOCK_BYTES * blocks - end.length)}${end}`;
}

/** A capture has no text and no name of a client, so the size of the body says which one it is. */
function numbered(n: number, { requests }: RequestOptions, fields: object): string {
  const body = (user: string): string => JSON.stringify({ model: 'm', ...fields, user });
  const missing = (n - (body('').length % requests) + requests) % requests;
  return body('u'.repeat(missing));
}

/** The number of the request whose body has so many bytes. */
export function numberOf(bodyBytes: number, { requests }: RequestOptions): number {
  return bodyBytes % requests;
}
