import type { StreamAction } from '../../../src/extproc/codec/stream-action.ts';
import { BODY_MODE, type CloseReason } from '../../../src/extproc/codec/stream-event.ts';
import { Session, type SessionOptions } from '../../../src/extproc/session/session.ts';
import { MemoryPool } from '../../../src/extproc/streams/memory-pool.ts';
import type { Clock, Random } from '../../../src/framework/runtime.ts';
import * as events from '../session/session-bed.ts';

interface StormStreamParts {
  readonly clock: Clock;
  readonly random: Random;
  /** Called where the request is placed or refused, during the call that says so. */
  readonly onAnswer: (stream: StormStream) => void;
}

/** The proxy's side of one request: its session, and the server and client behind the proxy. */
export class StormStream {
  readonly id: string;
  readonly session: Session;
  heldBytes = 0;
  refusals = 0;
  #picks = 0;
  /** Actions that came after the refusal. */
  #late = 0;
  #isClosed = false;
  readonly #parts: StormStreamParts;

  constructor(id: string, options: SessionOptions, parts: StormStreamParts) {
    this.id = id;
    this.#parts = parts;
    const hold = (bytes: number): void => void (this.heldBytes += bytes);
    const release = (bytes: number): void => hold(-bytes);
    const account = { blocks: new MemoryPool(), hold, release };
    this.session = new Session(options, (action) => this.#take(action), account);
  }

  /** The request comes: its headers, and its body in pieces. */
  send(pairs: Readonly<Record<string, string>>, body: string): void {
    const protocol = events.mode(BODY_MODE.fullDuplex);
    const half = body.length >> 1;
    this.session.on(
      events.requestHeaders({ ...protocol, pairs: { ...pairs, 'x-request-id': this.id } }),
    );
    this.session.on(events.requestPart(body.slice(0, half)));
    this.session.on(events.requestBody(body.slice(half)));
  }

  /** The stream is over, however it ended. */
  close(reason: CloseReason): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.session.closed(reason);
  }

  /** What must not be once each request has had all the time that it may take. */
  *faults(): Iterable<string> {
    const answers = this.#picks + this.refusals;
    if (!this.#isClosed && answers === 0) yield `${this.id} waits for ever`;
    // One that is in flight may be ended for others.
    if (this.#picks > 1 || this.refusals > 1) yield `${this.id} was answered ${answers} times`;
    if (this.#late > 0) yield `${this.id} got ${this.#late} answers after its refusal`;
  }

  #take(action: StreamAction): void {
    if (this.refusals > 0) this.#late += 1;
    if (action.kind === 'immediate-response') {
      this.refusals += 1;
      this.#later(5, () => this.close('ended'));
      this.#parts.onAnswer(this);
    } else if ('pick' in action && action.pick !== undefined) {
      this.#picks += 1;
      this.#serve();
      this.#parts.onAnswer(this);
    }
  }

  /** The server answers, fails or falls silent; the client may leave. */
  #serve(): void {
    const fate = this.#parts.random.next();
    if (fate < 0.02) return;
    if (fate < 0.05) return this.#later(2000, () => this.close('cancelled'));
    if (fate < 0.08) return this.#later(200, () => this.#on(events.responseHeaders(503, true)));
    // Some servers are late by far: their requests are overdue.
    this.#later(fate > 0.7 ? 8000 : fate * 1000, () => {
      this.#on(events.responseHeaders());
      this.#on(events.responsePart('data: {"choices":[{"text":"a"}]}\n\n'));
      this.#later(fate * 2000, () => {
        this.#on(events.responseEnd('data: [DONE]\n\n'));
        this.close('ended');
      });
    });
  }

  #on(event: Parameters<Session['on']>[0]): void {
    if (!this.#isClosed) this.session.on(event);
  }

  #later(ms: number, task: () => void): void {
    const { clock, random } = this.#parts;
    clock.setTimer(ms * random.next(), task);
  }
}
