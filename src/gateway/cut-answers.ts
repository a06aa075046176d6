import type { Clock, Millis } from '../framework/runtime.ts';
import { Deadline } from '../runtime/clock/deadline.ts';
import type { AccessLogCall, AccessLogMessage, ExtProcClient } from './ext-proc-client.ts';

/** The picker has so long to take reports. It answers at once, unless it stands still. */
const REPORT_MS: Millis = 1000;
/** More that wait at once are not reported, and count as if their clients had left. */
const WAITING_MAX = 1000;

interface CutAnswersOptions {
  readonly extProc: Pick<ExtProcClient, 'accessLog'>;
  readonly clock: Clock;
}

interface Report {
  readonly requestId: string;
  readonly done: () => void;
}

/**
 * Reports to the picker which answers their endpoints have broken off, as Envoy does with its
 * access log: on the stream of a request it looks as if the client had left. One call is open at a
 * time; what comes meanwhile goes together in the next one.
 */
export class CutAnswers {
  readonly #options: CutAnswersOptions;
  #waiting: Report[] = [];
  #call: AccessLogCall | undefined;
  #deadline: Deadline | undefined;
  #closed = false;

  constructor(options: CutAnswersOptions) {
    this.#options = options;
  }

  /**
   * Resolves when the picker has the report, or does not take it: the stream of the request must
   * end after that. It takes two limits of time at most.
   */
  report(requestId: string): Promise<void> {
    if (this.#closed || this.#waiting.length >= WAITING_MAX) return Promise.resolve();
    return new Promise((done) => {
      this.#waiting.push({ requestId, done });
      if (this.#call === undefined) this.#send();
    });
  }

  /** Cancels the open call, so that nothing waits for the picker any more. */
  close(): void {
    this.#closed = true;
    this.#call?.cancel();
  }

  #send(): void {
    const reports = this.#waiting;
    this.#waiting = [];
    const call = this.#options.extProc.accessLog(() => this.#taken(reports));
    this.#call = call;
    this.#deadline = new Deadline(this.#options.clock, REPORT_MS, () => call.cancel());
    this.#deadline.restart();
    for (const { requestId } of reports) call.write(entryOf(requestId));
    call.end();
  }

  /** The call is over, however it ended. A picker that knows no access log refuses it. */
  #taken(reports: readonly Report[]): void {
    this.#deadline?.stop();
    this.#call = undefined;
    if (this.#closed) for (const { done } of this.#waiting.splice(0)) done();
    for (const { done } of reports) done();
    if (this.#waiting.length > 0) this.#send();
  }
}

/** The entry has one of Envoy's flags for an end by the server: the picker treats all of them alike. */
function entryOf(requestId: string): AccessLogMessage {
  const response_flags = { upstream_connection_termination: true };
  const entry = { common_properties: { response_flags }, request: { request_id: requestId } };
  return { identifier: { log_name: 'pointsman gateway' }, http_logs: { log_entry: [entry] } };
}
