import type { StreamEvent } from '../codec/stream-event.ts';
import type { ByteAccount } from '../streams/byte-account.ts';

/** Around the bytes of an event that waits: its objects, and its place in the list. */
const WAITING_EVENT_BYTES = 256;

/**
 * The events of one stream that came while its pick had to wait, in their order. Few are expected,
 * because the proxy awaits our answer; the account bounds them.
 */
export class WaitingEvents {
  readonly #account: ByteAccount;
  readonly #events: StreamEvent[] = [];

  constructor(account: ByteAccount) {
    this.#account = account;
  }

  /** Keeps the event beyond this call. */
  add(event: StreamEvent): void {
    this.#events.push(withOwnMemory(event));
    this.#account.hold(bytesOf(event));
  }

  /** Gives each event that waits now to `on`; what that adds again comes after all of them. */
  takeEach(on: (event: StreamEvent) => void): void {
    for (const event of this.#events.splice(0)) {
      this.#account.release(bytesOf(event));
      on(event);
    }
  }

  drop(): void {
    this.takeEach(() => {});
  }
}

function bytesOf({ wireBytes }: StreamEvent): number {
  return wireBytes + WAITING_EVENT_BYTES;
}

/** The chunk of a request is valid during one call only. */
function withOwnMemory(event: StreamEvent): StreamEvent {
  return event.kind === 'request-body' ? { ...event, chunk: Buffer.from(event.chunk) } : event;
}
