import { z } from 'zod';
import type { CaptureRecord } from '../capture/capture-record.ts';
import { readCapture } from '../capture/read-capture.ts';
import { ConfigError } from '../framework/error.ts';
import type { Outcome } from '../framework/observer.ts';
import { TraceCollector } from './collect-trace.ts';
import type { Trace, TraceRequest } from './trace.ts';
import { TOKENS_MAX } from './trace-format.ts';

const captured = z.object({
  model: z.string(),
  outputTokensMax: z.number().nullish(),
  promptTokens: z.number().nonnegative().max(TOKENS_MAX),
  blockTokens: z.int().positive(),
  blocks: z.array(z.tuple([z.int().nonnegative(), z.int().positive().max(TOKENS_MAX)])),
});
const at = { t: z.number(), n: z.int().nonnegative() };
const counted = z.number().nonnegative().max(TOKENS_MAX);
/** Of each record only what a trace is made of. */
const record = z.discriminatedUnion('e', [
  z.object({ e: z.literal('capture'), t: z.number(), wallMs: z.number(), file: z.int() }),
  z.object({ e: z.literal('q'), ...at, r: captured }),
  z.object({ e: z.literal('body'), ...at, r: captured }),
  z.object({ e: z.literal('first'), ...at }),
  z.object({
    e: z.literal('done'),
    ...at,
    o: z.enum(['completed', 'aborted', 'failed']),
    u: z.tuple([counted, counted, counted.nullable()]).optional(),
  }),
]);
type Told = z.infer<typeof record>;
const TOLD: ReadonlySet<string> = new Set(['capture', 'q', 'body', 'first', 'done']);

/** A request as far as it has been told. */
interface OpenRequest {
  readonly at: number;
  r: z.infer<typeof captured>;
  firstAt?: number;
  done?: {
    readonly at: number;
    readonly o: Outcome;
    readonly prompt: number;
    readonly output: number;
  };
}

/**
 * A capture's requests as a trace: when they came, their blocks, the token counts that model servers reported, and what
 * became of them. Throws TraceError with the record that is wrong, and ConfigError where there is no capture.
 */
export function readCaptureTrace(path: string, { lenient }: { readonly lenient: boolean }): Trace {
  const { records, warnings } = readCapture(path);
  const collector = new TraceCollector({ source: path, lenient, ordered: false });
  const reading = new CaptureReading();
  let line = 0;
  try {
    for (const each of records) {
      line += 1;
      const wrong = TOLD.has(each.e) ? reading.take(each) : undefined;
      if (wrong !== undefined) collector.refuse(wrong, line);
    }
  } catch (error) {
    // What it holds from there on cannot be had.
    if (!lenient || !(error instanceof ConfigError)) throw error;
    collector.refuse(error.message, line);
  }
  for (const warning of warnings) collector.note(warning);
  for (const request of reading.requests()) collector.add(request, line);
  if (reading.unfinished > 0) {
    collector.note(`${reading.unfinished} requests had not ended when the capture did`);
  }
  return collector.trace(reading.blockTokens);
}

class CaptureReading {
  blockTokens = 0;
  unfinished = 0;
  readonly #all: OpenRequest[] = [];
  /** By their number in the run of a picker that is being read. */
  #open = new Map<number, OpenRequest>();
  #file = Number.POSITIVE_INFINITY;
  /** From the run's clock to one that all runs of it share. */
  #wallMs = 0;
  /** A run numbers its blocks from 0: those of the runs before it are others. */
  #firstBlock = 0;
  #nextBlock = 0;

  take(raw: CaptureRecord): string | undefined {
    const parsed = record.safeParse(raw);
    if (!parsed.success) {
      const [issue] = parsed.error.issues;
      return `${raw.e}.${issue?.path.join('.') ?? ''}: ${issue?.message ?? 'no record'}`;
    }
    return this.#take(parsed.data);
  }

  *requests(): Generator<TraceRequest, void> {
    for (const each of this.#all) yield this.#requestOf(each);
  }

  #take(told: Told): string | undefined {
    if (told.e === 'capture') {
      this.#begin(told);
      return undefined;
    }
    const at = told.t + this.#wallMs;
    if (told.e === 'q') return this.#asked(told, at);
    const open = this.#open.get(told.n);
    // Its beginning may be in a file that has been deleted.
    if (open === undefined) return undefined;
    if (told.e === 'first') open.firstAt ??= at;
    else if (told.e === 'body') return this.#bodyRead(open, told.r);
    else {
      open.done = { at, o: told.o, prompt: told.u?.[0] ?? 0, output: told.u?.[1] ?? Number.NaN };
      this.#open.delete(told.n);
    }
    return undefined;
  }

  /** Each file begins so; one that is not the next of the run before begins another. */
  #begin({ t, wallMs, file }: Extract<Told, { e: 'capture' }>): void {
    if (file <= this.#file) {
      this.#open = new Map();
      this.#firstBlock = this.#nextBlock;
      this.#wallMs = wallMs - t;
    }
    this.#file = file;
  }

  #asked({ n, r }: Extract<Told, { e: 'q' }>, at: number): string | undefined {
    const wrong = this.#numbered(r);
    if (typeof wrong === 'string') return wrong;
    const open: OpenRequest = { at, r: wrong };
    this.#open.set(n, open);
    this.#all.push(open);
    return undefined;
  }

  #bodyRead(open: OpenRequest, r: OpenRequest['r']): string | undefined {
    const numbered = this.#numbered(r);
    if (typeof numbered === 'string') return numbered;
    open.r = numbered;
    return undefined;
  }

  /** With block numbers that no other run has. */
  #numbered(r: OpenRequest['r']): OpenRequest['r'] | string {
    if (this.blockTokens === 0) this.blockTokens = r.blockTokens;
    if (r.blockTokens !== this.blockTokens) {
      return `blocks of ${r.blockTokens} tokens, and of ${this.blockTokens} before`;
    }
    const count = r.blocks.reduce((sum, [, length]) => sum + length, 0);
    if (count * r.blockTokens > TOKENS_MAX) return `${count} blocks, more than any prompt has`;
    const blocks = r.blocks.map(([first, length]): [number, number] => {
      const numbered = first + this.#firstBlock;
      this.#nextBlock = Math.max(this.#nextBlock, numbered + length);
      return [numbered, length];
    });
    return { ...r, blocks };
  }

  #requestOf({ at, r, firstAt, done }: OpenRequest): TraceRequest {
    if (done === undefined) this.unfinished += 1;
    const blockIds = r.blocks.flatMap(([first, length]) =>
      Array.from({ length }, (_, index) => first + index),
    );
    // What the server counted, but never less than the blocks are of: the picker may have estimated them.
    const prompt = Math.max(done?.prompt || r.promptTokens, blockIds.length * r.blockTokens, 1);
    return {
      atMs: at,
      model: r.model,
      promptTokens: Math.ceil(prompt),
      outputTokens: Math.max(1, Math.ceil(done?.output ?? Number.NaN)),
      blockIds,
      ...(done !== undefined && {
        seen: {
          outcome: done.o,
          ...(firstAt !== undefined && { ttftMs: firstAt - at }),
          e2eMs: done.at - at,
        },
      }),
    };
  }
}
