import { RequestRules } from '../endpoints/rewrites/request-rules.ts';
import type { StreamTimes } from '../extproc/server/calls/stream-times.ts';
import { type ExtProcServer, startExtProcServer } from '../extproc/server/ext-proc-server.ts';
import { TlsCredentials } from '../extproc/server/port/tls-credentials.ts';
import type { AboutRequest, SessionOptions } from '../extproc/session/session.ts';
import { requestReaders } from '../openai/parsers/request-readers.ts';
import { nodeClock } from '../runtime/clock/node-clock.ts';
import { seededRandom } from '../runtime/seeded-random.ts';
import type { IoWorkerSetup, ReadingRules, ToCore, ToWorker } from './io-worker-setup.ts';
import { TO_CORE } from './operations.ts';
import { RemoteFollowing } from './remote-following.ts';
import { RemoteRouter } from './remote-router.ts';
import { writeLabels } from './request-facts.ts';
import { TurnOutbox } from './turn-outbox.ts';
import { newUsageCell, usageElsewhere, writeUsage } from './usage-cell.ts';

/** Between readings of the streams where nothing else is sent: uploads take memory, too. */
const USAGE_INTERVAL_MS = 1000;

/** An I/O worker: an ext_proc server whose picks are made in another thread. */
export class RunningWorker {
  readonly #setup: IoWorkerSetup;
  readonly #send: (message: ToCore) => void;
  readonly #clock = nodeClock();
  readonly #outbox: TurnOutbox;
  readonly #router: RemoteRouter;
  readonly #following: RemoteFollowing;
  readonly #rules: RequestRules;
  readonly #tls: TlsCredentials | 'plaintext';
  readonly #usage: Float64Array;
  #reading: ReadingRules;
  #serving: boolean;
  #server: ExtProcServer | undefined;

  constructor(
    setup: IoWorkerSetup,
    send: (message: ToCore, moved?: readonly ArrayBuffer[]) => void,
  ) {
    this.#setup = setup;
    this.#send = send;
    this.#outbox = new TurnOutbox(
      (batch, moved) => {
        this.#writeUsage();
        send({ kind: 'batch', batch }, moved);
      },
      (task) => void setImmediate(task),
    );
    this.#following = new RemoteFollowing(this.#outbox);
    this.#router = new RemoteRouter(this.#outbox, (id, traceparent) =>
      this.#following.setTraceparent(id, traceparent),
    );
    this.#rules = new RequestRules(seededRandom(setup.seed).fork('rules'));
    this.#tls = setup.tls === 'plaintext' ? setup.tls : new TlsCredentials(setup.tls);
    this.#usage = setup.cells[setup.number] ?? newUsageCell();
    this.#reading = setup.reading;
    this.#serving = setup.serving;
    this.#adopt(setup.reading);
  }

  /** Rejects with a ListenError. */
  async start(): Promise<void> {
    const { host, port, limits, bodyBytesMax, times, cells } = this.#setup;
    this.#server = await startExtProcServer({
      host,
      port,
      sharesPort: true,
      tls: this.#tls,
      onClientFault: (fault) => this.#outbox.writer.put(TO_CORE.clientFault, fault),
      messageBytesMax: bodyBytesMax,
      limits,
      elsewhere: usageElsewhere(this.#usage, cells),
      clock: this.#clock,
      times: times === 'none' ? undefined : this.#times(times === 'streams'),
      session: this.#session(),
    });
    this.#server.setServing(this.#serving);
    this.#watchUsage();
  }

  receive(message: ToWorker): void {
    switch (message.kind) {
      case 'batch':
        return this.#router.receive(message.batch);
      case 'reading':
        this.#adopt(message.reading);
        this.#outbox.flush();
        return this.#send({ kind: 'adopted' });
      case 'serving':
        this.#serving = message.serving;
        return this.#server?.setServing(message.serving);
      case 'tls':
        if (this.#tls !== 'plaintext') this.#tls.replace(message.context);
        return;
      case 'ping':
        return this.#send({ kind: 'alive' });
      case 'drain':
        void this.#drain(message.noticeMs, message.deadlineMs);
        return;
    }
  }

  #adopt(reading: ReadingRules): void {
    this.#reading = reading;
    this.#rules.setObjectives(reading.priorities);
    this.#rules.setRewrites(reading.rewrites);
    this.#router.setPreparing(reading.preparing);
  }

  async #drain(noticeMs: number, deadlineMs: number): Promise<void> {
    await this.#server?.drain({ noticeMs, deadlineMs });
    this.#outbox.flush();
    this.#send({ kind: 'drained' });
  }

  #session(): Omit<SessionOptions, 'newRequestId'> {
    const { settings, bodyBytesMax, secret, trustClientControls, follows } = this.#setup;
    const ignored = (control: string): void => this.#outbox.writer.put(TO_CORE.ignored, control);
    return {
      ...settings,
      router: this.#router,
      ...requestReaders({
        bodyBytesMax,
        secret,
        priorityOf: this.#rules.priorityOf.bind(this.#rules),
        rewriteOf: this.#rules.rewriteOf.bind(this.#rules),
        parsers: () => this.#reading.parsers,
        propagatesPriority: () => this.#reading.propagatesPriority,
        prompts: () => this.#reading.prompts,
        onIgnored: trustClientControls ? undefined : ignored,
      }),
      answersEndpointOnly: () => this.#reading.answersEndpointOnly,
      follow: follows ? this.#following.follow : undefined,
      onFault: (error, { requestId, traceId }) => {
        const { message, stack } = error instanceof Error ? error : new Error(String(error));
        this.#outbox.writer.put(TO_CORE.fault, message, stack, requestId, traceId);
      },
      onRefused: ({ code, sentence }, request, { requestId, traceId }: AboutRequest) => {
        const { writer } = this.#outbox;
        writer.put(TO_CORE.refused, code, sentence);
        writeLabels(writer, request);
        writer.put(requestId, traceId);
      },
    };
  }

  #times(withStreams: boolean): StreamTimes {
    const put = (operation: number, seconds: number): void =>
      this.#outbox.writer.put(operation, seconds);
    return {
      requestProcessed: (seconds) => put(TO_CORE.requestProcessed, seconds),
      responseProcessed: (seconds) => put(TO_CORE.responseProcessed, seconds),
      closed: (seconds, reason) => {
        if (withStreams) this.#outbox.writer.put(TO_CORE.streamClosed, seconds, reason);
      },
    };
  }

  #watchUsage(): void {
    this.#writeUsage();
    this.#clock.setTimer(USAGE_INTERVAL_MS, () => this.#watchUsage());
  }

  #writeUsage(): void {
    if (this.#server !== undefined) writeUsage(this.#usage, this.#server.usage());
  }
}
