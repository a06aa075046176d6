import type { PluginFaults } from './faults/plugin-faults.ts';

export interface Preparation {
  /** The plugin, which is reported where it throws. */
  readonly part: object;
  /** Begins to prepare something. Returns whether the request has to wait until `done` is called. */
  readonly begin: (done: () => void) => boolean;
}

/**
 * Begins all of them. Returns whether any has to be waited for; then `ready` is called once, after
 * the last and later than this call, whatever the plugins do: what calls `done` before it returns,
 * or throws, need not be waited for, and a second or unexpected `done` has no effect.
 */
export function waitForAll(
  preparations: readonly Preparation[],
  ready: () => void,
  faults: PluginFaults,
): boolean {
  let waiting = 0;
  let beginning = true;
  for (const { part, begin } of preparations) {
    let state: 'beginning' | 'waiting' | 'over' = 'beginning';
    const done = (): void => {
      const waited = state === 'waiting';
      state = 'over';
      if (!waited) return;
      waiting -= 1;
      // While others begin, no one waits yet: the returned value says that it is ready.
      if (waiting === 0 && !beginning) ready();
    };
    let waits = false;
    try {
      waits = begin(done);
    } catch (error) {
      faults.report(part, 'prepare', error);
    }
    if (waits && state === 'beginning') {
      state = 'waiting';
      waiting += 1;
    } else {
      state = 'over';
    }
  }
  beginning = false;
  return waiting > 0;
}
