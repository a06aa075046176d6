import { performance } from 'node:perf_hooks';
import type { Clock, Millis, Timer } from '../../framework/runtime.ts';

/** Node's longest timeout: it treats a longer one as 1 ms. */
const WAIT_MS_MAX = 2 ** 31 - 1;

/** Node has it since 23.9. */
const THREAD_CPU: (() => Millis) | undefined =
  typeof process.threadCpuUsage === 'function'
    ? () => {
        const { user, system } = process.threadCpuUsage();
        return (user + system) / 1000;
      }
    : undefined;

/** The machine's own time. Timers do not keep the process alive. */
export function nodeClock(): Clock {
  return {
    now: () => performance.now(),
    wallTime: () => Date.now(),
    cpuTime: THREAD_CPU,
    setTimer: (delay, callback) =>
      delay > 0 ? new NodeTimer(delay, callback) : new NextTurn(callback),
  };
}

/** Node's shortest timeout takes 1 ms, and fires up to 2 ms late. */
class NextTurn implements Timer {
  readonly #immediate: NodeJS.Immediate;

  constructor(callback: () => void) {
    this.#immediate = setImmediate(callback).unref();
  }

  cancel(): void {
    clearImmediate(this.#immediate);
  }
}

/** Node's timers may fire early: it counts whole milliseconds from an earlier reading. */
class NodeTimer implements Timer {
  readonly #due: Millis;
  readonly #callback: () => void;
  #timeout: NodeJS.Timeout;

  constructor(delay: Millis, callback: () => void) {
    this.#due = performance.now() + Math.max(0, delay);
    this.#callback = callback;
    this.#timeout = this.#wait(delay);
  }

  cancel(): void {
    clearTimeout(this.#timeout);
  }

  #wait(delay: Millis): NodeJS.Timeout {
    return setTimeout(this.#wake, Math.min(WAIT_MS_MAX, Math.ceil(Math.max(0, delay)))).unref();
  }

  readonly #wake = (): void => {
    const left = this.#due - performance.now();
    if (left > 0) this.#timeout = this.#wait(left);
    else this.#callback();
  };
}
