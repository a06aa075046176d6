import { z } from 'zod';
import { OUTCOMES } from '../../../framework/observer.ts';
import { DEFAULT_FLOW } from '../../../framework/request.ts';
import type { CaptureRecord } from '../../../journal/capture/capture-record.ts';
import { blockIdsOf } from '../prefix-numbers.ts';
import type { TraceRequest } from '../trace.ts';
import { TOKENS_MAX } from '../trace-format.ts';
import { wholeMicros } from '../whole-micros.ts';
import { AnswerLengths, type UncountedAnswer } from './answer-lengths.ts';

const sizes = z.object({
  model: z.string(),
  streaming: z.boolean(),
  outputTokensMax: z.number().nonnegative().nullish(),
  promptTokens: z.number().nonnegative().max(TOKENS_MAX),
  blockTokens: z.int().positive(),
  // Runs of consecutive block numbers: the first number and the count.
  blocks: z.array(z.tuple([z.int().nonnegative(), z.int().positive().max(TOKENS_MAX)])),
  priority: z.number(),
  fairness: z.string(),
});
const tokens = z.number().nonnegative().max(TOKENS_MAX);
/** Time in milliseconds of the run's clock, and number of the request. */
const at = { t: z.number(), n: z.int().nonnegative() };
/** The records that a trace needs. */
const record = z.discriminatedUnion('e', [
  z.object({
    e: z.literal('capture'),
    t: z.number(),
    wallMs: z.number(),
    file: z.int(),
    seed: z.number(),
  }),
  z.object({
    e: z.literal('q'),
    ...at,
    r: sizes,
    waitedMs: z.number().nonnegative().optional(),
    d: z.object({ error: z.string().optional() }),
  }),
  z.object({ e: z.literal('body'), ...at, r: sizes }),
  z.object({ e: z.literal('first'), ...at }),
  z.object({
    e: z.literal('done'),
    ...at,
    o: z.enum(OUTCOMES),
    // Prompt tokens, output tokens and cached tokens, by the model server's count.
    u: z.tuple([tokens, tokens, tokens.nullable()]).optional(),
    bytes: z.number().nonnegative().optional(),
  }),
]);
const NEEDED: ReadonlySet<string> = new Set(['capture', 'q', 'body', 'first', 'done']);

type CapturedSizes = z.infer<typeof sizes>;
type Captured<E extends string> = Extract<z.infer<typeof record>, { e: E }>;

/** A request with what has been read of it so far. Times are wall times. */
interface OpenRequest {
  /** When it arrived: the decision without what it has waited at the picker before. */
  readonly at: number;
  r: CapturedSizes;
  firstAt?: number;
  done?: { readonly at: number } & Pick<Captured<'done'>, 'o' | 'u' | 'bytes'>;
}

/** Assembles a capture's records into requests. */
export class CaptureRequests {
  /** Tokens in each block; 0 before the first request. */
  blockTokens = 0;
  readonly #lengths = new AnswerLengths();
  #all: OpenRequest[] = [];
  #unfinished = 0;
  #uncounted = 0;
  /** By their number in the picker's run that is being read. */
  #open = new Map<number, OpenRequest>();
  #before: Pick<Captured<'capture'>, 'file' | 'seed'> | undefined;
  /** Difference between the wall time and the run's clock. */
  #wallMs = 0;
  /** Added to the run's block numbers, because each run counts its own blocks from 0. */
  #firstBlock = 0;
  #nextBlock = 0;

  /** Takes the next record. Returns an error message if there is something wrong with it. */
  add(raw: CaptureRecord): string | undefined {
    if (!NEEDED.has(raw.e)) return undefined;
    const { data, error } = record.safeParse(raw);
    if (data !== undefined) return this.#add(data);
    const { path = [], message = 'not a record' } = error.issues[0] ?? {};
    return `${raw.e}.${path.join('.')}: ${message}`;
  }

  /** In the order in which they were decided. Call it once: each is forgotten when it is given. */
  *requests(): Generator<TraceRequest, void> {
    // From the end, so that a request leaves the list as soon as it has been given.
    const all = this.#all.reverse();
    this.#all = [];
    this.#open.clear();
    for (let each = all.pop(); each !== undefined; each = all.pop()) {
      if (each.done === undefined) this.#unfinished += 1;
      if (each.done?.u?.[1] === undefined) this.#uncounted += 1;
      yield this.#requestOf(each);
    }
  }

