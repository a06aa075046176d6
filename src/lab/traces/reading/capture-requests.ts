import { z } from 'zod';
import { OUTCOMES } from '../../../framework/observer.ts';
import { DEFAULT_FLOW } from '../../../framework/request.ts';
import { countOf } from '../../../framework/values/grouped.ts';
import type { CaptureRecord } from '../../../journal/capture/capture-record.ts';
import type { TraceRequest } from '../trace.ts';
import { NO_TRACE_BLOCKS, TOKENS_MAX } from '../trace-format.ts';
import { wholeMicros } from '../whole-micros.ts';
import { AnswerLengths, type UncountedAnswer } from './answer-lengths.ts';
import type { TraceCollector } from './collect-trace.ts';
import { UncountedAnswers } from './uncounted-answers.ts';

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

/** A request whose end has not been read yet. Times are wall times. */
interface UnfinishedRow {
  /** Its row in the table of the trace. */
  readonly row: number;
  /** When it arrived: the decision without what it has waited at the picker before. */
  readonly at: number;
  firstAt: number;
  size: OpenSize;
}

/** What has to be known of a request until its end; its blocks are in the table. */
interface OpenSize extends Pick<UncountedAnswer, 'streaming' | 'tokensMax'> {
  readonly promptTokens: number;
  /** The tokens of its blocks. */
  readonly blockTokens: number;
}

/** Assembles a capture's records into requests, of which it holds those whose end has not come. */
export class CaptureRequests {
  /** Tokens in each block; 0 before the first request. */
  blockTokens = 0;
  readonly #collector: TraceCollector;
  readonly #lengths = new AnswerLengths();
  readonly #uncounted = new UncountedAnswers();
  #unfinished = 0;
  /** By their number in the picker's run that is being read. */
  #open = new Map<number, UnfinishedRow>();
  #before: Pick<Captured<'capture'>, 'file' | 'seed'> | undefined;
  /** Difference between the wall time and the run's clock. */
  #wallMs = 0;
  /** Added to the run's block numbers, because each run counts its own blocks from 0. */
  #firstBlock = 0;
  #nextBlock = 0;

  constructor(collector: TraceCollector) {
    this.#collector = collector;
  }

  /**
   * Takes the next record, the `line`-th of the capture. Returns an error message if there is
   * something wrong with it.
   */
  add(raw: CaptureRecord, line: number): string | undefined {
    if (!NEEDED.has(raw.e)) return undefined;
    if (raw.e === 'first' && isTimed(raw)) return this.#add(raw, line);
    const { data, error } = record.safeParse(raw);
    if (data !== undefined) return this.#add(data, line);
    const { path = [], message = 'not a record' } = error.issues[0] ?? {};
    return `${raw.e}.${path.join('.')}: ${message}`;
  }

  /**
   * Estimates what no server has counted, after the last record. Returns sentences about what the
   * capture does not contain.
   */
  complete(): readonly string[] {
    this.#forgetOpen();
    const { table } = this.#collector;
    this.#uncounted.forEach((row, answer) => {
      table.setOutputTokens(row, this.#lengths.estimate(answer));
    });
    const unfinished = this.#unfinished;
    const answers = countOf(this.#uncounted.length, 'answer');
    const how = this.#lengths.hasCounts
      ? 'guessed from the others'
      : 'taken as long as their clients allow, where these say it';
    return [
      ...(unfinished > 0
        ? [`${countOf(unfinished, 'request')} had not ended when the capture did`]
        : []),
      ...(this.#uncounted.length > 0 ? [`${answers} whose tokens no server reported: ${how}`] : []),
    ];
  }

  #add(event: Captured<string>, line: number): string | undefined {
    if (event.e === 'capture') return this.#begin(event);
    const at = event.t + this.#wallMs;
    if (event.e === 'q') return this.#start(event, at, line);
    const open = this.#open.get(event.n);
    // The request's first record may be in a file that has been deleted.
    if (open === undefined) return undefined;
    if (event.e === 'first') {
      if (Number.isNaN(open.firstAt)) open.firstAt = at;
    } else if (event.e === 'body') return this.#readBody(open, event.r);
    else {
      this.#open.delete(event.n);
      this.#end(open, event, at);
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
      this.#forgetOpen();
      this.#firstBlock = this.#nextBlock;
      this.#wallMs = wallMs - t;
    }
    this.#before = head;
  }

