import type { Random } from '../../framework/runtime.ts';

const TRACE_ID_WORDS = 4;
const SPAN_ID_WORDS = 2;
const WORD_BYTES = 4;

/** Makes ids of traces and spans, in hexadecimal digits. No id is all zeros. */
export class TraceIds {
  readonly #random: Random;
  readonly #words = new Uint32Array(TRACE_ID_WORDS);
  readonly #bytes = Buffer.from(this.#words.buffer);

  /** Two processes must not have the same numbers: their ids would be the same. */
  constructor(random: Random) {
    this.#random = random;
  }

  traceId(): string {
    return this.#next(TRACE_ID_WORDS);
  }

  spanId(): string {
    return this.#next(SPAN_ID_WORDS);
  }

  #next(words: number): string {
    let seen = 0;
    for (let word = 0; word < words; word++) {
      const drawn = (this.#random.next() * 2 ** 32) >>> 0;
      this.#words[word] = drawn;
      seen |= drawn;
    }
    if (seen === 0) this.#words[0] = 1;
    return this.#bytes.toString('hex', 0, words * WORD_BYTES);
  }
}

/**
 * Chooses this share of all traces by their id, as OpenTelemetry's `TraceIdRatioBasedSampler` does:
 * programs with the same share choose the same traces.
 */
export function sampledShare(ratio: number): (traceId: string) => boolean {
  const bound = ratio === 1 ? 2 ** 32 : Math.floor(ratio * (2 ** 32 - 1));
  if (bound === 0) return () => false;
  return (traceId) => {
    let folded = 0;
    for (let at = 0; at < traceId.length; at += 8) {
      folded ^= Number.parseInt(traceId.slice(at, at + 8), 16);
    }
    return folded >>> 0 < bound;
  };
}
