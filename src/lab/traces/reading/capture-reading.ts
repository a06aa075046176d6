import type { Outcome } from '../../../framework/observer.ts';
import type { CaptureRecord } from '../../../journal/capture/capture-record.ts';
import type { TraceRequest } from '../trace.ts';
import { TOKENS_MAX } from '../trace-format.ts';
import { AnswerLengths, type UncountedAnswer } from './answer-lengths.ts';
import { type CapturedSizes, type CaptureTold, toldBy } from './capture-told.ts';

/** A request as far as it has been told. */
interface OpenRequest {
  readonly at: number;
  r: CapturedSizes;
  firstAt?: number;
  done?: RequestEnd;
}

interface RequestEnd {
  readonly at: number;
  readonly o: Outcome;
  /** As the model server counted. */
  readonly promptTokens?: number | undefined;
  readonly outputTokens?: number | undefined;
  readonly bytes?: number | undefined;
}

/** Puts a capture's records together to requests. */
export class CaptureReading {
  /** Of the blocks; 0 before the first request. */
  blockTokens = 0;
  readonly #lengths = new AnswerLengths();
  readonly #all: OpenRequest[] = [];
  /** By their number in the run of a picker that is being read. */
  #open = new Map<number, OpenRequest>();
  #file = Number.POSITIVE_INFINITY;
  /** From the run's clock to one that all runs of it share. */
  #wallMs = 0;
  /** A run numbers its blocks from 0: those of the runs before it are others. */
  #firstBlock = 0;
  #nextBlock = 0;

  /** A string says what is wrong with the record. */
  take(raw: CaptureRecord): string | undefined {
    const told = toldBy(raw);
    return told === undefined || typeof told === 'string' ? told : this.#take(told);
  }

  /** In the order in which they were decided. */
  *requests(): Generator<TraceRequest, void> {
    for (const each of this.#all) yield this.#requestOf(each);
  }

  /** What is not told, for a person. */
  notes(): readonly string[] {
    const unfinished = this.#all.filter(({ done }) => done === undefined).length;
    const uncounted = this.#all.filter(({ done }) => done?.outputTokens === undefined).length;
    return [
      ...(unfinished > 0 ? [`${unfinished} requests had not ended when the capture did`] : []),
      ...(uncounted > 0
        ? [`${uncounted} answers whose tokens no server reported: guessed from the others`]
        : []),
    ];
  }

  #take(told: CaptureTold): string | undefined {
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
    else this.#ended(open, told, at);
    return undefined;
  }

  #ended(open: OpenRequest, told: Extract<CaptureTold, { e: 'done' }>, at: number): void {
    const [promptTokens, outputTokens] = told.u ?? [];
    open.done = { at, o: told.o, promptTokens, outputTokens, bytes: told.bytes };
    this.#open.delete(told.n);
    if (told.o === 'completed' && outputTokens !== undefined) {
      this.#lengths.learn(outputTokens, answerOf(open));
    }
  }

  /** Each file begins so; one that is not the next of the run before begins another. */
  #begin({ t, wallMs, file }: Extract<CaptureTold, { e: 'capture' }>): void {
    if (file <= this.#file) {
      this.#open = new Map();
      this.#firstBlock = this.#nextBlock;
      this.#wallMs = wallMs - t;
    }
    this.#file = file;
  }

  #asked({ n, r, d }: Extract<CaptureTold, { e: 'q' }>, at: number): string | undefined {
    const wrong = this.#numbered(r);
    if (typeof wrong === 'string') return wrong;
    const open: OpenRequest = { at, r: wrong };
    // What was refused was asked all the same, and nothing more is told of it.
    if (d.error === undefined) this.#open.set(n, open);
    else open.done = { at, o: 'failed' };
    this.#all.push(open);
    return undefined;
  }

  #bodyRead(open: OpenRequest, r: CapturedSizes): string | undefined {
    const numbered = this.#numbered(r);
    if (typeof numbered === 'string') return numbered;
    open.r = numbered;
    return undefined;
  }

  /** With block numbers that no other run has. */
  #numbered(r: CapturedSizes): CapturedSizes | string {
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

  #requestOf(open: OpenRequest): TraceRequest {
    const { at, r, firstAt, done } = open;
    const blockIds = r.blocks.flatMap(([first, length]) =>
      Array.from({ length }, (_, index) => first + index),
    );
    // What the server counted, but never less than the blocks are of: the picker may have estimated them.
    const prompt = Math.max(
      done?.promptTokens ?? r.promptTokens,
      blockIds.length * r.blockTokens,
      1,
    );
    return {
      atMs: at,
      model: r.model,
      promptTokens: Math.ceil(prompt),
      outputTokens: Math.max(
        1,
        Math.ceil(done?.outputTokens ?? this.#lengths.guess(answerOf(open))),
      ),
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

function answerOf({ r, done }: OpenRequest): UncountedAnswer {
  return {
    streaming: r.streaming,
    // What failed tells nothing by how much of it came.
    bytes: done?.o === 'failed' ? undefined : done?.bytes,
    tokensMax: r.outputTokensMax ?? undefined,
  };
}
