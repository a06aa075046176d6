import type { Call, Runtime } from '../../framework/runtime.ts';
import {
  type DecisionMessage,
  decodeSchedulerMessage,
  encodePickerMessage,
  type PickerMessage,
  PROTOCOL_VERSION,
  RUN_METHOD,
  type Welcome,
} from '../messages.ts';
import {
  ANSWER_TIMEOUT_MS,
  OFFERED_HEADERS,
  type OpenSession,
  ReceivedDecisions,
  type SchedulerSession,
} from './scheduler-session.ts';

interface SchedulerAddress {
  /** `unix:/path` or `host:port`. */
  readonly address: string;
  readonly tls: { readonly caPath?: string | undefined } | undefined;
}

const MESSAGE_BYTES_MAX = 4 * 1024 * 1024;

/** Opens streams to a scheduler in another process. */
export function remoteSessionOpener(
  target: SchedulerAddress,
  runtime: Pick<Runtime, 'clock' | 'network'>,
): OpenSession {
  return async ({ version = PROTOCOL_VERSION } = {}) => {
    const session = new RemoteSession(target, runtime);
    const deadlineMs = ANSWER_TIMEOUT_MS;
    session.send({ hello: { version, picker: 'contract', headers: OFFERED_HEADERS, deadlineMs } });
    await session.welcomed();
    return session;
  };
}

class RemoteSession implements SchedulerSession {
  readonly #call: Call | undefined;
  readonly #received: ReceivedDecisions;
  #welcome: Welcome | undefined;

  constructor(
    { address, tls }: SchedulerAddress,
    { clock, network }: Pick<Runtime, 'clock' | 'network'>,
  ) {
    this.#received = new ReceivedDecisions(clock);
    this.#call = network.openCall?.({
      address,
      tls,
      method: RUN_METHOD,
      messageBytesMax: MESSAGE_BYTES_MAX,
      onMessage: (bytes) => this.#onMessage(bytes),
      onClosed: (reason) => this.#end(reason),
    });
  }

  get ended(): string | undefined {
    return this.#received.ended;
  }

  get welcome(): Welcome {
    if (this.#welcome === undefined) throw new Error('it has sent no Welcome');
    return this.#welcome;
  }

  async welcomed(): Promise<void> {
    await this.#received.until(() => this.#welcome !== undefined);
    if (this.#welcome !== undefined) return;
    this.close();
    throw new Error(this.ended ?? `no Welcome came within ${ANSWER_TIMEOUT_MS} ms`);
  }

  send(message: PickerMessage, extra: Uint8Array = new Uint8Array()): void {
    this.#call?.send(Buffer.concat([encodePickerMessage(message), extra]));
  }

  decisions(ids: readonly string[]): Promise<readonly DecisionMessage[]> {
    return this.#received.of(ids);
  }

  close(): void {
    this.#call?.close();
  }

  #onMessage(bytes: Uint8Array): void {
    const message = decodeSchedulerMessage(bytes);
    if (message === undefined) this.#end('it sent bytes that are not a SchedulerMessage');
    else if (this.#welcome === undefined && message.welcome === null) {
      this.#end('its first message was not a Welcome');
    } else if (this.#welcome !== undefined && message.welcome !== null) {
      this.#end('it sent a second Welcome');
    }
    this.#welcome ??= message?.welcome ?? undefined;
    this.#received.add(...(message?.decisions ?? []));
  }

  #end(reason: string): void {
    this.close();
    this.#received.end(reason);
  }
}
