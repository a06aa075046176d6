import type { Clock, Millis, Timer } from '../../framework/runtime.ts';

/** Where the events of one viewer are written. */
export interface ViewerStream {
  write(text: string): void;
  /** Bytes that were written and that the viewer has not taken. */
  readonly pendingBytes: number;
  end(): void;
  onClose(closed: () => void): void;
}

/** Makes messages. `begin` and `end` say whether there is anybody to make them for. */
export interface MessageSource {
  begin(): void;
  end(): void;
  /** The first message of a viewer: all that is kept. */
  first(): object;
  /** What is new since the last one, for all viewers. */
  next(): object;
}

const TICK_MS: Millis = 1000;
/** A viewer that has not taken what was sent for so long has gone, or cannot keep up. */
const STALLED_MAX_MS: Millis = 10_000;
/** More than people look at one picker at a time. */
export const VIEWERS_MAX = 8;
/** Time until a browser connects again. */
const RETRY_MS = 1000;

interface Viewer {
  readonly stream: ViewerStream;
  /** Since when it has not taken what was sent. */
  stalledSince: Millis | undefined;
}

/**
 * Sends one message a second to each viewer. A viewer that has not taken the last one gets none,
 * and is dropped after ten seconds, so that at most one message is kept for it. Without viewers
 * nothing is made and no timer runs.
 */
export class Viewers {
  readonly #viewers = new Set<Viewer>();
  readonly #clock: Clock;
  readonly #source: MessageSource;
  #timer: Timer | undefined;

  constructor(clock: Clock, source: MessageSource) {
    this.#clock = clock;
    this.#source = source;
  }

  get count(): number {
    return this.#viewers.size;
  }

  /** False where there are too many already. */
  add(stream: ViewerStream): boolean {
    if (this.#viewers.size >= VIEWERS_MAX) return false;
    if (this.#viewers.size === 0) {
      this.#source.begin();
      this.#timer = this.#clock.setTimer(TICK_MS, this.#tick);
    }
    const viewer = { stream, stalledSince: undefined };
    this.#viewers.add(viewer);
    stream.onClose(() => this.#remove(viewer));
    stream.write(`retry: ${RETRY_MS}\n\n${eventOf(this.#source.first())}`);
    return true;
  }

  readonly #tick = (): void => {
    this.#timer = this.#clock.setTimer(TICK_MS, this.#tick);
    const event = eventOf(this.#source.next());
    const now = this.#clock.now();
    for (const viewer of this.#viewers) {
      if (viewer.stream.pendingBytes === 0) {
        viewer.stalledSince = undefined;
        viewer.stream.write(event);
      } else {
        viewer.stalledSince ??= now;
        if (now - viewer.stalledSince >= STALLED_MAX_MS) viewer.stream.end();
      }
    }
  };

  #remove(viewer: Viewer): void {
    if (!this.#viewers.delete(viewer) || this.#viewers.size > 0) return;
    this.#timer?.cancel();
    this.#timer = undefined;
    this.#source.end();
  }
}

function eventOf(message: object): string {
  return `data: ${JSON.stringify(message)}\n\n`;
}