  /** Sentences about what the capture does not contain, after all its requests. */
  notes(): readonly string[] {
    const unfinished = this.#unfinished;
    const uncounted = this.#uncounted;
    return [
      ...(unfinished > 0 ? [`${unfinished} requests had not ended when the capture did`] : []),
      ...(uncounted > 0
        ? [`${uncounted} answers whose tokens no server reported: guessed from the others`]
        : []),
    ];
  }

  #add(event: Captured<string>): string | undefined {
    if (event.e === 'capture') return this.#begin(event);
    const at = event.t + this.#wallMs;
    if (event.e === 'q') return this.#start(event, at);
    const open = this.#open.get(event.n);
    // The request's first record may be in a file that has been deleted.
    if (open === undefined) return undefined;
    if (event.e === 'first') open.firstAt ??= at;
    else if (event.e === 'body') return this.#readBody(open, event.r);
    else {
      const { n, o, u, bytes } = event;
      open.done = { at, o, u, bytes };
      this.#open.delete(n);
      if (o === 'completed' && u !== undefined) this.#lengths.learn(u[1], answerOf(open));
    }
    return undefined;
  }

  /**
   * Each file starts with such a record. Where some of a run's files are missing, or after a failure
   * to write, requests and blocks keep their numbers.
   */
  #begin(head: Captured<'capture'>): undefined {
    const { t, wallMs, file, seed } = head;
    if (seed !== this.#before?.seed || file <= this.#before.file) {
      this.#open = new Map();
      this.#firstBlock = this.#nextBlock;
      this.#wallMs = wallMs - t;
    }
    this.#before = head;
  }

  #start({ n, r, waitedMs = 0, d }: Captured<'q'>, decidedAt: number): string | undefined {
    const renumbered = this.#renumber(r);
    if (typeof renumbered === 'string') return renumbered;
    const open: OpenRequest = { at: decidedAt - waitedMs, r: renumbered };
    // A refused request is part of the trace, but has no further records.
    if (d.error === undefined) this.#open.set(n, open);
    else open.done = { at: decidedAt, o: 'failed' };
    this.#all.push(open);
    return undefined;
  }

  #readBody(open: OpenRequest, r: CapturedSizes): string | undefined {
    const renumbered = this.#renumber(r);
    if (typeof renumbered === 'string') return renumbered;
    open.r = renumbered;
    return undefined;
  }

  /** Gives the blocks numbers that no other run has. A string is an error message. */
  #renumber(r: CapturedSizes): CapturedSizes | string {
    if (this.blockTokens === 0) this.blockTokens = r.blockTokens;
    if (r.blockTokens !== this.blockTokens) {
      return `blocks of ${r.blockTokens} tokens, but of ${this.blockTokens} before`;
    }
    const count = r.blocks.reduce((sum, [, length]) => sum + length, 0);
    if (count * r.blockTokens > TOKENS_MAX) {
      return `${count} blocks of ${r.blockTokens} tokens are more than the ${TOKENS_MAX} of a prompt`;
    }
    const blocks = r.blocks.map(([first, length]): [first: number, count: number] => {
      const number = first + this.#firstBlock;
      this.#nextBlock = Math.max(this.#nextBlock, number + length);
      return [number, length];
    });
    return { ...r, blocks };
  }

  #requestOf(open: OpenRequest): TraceRequest {
    const { at, r, firstAt, done } = open;
    const blockIds = blockIdsOf(r.blocks);
    // The server's count, but not less than the blocks contain, which the picker may have
    // estimated.
    const prompt = Math.max(done?.u?.[0] ?? r.promptTokens, blockIds.length * r.blockTokens, 1);
    return {
      atMs: at,
      model: r.model,
      promptTokens: Math.ceil(prompt),
      outputTokens: Math.max(1, Math.ceil(done?.u?.[1] ?? this.#lengths.estimate(answerOf(open)))),
      blockIds,
      ...(r.priority !== 0 && { priority: r.priority }),
      ...(r.fairness !== DEFAULT_FLOW && { fairnessId: r.fairness }),
      ...(done !== undefined && {
        seen: {
          outcome: done.o,
          ...(firstAt !== undefined && { ttftMs: wholeMicros(firstAt - at) }),
          e2eMs: wholeMicros(done.at - at),
        },
      }),
    };
  }
}

function answerOf({ r, done }: OpenRequest): UncountedAnswer {
  return {
    streaming: r.streaming,
    // The bytes of a failed answer say nothing about the length that was asked for.
    bytes: done?.o === 'failed' ? undefined : done?.bytes,
    tokensMax: r.outputTokensMax ?? undefined,
  };
}
