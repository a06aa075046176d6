import type { Call, Clock, Millis, Network, Timer } from '../framework/runtime.ts';
import { Deadline } from '../runtime/clock/deadline.ts';
import { AnswerCredit } from './answer-credit.ts';
import {
  type DecisionMessage,
  decodeSchedulerMessage,
  encodePickerMessage,
  type PickerMessage,
  PROTOCOL_VERSION,
  RUN_METHOD,
  type SchedulerMessage,
  type Welcome,
} from './messages.ts';

interface LinkOptions {
  readonly address: string;
  readonly tls: { readonly caPath?: string | undefined } | undefined;
  readonly clock: Clock;
  readonly network: Network;
  readonly hello: () => PickerMessage;
  readonly onWelcome: (welcome: Welcome) => void;
  readonly onDecisions: (decisions: readonly DecisionMessage[]) => void;
  /** The stream ended, or could not be opened. Called before `onDown`. */
  readonly onFailed: (reason: string) => void;
  /** The stream ended after a Welcome. */
  readonly onDown: () => void;
}

/** Enough for the scores of thousands of endpoints for hundreds of requests. */
const MESSAGE_BYTES_MAX = 4 * 1024 * 1024;
/** A scheduler with more unread bytes cannot answer in time. */
const UNREAD_BYTES_MAX = 4 * 1024 * 1024;
const WELCOME_MS = 5000;
/** Time between attempts: at first, and at most. */
const RECONNECT_MS = 100;
const RECONNECT_MS_MAX = 5000;
/** A stream that lasts so long ends the growth of the time between attempts. */
const STEADY_MS = 5000;
/**
 * A scheduler that is not asked any more, because answers were missed, and that sends nothing for
 * so long, may be gone: its host vanished, or packets are lost. TCP would wait 15 minutes.
 */
const SILENT_MS = 10_000;
/** A reason for which a stream ended may come from the other side, and be of any length. */
const REASON_CHARACTERS_MAX = 300;

/**
 * A scheduler's stream: reopened when it ends, and closed if it violates the protocol or sends more
 * than answers to what it was asked.
 */
export class SchedulerLink {
  readonly #options: LinkOptions;
  #call: Call | undefined;
  /** The scheduler's Welcome; undefined while nothing can be sent. */
  welcome: Welcome | undefined;
  #reopening: Timer | undefined;
  /** For the Welcome. */
  #greeting: Deadline | undefined;
  /** Passes where nothing comes any more; undefined while there is no doubt. */
  #silence: Deadline | undefined;
  #attempts = 0;
  #credit = new AnswerCredit();
  #welcomedAt: Millis = 0;
  #stopped = false;

  constructor(options: LinkOptions) {
    this.#options = options;
    this.#open();
  }

  /** A request with so many candidates will be sent, and its answer may come. */
  expectAnswer(candidates: number): void {
    this.#credit.grant(candidates);
  }

  /** Answers are missing. The stream is opened again unless something comes. */
  doubt(): void {
    if (this.welcome === undefined || this.#silence !== undefined) return;
    this.#silence = new Deadline(this.#options.clock, SILENT_MS, () =>
      this.reset(`it has sent nothing for ${SILENT_MS} ms, and answers are missing`),
    );
    this.#silence.restart();
  }

  send(message: PickerMessage): void {
    this.#call?.send(encodePickerMessage(message));
    const unread = this.#call?.waitingBytes() ?? 0;
    if (unread > UNREAD_BYTES_MAX) this.reset(`it has not read ${unread} bytes`);
  }

  /** Closes the stream and opens a new one after a delay. */
  reset(reason: string): void {
    this.#call?.close();
    this.#onClosed(reason);
  }

  stop(): void {
    this.#stopped = true;
    this.#reopening?.cancel();
    this.#greeting?.stop();
    this.#trust();
    this.#call?.close();
    this.welcome = undefined;
  }

  #trust(): void {
    this.#silence?.stop();
    this.#silence = undefined;
  }

  #open(): void {
    const { address, tls, clock, network, hello } = this.#options;
    // A replay opens no streams and must not set timers that the recorded run did not set.
    if (network.openCall === undefined) return;
    const call: Call = network.openCall({
      address,
      tls,
      method: RUN_METHOD,
      messageBytesMax: MESSAGE_BYTES_MAX,
      onMessage: (bytes) => {
        if (call === this.#call) this.#onMessage(bytes);
      },
      onClosed: (reason) => {
        if (call === this.#call) this.#onClosed(reason);
      },
    });
    this.#call = call;
    this.#credit = new AnswerCredit();
    // Before anything is sent: that may end the stream at once, and with it this wait.
    this.#greeting = new Deadline(clock, WELCOME_MS, () =>
      this.reset(`no Welcome came within ${WELCOME_MS} ms`),
    );
    this.#greeting.restart();
    call.send(encodePickerMessage(hello()));
  }

  #onMessage(bytes: Uint8Array): void {
    this.#trust();
    if (this.welcome !== undefined && !this.#credit.spend(bytes)) {
      this.reset('it has sent more than answers to what it was asked');
      return;
    }
    const message = decodeSchedulerMessage(bytes);
    if (message === undefined) {
      this.reset('it sent bytes that are not a SchedulerMessage, or one of over 100,000 fields');
      return;
    }
    if (this.welcome === undefined) this.#onWelcome(message);
    else if (message.welcome !== null) {
      this.reset('it sent a second Welcome');
      return;
    }
    if (this.welcome !== undefined && message.decisions.length > 0) {
      this.#options.onDecisions(message.decisions);
    }
  }

  #onWelcome({ welcome }: SchedulerMessage): void {
    if (welcome === null) {
      this.reset('its first message was not a Welcome');
      return;
    }
    if (welcome.version !== PROTOCOL_VERSION) {
      this.reset(`it speaks version ${welcome.version}, not ${PROTOCOL_VERSION}`);
      return;
    }
    this.#greeting?.stop();
    this.#welcomedAt = this.#options.clock.now();
    this.welcome = welcome;
    this.#options.onWelcome(welcome);
  }

  #onClosed(reason: string): void {
    const { clock, onFailed, onDown } = this.#options;
    const was = this.welcome;
    this.#call = undefined;
    this.welcome = undefined;
    this.#greeting?.stop();
    this.#reopening?.cancel();
    this.#trust();
    if (this.#stopped) return;
    // A scheduler that sends its Welcome and ends the stream, again and again, is connected to no
    // more often than one that is gone.
    if (was !== undefined && clock.now() - this.#welcomedAt >= STEADY_MS) this.#attempts = 0;
    const waitMs = Math.min(RECONNECT_MS_MAX, RECONNECT_MS * 2 ** Math.min(this.#attempts, 10));
    this.#attempts += 1;
    this.#reopening = clock.setTimer(waitMs, () => this.#open());
    onFailed(reason.slice(0, REASON_CHARACTERS_MAX));
    if (was !== undefined) onDown();
  }
}
