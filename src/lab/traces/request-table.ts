import { OUTCOMES, type Outcome } from '../../framework/observer.ts';
import type { Millis } from '../../framework/runtime.ts';
import type { IdRun } from './table/id-runs.ts';
import { NumberColumn } from './table/number-column.ts';
import { PromptTree } from './table/prompt-tree.ts';
import { TextNumbers } from './table/text-numbers.ts';
import type { TraceRequest, TraceRequests } from './trace.ts';
import { NO_TRACE_BLOCKS } from './trace-format.ts';
import { wholeMicros } from './whole-micros.ts';

/** What became of a request; times are NaN where they are not known. */
export interface RowEnd {
  readonly outcome: Outcome;
  readonly ttftMs: Millis;
  readonly e2eMs: Millis;
}

/**
 * Requests as columns of numbers, about 40 bytes for each, beside the tree of their prompts, in place
 * of 500 bytes and more as objects. Each request is made when it is asked for.
 */
export class RequestTable implements TraceRequests {
  readonly tree: PromptTree = new PromptTree();
  readonly #atMs = new NumberColumn(Float64Array);
  readonly #model = new NumberColumn(Uint32Array);
  readonly #promptTokens = new NumberColumn(Uint32Array);
  /** 0 for an unknown length. */
  readonly #outputTokens = new NumberColumn(Uint32Array);
  /** The node of the tree at which its prompt ends. */
  readonly #node = new NumberColumn(Uint32Array);
  /** One more than the number of the text; 0 for none. */
  readonly #session = new NumberColumn(Uint32Array);
  readonly #fairness = new NumberColumn(Uint32Array);
  readonly #thinkMs = new NumberColumn(Float64Array, Number.NaN);
  readonly #priority = new NumberColumn(Float64Array, Number.NaN);
  /** One more than the place in OUTCOMES; 0 for none. */
  readonly #outcome = new NumberColumn(Uint8Array);
  readonly #ttftMs = new NumberColumn(Float64Array, Number.NaN);
  readonly #e2eMs = new NumberColumn(Float64Array, Number.NaN);
  readonly #texts = new TextNumbers();
  readonly #sessions = new TextNumbers();
  /** The rows in the order of arrival, where that is not their own. */
  #order: Uint32Array | undefined;
  /** The arrival of the first request, which counts as 0. */
  #startMs = 0;
  #length = 0;

  /** A table of these requests: itself, if they are one. */
  static of(requests: TraceRequests): RequestTable {
    if (requests instanceof RequestTable) return requests;
    const table = new RequestTable();
    for (const request of requests) table.add(request);
    return table;
  }

  get length(): number {
    return this.#length;
  }

