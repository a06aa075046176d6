import type { Outcome, Routed, Usage } from '../../framework/observer.ts';
import type { InferenceRequest, PromptBlocks } from '../../framework/request.ts';
import type { FirstBand } from '../../framework/routing.ts';
import type { Clock, Millis, Timer } from '../../framework/runtime.ts';
import { InFlightMap } from '../../framework/values/in-flight-map.ts';
import type { JournalSubscriber } from '../../picker/events/journal.ts';
import {
  ENTRIES_MAX,
  MESSAGE_KIND,
  type MessageHead,
  TextTable,
  writeHead,
  writeTime,
} from '../messages/message.ts';
import { ByteWriter } from '../messages/wire.ts';
import { writeChange, writeDone, writePrompt, writeWaiting } from '../messages/write-entries.ts';
import { FreshRequests } from './fresh-requests.ts';
import { newOpenRequest, type OpenRequest, writeOpen } from './open-request.ts';
import { PickPace } from './pick-pace.ts';
import { type MessageCounts, type SendMessage, SendQueue } from './send-queue.ts';

/** A batch this long is sent before its time. */
const BATCH_BYTES = 256 * 1024;

export interface OutboxOptions {
  readonly id: string;
  readonly boot: number;
  readonly clock: Clock;
  /** An event waits at most so long for others; a pick mostly for less. */
  readonly intervalMs: Millis;
  /** How many endpoints there are. */
  readonly endpoints: () => number;
  /** What waits for flow control here. */
  readonly waiting: () => FirstBand | undefined;
  readonly send: SendMessage;
}

/** Counts since the start. */
export interface SentCounts extends MessageCounts {
  readonly events: number;
}

/**
 * Sends to other replicas what this picker does. It subscribes to the picker's journal, writes what
 * happens at once into the batch of the moment, and sends the batch after a short time. A replica
 * that misses a batch asks for the open requests.
 */
export class Outbox implements JournalSubscriber {
  readonly answersOptional = true;
  readonly #options: OutboxOptions;
  readonly #open = new InFlightMap<number, OpenRequest>((number) => number);
  readonly #entries = new ByteWriter();
  readonly #fresh: FreshRequests;
  readonly #texts = new TextTable();
  readonly #message = new ByteWriter();
  readonly #queue: SendQueue;
  #timer: Timer | undefined;
  /** When the timer fires. */
  #dueAt: Millis = 0;
  #sequence = 0;
  /** Above the numbers of all requests so far. */
  #end = 0;
  #blockTokens: number | undefined;
  #connected = false;
  /** The origin of times in the batch: when it began. */
  #begunAt: Millis = 0;
  #batchEvents = 0;
  readonly #pace: PickPace;
  #events = 0;

  constructor(options: OutboxOptions) {
    this.#options = options;
    this.#queue = new SendQueue(options.send);
    this.#fresh = new FreshRequests(this.#entries, this.#texts);
    this.#pace = new PickPace(options);
  }

