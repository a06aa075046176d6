import type { Clock, Millis } from '../../framework/runtime.ts';
import type { LinkEvents, OpenReplicaLink } from './link.ts';

export interface SimulatedNetworkOptions {
  readonly clock: Clock;
  readonly delayMs: Millis;
  /** The delays of the copies of one message that arrive; one, after `delayMs`, when left out. */
  readonly delays?: ((message: Uint8Array) => readonly Millis[]) | undefined;
}

/** Carries messages between replicas of one process, in the time of a clock. */
export class SimulatedNetwork {
  readonly #options: SimulatedNetworkOptions;
  readonly #members = new Map<string, LinkEvents>();
  readonly #cutOff = new Set<string>();

  constructor(options: SimulatedNetworkOptions) {
    this.#options = options;
  }

  /** Messages are delivered later, never within a call of `send`. */
  readonly open: OpenReplicaLink = (id, events) => {
    this.#members.set(id, events);
    this.#options.clock.setTimer(0, () => {
      if (this.#isMember(id, events)) events.onConnected();
    });
    return {
      send: (message, to) => {
        if (this.#cutOff.has(id) || !this.#isMember(id, events)) return false;
        const copy = message.slice();
        for (const other of this.#members.keys())
          if (other !== id && (to === undefined || to === other)) this.#deliver(copy, id, other);
        return true;
      },
      pause: () => void this.#cutOff.add(id),
      resume: () => this.reconnect(id),
      close: () => {
        if (this.#isMember(id, events)) this.#members.delete(id);
        return Promise.resolve();
      },
    };
  };

  /** Cuts a member off. What is on the way to it is lost. */
  cut(id: string): void {
    this.#cutOff.add(id);
    this.#members.get(id)?.onDisconnected('the simulated network is cut');
  }

  /** Connects a member again. */
  reconnect(id: string): void {
    this.#cutOff.delete(id);
    this.#members.get(id)?.onConnected();
  }

  #isMember(id: string, events: LinkEvents): boolean {
    return this.#members.get(id) === events;
  }

  #deliver(message: Uint8Array, from: string, to: string): void {
    const { clock, delayMs, delays } = this.#options;
    for (const delay of delays?.(message) ?? [delayMs]) {
      clock.setTimer(delay, () => {
        if (this.#cutOff.has(to) || this.#cutOff.has(from)) return;
        this.#members.get(to)?.onMessage(message);
      });
    }
  }
}
