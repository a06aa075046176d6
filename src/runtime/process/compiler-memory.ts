import { setFlagsFromString } from 'node:v8';

/**
 * Has V8 free what a compilation has used as soon as its code is there. By default Maglev's
 * compilations wait for a thread that is idle: while a process gets its first load none is, and
 * tens of MB come together, which the C library keeps for good. Figures are in
 * docs/measurements/byte-path.md.
 */
export function freeCompilerMemoryAtOnce(): void {
  // It has no effect in a V8 without this flag.
  setFlagsFromString('--no-maglev-destroy-on-background');
}