  /** No end of those that are open will come. */
  #forgetOpen(): void {
    for (const { row, size } of this.#open.values()) {
      this.#unfinished += 1;
      this.#uncounted.add(row, answerOf(size));
    }
    this.#open.clear();
  }

  #start(
    { n, r, waitedMs = 0, d }: Captured<'q'>,
    decidedAt: number,
    line: number,
  ): string | undefined {
    const renumbered = this.#renumber(r);
    if (typeof renumbered === 'string') return renumbered;
    const at = decidedAt - waitedMs;
    const row = this.#collector.addRequest(requestOf(renumbered, at), line, renumbered.blocks);
    if (row === undefined) return undefined;
    const open: UnfinishedRow = { row, at, firstAt: Number.NaN, size: sizeOf(renumbered) };
    // A refused request is part of the trace, but has no further records.
    if (d.error === undefined) this.#open.set(n, open);
    else this.#end(open, { o: 'failed' }, decidedAt);
    return undefined;
  }

  #readBody(open: UnfinishedRow, r: CapturedSizes): string | undefined {
    const renumbered = this.#renumber(r);
    if (typeof renumbered === 'string') return renumbered;
    open.size = sizeOf(renumbered);
    const { table } = this.#collector;
    const request = requestOf(renumbered, table.addedAtMs(open.row));
    table.replace(open.row, request, renumbered.blocks);
    return undefined;
  }

  #end(
    open: UnfinishedRow,
    done: Pick<Captured<'done'>, 'o' | 'u' | 'bytes'>,
    doneAt: number,
  ): void {
    const { row, at, size, firstAt } = open;
    const { o, u, bytes } = done;
    const { table } = this.#collector;
    const answer = answerOf(size, o === 'failed' ? undefined : bytes);
    if (u === undefined) this.#uncounted.add(row, answer);
    else {
      table.setPromptTokens(row, promptTokensOf({ ...size, promptTokens: u[0] }));
      table.setOutputTokens(row, Math.max(1, Math.ceil(u[1])));
      if (o === 'completed') this.#lengths.learn(u[1], answer);
    }
    table.setEnd(row, {
      outcome: o,
      ttftMs: wholeMicros(firstAt - at),
      e2eMs: wholeMicros(doneAt - at),
    });
  }

  /** Gives the blocks numbers that no other run has. A string is an error message. */
  #renumber(r: CapturedSizes): CapturedSizes | string {
    if (this.blockTokens === 0) this.blockTokens = r.blockTokens;
    if (r.blockTokens !== this.blockTokens) {
      return `blocks of ${r.blockTokens} tokens, but of ${this.blockTokens} before`;
    }
    const count = blocksIn(r);
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
}

/** A third of all records are first tokens, and to check one by its schema takes as long as to read it. */
function isTimed({ t, n }: { readonly t: unknown; readonly n: unknown }): boolean {
  return typeof t === 'number' && Number.isSafeInteger(n) && (n as number) >= 0;
}

function requestOf(r: CapturedSizes, atMs: number): TraceRequest {
  return {
    atMs,
    model: r.model,
    promptTokens: promptTokensOf(sizeOf(r)),
    // Not known before its end.
    outputTokens: Number.NaN,
    // They are given as runs.
    blockIds: NO_TRACE_BLOCKS,
    ...(r.priority !== 0 && { priority: r.priority }),
    ...(r.fairness !== DEFAULT_FLOW && { fairnessId: r.fairness }),
  };
}

function sizeOf(r: CapturedSizes): OpenSize {
  const { streaming, outputTokensMax, promptTokens } = r;
  const blockTokens = blocksIn(r) * r.blockTokens;
  return { streaming, tokensMax: outputTokensMax ?? undefined, promptTokens, blockTokens };
}

/** The server's count, but not less than the blocks contain, which the picker may have estimated. */
function promptTokensOf({ promptTokens, blockTokens }: OpenSize): number {
  return Math.ceil(Math.max(promptTokens, blockTokens, 1));
}

function blocksIn({ blocks }: CapturedSizes): number {
  return blocks.reduce((sum, [, length]) => sum + length, 0);
}

/** The bytes of a failed answer say nothing about the length that was asked for. */
function answerOf({ streaming, tokensMax }: OpenSize, bytes?: number): UncountedAnswer {
  return { streaming, bytes, tokensMax };
}
