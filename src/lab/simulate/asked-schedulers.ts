import { ConfigError } from '../../framework/error.ts';
import type { Call, CallOptions, Millis, Network } from '../../framework/runtime.ts';
import type { EmbeddedPicker } from '../../library/create-picker.ts';

export interface AskedSchedulersOptions {
  /** The real one. */
  readonly network: Network;
  /** Resolves after so much real time; after 0, once what has come in has been read. */
  readonly pause: (ms: Millis) => Promise<unknown>;
}

/** One that accepts no connection within this time is not running, or starts too slowly. */
const CONNECT_MS = 5000;
/** One that works on a single request for so long has stopped. */
const ANSWER_MS = 60_000;
const POLL_MS = 1;
/** Turns of the event loop that are waited for an answer before the processor is left to others. */
const TURNS = 50;
/** What the scheduler has not read when time goes on; the connection ends at 4 MiB. */
const UNREAD_BYTES_MAX = 256 * 1024;

/**
 * The schedulers in other processes that the pickers of a simulation ask. Virtual time has to stand
 * still until they have answered, so that the same answers give the same result, however slow the
 * machine is.
 */
export class AskedSchedulers {
  readonly #options: AskedSchedulersOptions;
  readonly #calls = new Set<Call>();
  /** Something was sent since they were last waited for. */
  #sent = false;
  /** Why a stream ended. */
  #closed: string | undefined;

  constructor(options: AskedSchedulersOptions) {
    this.#options = options;
  }

  /** For the pickers. */
  get network(): Network {
    const { network } = this.#options;
    return { get: network.get.bind(network), openCall: (options) => this.#openCall(options) };
  }

  /** Whether one may have to be waited for before time goes on. */
  get mustBeWaitedFor(): boolean {
    return this.#sent;
  }

  /** Rejects with ConfigError where one cannot be reached. */
  async connected(pickers: readonly EmbeddedPicker[]): Promise<void> {
    const waits = (): boolean =>
      this.#closed === undefined && pickers.some((each) => each.scheduler()?.connected === false);
    const inTime = await this.#ended(waits, CONNECT_MS);
    if (inTime && this.#closed === undefined) return;
    const { name, cause = `no Welcome within ${CONNECT_MS} ms` } = pickers[0]?.scheduler() ?? {};
    throw failed(`${name} cannot be reached (${inTime ? cause : 'no Welcome'}): start it first`);
  }

  /** Resolves once all have answered what they were asked, and have read what they were sent. */
  async answered(pickers: readonly EmbeddedPicker[]): Promise<void> {
    this.#sent = false;
    const waits = (): boolean =>
      this.#closed === undefined &&
      (pickers.some((each) => (each.scheduler()?.unanswered ?? 0) > 0) ||
        [...this.#calls].some((call) => call.waitingBytes() > UNREAD_BYTES_MAX));
    const isOver = await this.#ended(waits, ANSWER_MS);
    const name = pickers[0]?.scheduler()?.name;
    if (this.#closed !== undefined) throw failed(`${name} ended the stream: ${this.#closed}`);
    if (!isOver) throw failed(`${name} has not answered a request within ${ANSWER_MS / 1000} s`);
  }

  /** Whether the wait was over in time. */
  async #ended(waits: () => boolean, limitMs: Millis): Promise<boolean> {
    for (let turn = 0; waits(); turn++) {
      if (turn - TURNS >= limitMs / POLL_MS) return false;
      await this.#options.pause(turn < TURNS ? 0 : POLL_MS);
    }
    return true;
  }

  #openCall(options: CallOptions): Call {
    const { network } = this.#options;
    if (network.openCall === undefined) throw new Error('the network has no gRPC calls');
    const call = network.openCall({
      ...options,
      onClosed: (reason) => {
        this.#closed = reason;
        options.onClosed(reason);
      },
    });
    this.#calls.add(call);
    return {
      send: (message) => {
        this.#sent = true;
        call.send(message);
      },
      waitingBytes: () => call.waitingBytes(),
      close: () => {
        this.#calls.delete(call);
        call.close();
      },
    };
  }
}

/** The result would not be that of the scheduler. */
function failed(message: string): ConfigError {
  return new ConfigError('simulate', [{ path: 'scheduler', message }]);
}
