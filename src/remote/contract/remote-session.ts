import type { Call, Clock, Runtime } from '../../framework/runtime.ts';
import type { DecisionMessage, PickerMessage, SchedulerMessage, Welcome } from '../messages.ts';
import {
  decodeSchedulerMessage,
  encodePickerMessage,
  PROTOCOL_VERSION,
  RUN_METHOD,
} from '../wire.ts';
import { ANSWER_TIMEOUT_MS, OFFERED_HEADERS, type OpenSession, type SchedulerSession } from './session.ts';

export interface SessionTarget {
  /** `unix:/path` or `host:port`. */
  readonly address: string;
  readonly tls: { readonly caPath?: string | undefined } | undefined;
}

const MESSAGE_BYTES_MAX = 4 * 1024 * 1024;

/** Opens streams to a scheduler in another process. */
export function remoteSessionOpener(
  target: SessionTarget,
  runtime: Pick<Runtime, 'clock' | 'network'>,
): OpenSession {
  return async ({ version = PROTOCOL_VERSION } = {}) => {
    const session = new WireSession(target, runtime);
    const hello = { version, picker: 'contract', headers: OFFERED_HEADERS, deadlineMs: ANSWER_TIMEOUT_MS };
    session.send({ hello });
    await session.greeted();
    return session;
  };
}

class WireSession implements SchedulerSession {
  readonly #clock: Clock;
  readonly #call: Call | undefined;
  readonly #came = new Map<string, DecisionMessage[]>();
  #welcome: Welcome | undefined;
  #ended: string | undefined;
  #wake: (() => void) | undefined;

  constructor(
    { address, tls }: SessionTarget,
    { clock, network }: Pick<Runtime, 'clock' | 'network'>,
  ) {
    this.#clock = clock;
    this.#call = network.openCall?.({
      address,
      tls,
      method: RUN_METHOD,
      messageBytesMax: MESSAGE_BYTES_MAX,
      onMessage: (bytes) => this.#take(bytes),
      onClosed: (reason) => this.#end(reason),
    });
  }

  get ended(): string | undefined {
    return this.#ended;
  }

  get welcome(): Welcome {
    if (this.#welcome === undefined) throw new Error('it has not greeted');
    return this.#welcome;
  }

  async greeted(): Promise<void> {
    await this.#until(() => this.#welcome !== undefined);
    if (this.#welcome !== undefined) return;
    this.close();
    throw new Error(this.#ended ?? `no Welcome came within ${ANSWER_TIMEOUT_MS} ms`);
  }

  send(message: PickerMessage, extra: Uint8Array = new Uint8Array()): void {
    this.#call?.send(Buffer.concat([encodePickerMessage(message), extra]));
  }

  async decisions(ids: readonly string[]): Promise<readonly DecisionMessage[]> {
    await this.#until(() => ids.every((id) => this.#came.has(id)));
    return ids.flatMap((id) => this.#came.get(id) ?? []);
  }

  close(): void {
    this.#call?.close();
  }

  /** Until it is so, it has ended, or the time is over. */
  async #until(isSo: () => boolean): Promise<void> {
    let over = false;
    const timer = this.#clock.setTimer(ANSWER_TIMEOUT_MS, () => {
      over = true;
      this.#wake?.();
    });
    while (!over && this.#ended === undefined && !isSo()) {
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
    timer.cancel();
  }

  #take(bytes: Uint8Array): void {
    const message = decoded(bytes);
    if (message === undefined) this.#end('it sent bytes that are no SchedulerMessage');
    else if (this.#welcome === undefined && message.welcome === null) {
      this.#end('its first message was no Welcome');
    } else if (this.#welcome !== undefined && message.welcome !== null) {
      this.#end('it sent a second Welcome');
    }
    this.#welcome ??= message?.welcome ?? undefined;
    for (const decision of message?.decisions ?? []) {
      const others = this.#came.get(decision.id) ?? [];
      this.#came.set(decision.id, [...others, decision]);
    }
    this.#wake?.();
  }

  #end(reason: string): void {
    this.close();
    this.#ended ??= reason;
    this.#wake?.();
  }
}

function decoded(bytes: Uint8Array): SchedulerMessage | undefined {
  try {
    return decodeSchedulerMessage(bytes);
  } catch {
    return undefined;
  }
}
