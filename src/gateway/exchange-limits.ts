import type { Clock } from '../framework/runtime.ts';
import { Deadline } from '../runtime/clock/deadline.ts';
import type { GatewayBounds } from './gateway-bounds.ts';

interface LimitsOptions {
  readonly clock: Clock;
  readonly bounds: GatewayBounds;
  /** Called with the status and the sentence of the first limit that passes. */
  readonly onPassed: (status: number, sentence: string) => void;
}

/** What the picker must answer: the request, room for more, and both ends of the response. */
export type ForPicker = 'request' | 'drain' | 'response' | 'end';

/** The time limits of one request. Each waits only while its side is the one that must act. */
export class ExchangeLimits {
  readonly upload: Deadline;
  readonly uploadIdle: Deadline;
  readonly #picker: Deadline;
  /** What it has not answered yet. */
  readonly #unanswered = new Set<ForPicker>();
  #stopped = false;
  readonly endpointIdle: Deadline;
  readonly client: Deadline;

  constructor({ clock, bounds, onPassed }: LimitsOptions) {
    const limit = (limitMs: number, status: number, what: string): Deadline =>
      new Deadline(clock, limitMs, () => onPassed(status, `${what} ${limitMs} ms`));
    const { uploadTimeoutMs, clientIdleTimeoutMs, pickerTimeoutMs, idleTimeoutMs } = bounds;
    this.upload = limit(uploadTimeoutMs, 408, 'the request body did not end within');
    this.uploadIdle = limit(clientIdleTimeoutMs, 408, 'the request body stood still for');
    this.#picker = limit(pickerTimeoutMs, 503, 'the endpoint picker did not answer within');
    this.endpointIdle = limit(idleTimeoutMs, 504, 'the picked endpoint sent nothing for');
    this.client = limit(clientIdleTimeoutMs, 408, 'the answer was not read for');
  }

  pickerAsked(what: ForPicker): void {
    this.#unanswered.add(what);
    this.awaitPicker();
  }

  pickerAnswered(what: ForPicker): void {
    this.#unanswered.delete(what);
    this.awaitPicker();
  }

  /** Its time begins anew, if an answer is still to come. To be called when it has answered. */
  awaitPicker(): void {
    if (this.#unanswered.size > 0 && !this.#stopped) this.#picker.restart();
    else this.#picker.pause();
  }

  /** Its answers are not read at the moment: no time passes for it. */
  pausePicker(): void {
    this.#picker.pause();
  }

  /** Stops all limits. The picker's does not begin again, whatever is called later. */
  stop(): void {
    this.#stopped = true;
    this.upload.stop();
    this.uploadIdle.stop();
    this.#picker.stop();
    this.endpointIdle.stop();
    this.client.stop();
  }
}