  get sent(): SentCounts {
    const { messages, bytes, dropped } = this.#queue.counts;
    return { messages, bytes, events: this.#events, dropped };
  }

  /** Requests of this picker that have not ended. */
  get open(): number {
    return this.#open.size;
  }

  /** In a block of this picker's prompts; undefined before the first one. */
  get blockTokens(): number | undefined {
    return this.#blockTokens;
  }

  get sequence(): number {
    return this.#sequence;
  }

  /** Without a connection nothing is kept: the others release what this replica has open. */
  connected(): void {
    this.#connected = true;
    // What happened in between was not sent: the others shall see that a batch is missing.
    this.#sequence += 1;
  }

  disconnected(): void {
    this.#connected = false;
    this.#queue.drop();
    this.#clear();
  }

  onRouted(routed: Routed): void {
    const { count, blockTokens } = routed.request.prompt;
    if (count > 0) this.#blockTokens = blockTokens;
    this.#end = Math.max(this.#end, routed.number + 1);
    const open = newOpenRequest(routed);
    this.#open.set(routed.number, open);
    if (this.#begin(0) === undefined) return;
    this.#fresh.add(open);
    this.#flushIn(this.#pace.add(routed, this.#options.clock.now()));
    this.#written();
  }

  onBodyRead({ number, request: { prompt: known } }: Routed, request: InferenceRequest): void {
    const { promptTokens, prompt } = request;
    if (this.#begin(0) === undefined) return;
    this.#fresh.write(this.#open.get(number), this.#begunAt);
    writePrompt(this.#entries, { kind: 'body-read', number, promptTokens, prompt, known });
    this.#written();
  }

  onFirstToken({ number }: Routed, at: Millis): void {
    const open = this.#open.get(number);
    if (open !== undefined) open.firstTokenAt = at;
    if (open?.freshAt !== undefined) this.#written();
    else this.#change('first-token', number, at);
  }

  onAnswered({ number, request }: Routed, prompt: PromptBlocks): void {
    const { promptTokens, prompt: known } = request;
    if (this.#begin(0) === undefined) return;
    this.#fresh.write(this.#open.get(number), this.#begunAt);
    writePrompt(this.#entries, { kind: 'answered', number, promptTokens, prompt, known });
    this.#written();
  }

  onServed({ number, endpoint }: Routed, address: string, at: Millis): void {
    if (address === endpoint.address) return;
    const open = this.#open.get(number);
    if (open !== undefined) open.served = address;
    this.#fresh.write(open, this.#begunAt);
    this.#change('served', number, at, address);
  }

  onDone({ number }: Routed, at: Millis, outcome: Outcome, usage: Usage | undefined): void {
    const open = this.#open.delete(number);
    const afterMs = this.#begin(at);
    if (afterMs === undefined) return;
    this.#fresh.write(open, this.#begunAt);
    writeDone(this.#entries, { number, afterMs, outcome, usage });
    this.#written();
  }

  /** Sends what has happened; without anything new, an empty batch. */
  flush(): void {
    if (!this.#connected) return;
    const waiting = this.#options.waiting();
    if (waiting !== undefined) writeWaiting(this.#entries, waiting);
    this.#fresh.writeAll(this.#begunAt);
    const originAgeMs = this.#batchEvents === 0 ? 0 : this.#options.clock.now() - this.#begunAt;
    this.#sequence += 1;
    const message = this.#compose(MESSAGE_KIND.batch, (writer) => {
      writer.number(this.#open.size);
      writeTime(writer, originAgeMs);
      this.#texts.write(writer);
      writer.bytes(this.#entries.view());
    });
    this.#events += this.#batchEvents;
    this.#clear();
    this.#queue.add(message);
  }

  /** Sends what is open to one replica, in ranges of numbers that fit into messages. */
  sendOpen(to: string, uptimeMs: Millis, heldBlocks: number): void {
    // What has happened before must arrive before.
    this.flush();
    const about = { end: this.#end, now: this.#options.clock.now(), uptimeMs, heldBlocks };
    const open = [...this.#open.values()].sort((a, b) => a.routed.number - b.routed.number);
    writeOpen(open, about, (write) => this.#sendNow(to, MESSAGE_KIND.open, write));
  }

  /** Sends another kind of message at once; false where it is not sent. */
  sendOther(kind: number, to: string | undefined, write?: (writer: ByteWriter) => void): boolean {
    return this.#sendNow(to, kind, write ?? (() => undefined));
  }

  stop(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
  }

  #change(kind: 'first-token' | 'served', number: number, at: Millis, address = ''): void {
    const afterMs = this.#begin(at);
    if (afterMs === undefined) return;
    writeChange(this.#entries, this.#texts, { kind, number, afterMs, address });
    this.#written();
  }

  /** When it has happened, counted from the batch's origin; undefined where nothing is sent. */
  #begin(at: Millis): Millis | undefined {
    if (!this.#connected) return undefined;
    if (this.#batchEvents === 0) {
      this.#begunAt = this.#options.clock.now();
      this.#flushIn(this.#options.intervalMs);
    }
    return at - this.#begunAt;
  }

  /** Sends the batch after so long at the latest. */
  #flushIn(delayMs: Millis): void {
    const { clock } = this.#options;
    const dueAt = clock.now() + delayMs;
    if (this.#timer !== undefined && this.#dueAt <= dueAt) return;
    this.#timer?.cancel();
    this.#dueAt = dueAt;
    this.#timer = clock.setTimer(delayMs, () => {
      this.#timer = undefined;
      if (this.#batchEvents > 0) this.flush();
    });
  }

  #written(): void {
    this.#batchEvents += 1;
    const bytes = this.#entries.length + this.#fresh.bytes;
    const isLong = bytes >= BATCH_BYTES || this.#texts.isFull;
    if (isLong || this.#batchEvents >= ENTRIES_MAX) this.flush();
  }

  #clear(): void {
    this.#fresh.clear();
    this.#entries.clear();
    this.#texts.clear();
    this.#batchEvents = 0;
    this.#pace.begin(this.#options.clock.now());
  }

  #compose(kind: number, write: (writer: ByteWriter) => void): Uint8Array {
    const { id, boot, clock } = this.#options;
    const head: MessageHead = {
      kind,
      id,
      boot,
      sequence: this.#sequence,
      sentAt: clock.wallTime(),
    };
    this.#message.clear();
    writeHead(this.#message, head);
    write(this.#message);
    return this.#message.view();
  }

  #sendNow(to: string | undefined, kind: number, write: (writer: ByteWriter) => void): boolean {
    return this.#queue.sendNow(this.#compose(kind, write), to);
  }
}
