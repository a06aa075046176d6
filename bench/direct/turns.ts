import { type ClientHttp2Session, connect } from 'node:http2';
import type { Child } from '../load/child.ts';
import { type CountedThreads, cpuMs } from './cpu-ms.ts';
import type { PreparedRequest } from './requests.ts';
import { sendRequest } from './send-request.ts';

/** A picker that is measured. It is stopped by a signal while it is not its turn. */
export class MeasuredPicker {
  readonly #child: Child;
  readonly #session: ClientHttp2Session;
  readonly #threads: CountedThreads;

  constructor(child: Child, threads: CountedThreads = 'all') {
    const { extProcPort } = child.said as { readonly extProcPort: number };
    this.#child = child;
    this.#threads = threads;
    this.#session = connect(`http://127.0.0.1:${extProcPort}`);
  }

  pause(): void {
    this.#child.pause();
  }

  close(): void {
    this.#child.resume();
    this.#session.destroy();
  }

  /** Sends so many requests, `lanes` at a time, and returns the CPU ms that each has taken. */
  async turn(requests: readonly PreparedRequest[], count: number, lanes: number): Promise<number> {
    this.#child.resume();
    const before = cpuMs(this.#child.pid, this.#threads);
    let started = 0;
    const lane = async (): Promise<void> => {
      while (started < count) {
        const request = requests[started++ % requests.length];
        if (request !== undefined) await sendRequest(this.#session, request);
      }
    };
    await Promise.all(Array.from({ length: lanes }, lane));
    const used = cpuMs(this.#child.pid, this.#threads) - before;
    this.#child.pause();
    return used / count;
  }
}