  /** The rows of its requests. */
  *rows(): Generator<number, void> {
    for (let place = 0; place < this.#length; place++) yield this.#order?.[place] ?? place;
  }

  at(index: number): TraceRequest | undefined {
    const place = index < 0 ? index + this.#length : index;
    if (place < 0 || place >= this.#length) return undefined;
    const row = this.#order?.[place] ?? place;
    return this.#requestOf(row, this.tree.idsOf(this.#node.get(row)));
  }

  *[Symbol.iterator](): Generator<TraceRequest, void> {
    for (const row of this.rows()) {
      yield this.#requestOf(row, this.tree.idsOf(this.#node.get(row)));
    }
  }

  /** The requests, with no list of blocks: making it takes most of the time. */
  *withoutBlocks(): Generator<TraceRequest, void> {
    for (const row of this.rows()) yield this.#requestOf(row, NO_TRACE_BLOCKS);
  }

  /** Returns its row. `runs`: its blocks, where they are known as such. */
  add(request: TraceRequest, runs?: readonly IdRun[]): number {
    const row = this.#length;
    this.#length += 1;
    this.replace(row, request, runs);
    return row;
  }

  /** The row has this request from here on; the order of the rows stays. */
  replace(row: number, request: TraceRequest, runs?: readonly IdRun[]): void {
    const { model, blockIds, session, fairnessId, seen } = request;
    this.#atMs.set(row, request.atMs);
    this.#model.set(row, this.#texts.numberOf(model));
    this.#node.set(row, this.tree.add(model, runs ?? this.tree.runsOf(blockIds)));
    this.setPromptTokens(row, request.promptTokens);
    this.setOutputTokens(row, request.outputTokens);
    this.#session.set(row, session === undefined ? 0 : this.#sessions.numberOf(session) + 1);
    this.#fairness.set(row, fairnessId === undefined ? 0 : this.#texts.numberOf(fairnessId) + 1);
    this.#thinkMs.set(row, request.thinkMs ?? Number.NaN);
    this.#priority.set(row, request.priority ?? Number.NaN);
    if (seen === undefined) return;
    const { outcome, ttftMs = Number.NaN, e2eMs = Number.NaN } = seen;
    this.setEnd(row, { outcome, ttftMs, e2eMs });
  }

  /** When the row's request arrives, as it was added. */
  addedAtMs(row: number): Millis {
    return this.#atMs.get(row);
  }

  /** The node at which the prompt of the request at this place ends. */
  nodeAt(place: number): number {
    return this.#node.get(this.#order?.[place] ?? place);
  }

  setPromptTokens(row: number, tokens: number): void {
    this.#promptTokens.set(row, tokens);
  }

  /** NaN where it is unknown. */
  setOutputTokens(row: number, tokens: number): void {
    this.#outputTokens.set(row, Number.isNaN(tokens) ? 0 : tokens);
  }

  /** The row's answer; NaN where its length is unknown. */
  outputTokensOf(row: number): number {
    return this.#outputTokens.get(row) || Number.NaN;
  }

  setEnd(row: number, { outcome, ttftMs, e2eMs }: RowEnd): void {
    this.#outcome.set(row, OUTCOMES.indexOf(outcome) + 1);
    this.#ttftMs.set(row, ttftMs);
    this.#e2eMs.set(row, e2eMs);
  }

  /** Takes the requests of these rows away; none may be added after that. */
  leaveOut(rows: readonly number[]): void {
    const isKept = new Uint8Array(this.#length).fill(1);
    for (const row of rows) isKept[row] = 0;
    this.#order = Uint32Array.from(this.rows()).filter((row) => isKept[row] === 1);
    this.#length = this.#order.length;
  }

  /** Puts the requests into the order of arrival; those that arrive together keep theirs. */
  sort(): void {
    const order = this.#order ?? Uint32Array.from({ length: this.#length }, (_, row) => row);
    const atMs = this.#atMs;
    this.#order = order.sort((a, b) => atMs.get(a) - atMs.get(b) || a - b);
  }

  /** All are there: the first request arrives at 0, and none is added. */
  complete(): void {
    this.tree.close();
    this.#startMs = this.#length === 0 ? 0 : this.#atMs.get(this.#order?.[0] ?? 0);
  }

  #requestOf(row: number, blockIds: TraceRequest['blockIds']): TraceRequest {
    const atMs = this.#atMs.get(row);
    const session = this.#session.get(row);
    const fairness = this.#fairness.get(row);
    const thinkMs = this.#thinkMs.get(row);
    const priority = this.#priority.get(row);
    const outcome = OUTCOMES[this.#outcome.get(row) - 1];
    return {
      atMs: this.#startMs === 0 ? atMs : wholeMicros(atMs - this.#startMs),
      model: this.#texts.textOf(this.#model.get(row)),
      promptTokens: this.#promptTokens.get(row),
      outputTokens: this.outputTokensOf(row),
      blockIds,
      ...(session > 0 && { session: this.#sessions.textOf(session - 1) }),
      ...(!Number.isNaN(thinkMs) && { thinkMs }),
      ...(!Number.isNaN(priority) && { priority }),
      ...(fairness > 0 && { fairnessId: this.#texts.textOf(fairness - 1) }),
      ...(outcome !== undefined && { seen: this.#endOf(row, outcome) }),
    };
  }

  #endOf(row: number, outcome: Outcome): NonNullable<TraceRequest['seen']> {
    const [ttftMs, e2eMs] = [this.#ttftMs.get(row), this.#e2eMs.get(row)];
    return {
      outcome,
      ...(!Number.isNaN(ttftMs) && { ttftMs }),
      ...(!Number.isNaN(e2eMs) && { e2eMs }),
    };
  }
}

/** The requests, with no lists of their blocks where making these takes time. */
export function sizesIn(requests: TraceRequests): Iterable<TraceRequest> {
  return requests instanceof RequestTable ? requests.withoutBlocks() : requests;
}
