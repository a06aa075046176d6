import type { Call, Clock, Network, Timer } from '../framework/runtime.ts';
import type { DecisionMessage, PickerMessage, SchedulerMessage, Welcome } from './messages.ts';
import {
  decodeSchedulerMessage,
  encodePickerMessage,
  PROTOCOL_VERSION,
  RUN_METHOD,
} from './wire.ts';

export interface LinkOptions {
  readonly address: string;
  readonly tls: { readonly caPath?: string | undefined } | undefined;
  readonly clock: Clock;
  readonly network: Network;
  readonly hello: () => PickerMessage;
  readonly onWelcome: (welcome: Welcome) => void;
  readonly onDecisions: (decisions: readonly DecisionMessage[]) => void;
  /** It was welcome, and now is not. */
  readonly onDown: (reason: string) => void;
}

/** Scores of thousands of endpoints for hundreds of requests. */
const MESSAGE_BYTES_MAX = 4 * 1024 * 1024;
/** A scheduler that leaves so much unread will not answer in time any more. */
const UNREAD_BYTES_MAX = 4 * 1024 * 1024;
const WELCOME_MS = 5000;
/** Between attempts: at first, and at most. */
const RECONNECT_MS = 100;
const RECONNECT_MS_MAX = 5000;

/** A scheduler's stream: opened, opened again whenever it ends, and closed when it breaks the protocol. */
export class SchedulerLink {
  readonly #options: LinkOptions;
  #call: Call | undefined;
  #welcome: Welcome | undefined;
  #timer: Timer | undefined;
  #attempts = 0;
  #stopped = false;

  constructor(options: LinkOptions) {
    this.#options = options;
    this.#open();
  }

  /** What it has asked for; undefined while nothing can be sent. */
  get welcome(): Welcome | undefined {
    return this.#welcome;
  }

  send(message: PickerMessage): void {
    this.#call?.send(encodePickerMessage(message));
    const unread = this.#call?.waitingBytes() ?? 0;
    if (unread > UNREAD_BYTES_MAX) this.reset(`it has not read ${unread} bytes`);
  }

  /** Ends the stream and begins anew. */
  reset(reason: string): void {
    this.#call?.close();
    this.#lost(reason);
  }

  stop(): void {
    this.#stopped = true;
    this.#timer?.cancel();
    this.#call?.close();
    this.#welcome = undefined;
  }

  #open(): void {
    const { address, tls, clock, network, hello } = this.#options;
    // A replay calls nobody, and must not set timers that the original did not.
    if (network.openCall === undefined) return;
    const call: Call = network.openCall({
      address,
      tls,
      method: RUN_METHOD,
      messageBytesMax: MESSAGE_BYTES_MAX,
      onMessage: (bytes) => {
        if (call === this.#call) this.#take(bytes);
      },
      onClosed: (reason) => {
        if (call === this.#call) this.#lost(reason);
      },
    });
    this.#call = call;
    call.send(encodePickerMessage(hello()));
    this.#timer = clock.setTimer(WELCOME_MS, () =>
      this.reset(`no welcome came within ${WELCOME_MS} ms`),
    );
  }

  #take(bytes: Uint8Array): void {
    const message = attempt(() => decodeSchedulerMessage(bytes));
    if (message === undefined) {
      this.reset('it sent bytes that are no message');
      return;
    }
    if (this.#welcome === undefined) this.#greet(message);
    else if (message.welcome !== null) {
      this.reset('it sent a second welcome');
      return;
    }
    if (this.#welcome !== undefined && message.decisions.length > 0) {
      this.#options.onDecisions(message.decisions);
    }
  }

  #greet({ welcome }: SchedulerMessage): void {
    if (welcome === null) {
      this.reset('its first message was no welcome');
      return;
    }
    if (welcome.version !== PROTOCOL_VERSION) {
      this.reset(`it speaks version ${welcome.version}, not ${PROTOCOL_VERSION}`);
      return;
    }
    this.#timer?.cancel();
    this.#attempts = 0;
    this.#welcome = welcome;
    this.#options.onWelcome(welcome);
  }

  #lost(reason: string): void {
    const { clock, onDown } = this.#options;
    const was = this.#welcome;
    this.#call = undefined;
    this.#welcome = undefined;
    this.#timer?.cancel();
    if (this.#stopped) return;
    const waitMs = Math.min(RECONNECT_MS_MAX, RECONNECT_MS * 2 ** Math.min(this.#attempts, 10));
    this.#attempts += 1;
    this.#timer = clock.setTimer(waitMs, () => this.#open());
    if (was !== undefined) onDown(reason);
  }
}

function attempt<T>(make: () => T): T | undefined {
  try {
    return make();
  } catch {
    return undefined;
  }
}
