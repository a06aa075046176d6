import { openSync, writeSync } from 'node:fs';
import { seededRandom } from '../../src/runtime/seeded-random.ts';
import { Mutator } from './mutate.ts';
import type { FuzzTarget } from './target.ts';
import { targetNamed } from './targets.ts';

/** What the process does for one target: its argument is a list of them, in JSON. */
export interface FuzzWork {
  readonly target: string;
  readonly seed: number;
  /** Ends after so many cases or so much time, whichever is first. */
  readonly cases: number;
  readonly forMs: number;
  /**
   * File for the number of cases done, the length of the input at work, and its bytes: what is left
   * of a process that hangs or is out of memory.
   */
  readonly notePath: string;
}

/** What the process sends for each target. */
export interface FuzzResult {
  readonly cases: number;
  readonly outcomes: number;
  /** `input` in base64. */
  readonly failure: { readonly input: string; readonly error: string } | undefined;
}

/** Bytes before the input in the note. */
export const NOTE_HEAD_BYTES = 16;

/** How often the time is read. */
const CASES_PER_LOOK = 16;
const STACK_FRAMES = 20;

function work({ target: name, seed, cases, forMs, notePath }: FuzzWork): FuzzResult {
  const target = targetNamed(name);
  const mutator = new Mutator(target, seededRandom(seed).fork(name));
  const note = openSync(notePath, 'w');
  const head = Buffer.alloc(NOTE_HEAD_BYTES);
  const endAt = performance.now() + forMs;
  // Inputs that are refused are most of the cases, and the stacks of their errors most of the time.
  Error.stackTraceLimit = 0;
  for (let done = 0; done < cases; done++) {
    if (done % CASES_PER_LOOK === 0 && performance.now() > endAt) {
      return { cases: done, outcomes: mutator.outcomes, failure: undefined };
    }
    const input = mutator.next();
    head.writeDoubleLE(done, 0);
    head.writeDoubleLE(input.length, 8);
    writeSync(note, Buffer.concat([head, input]), 0, undefined, 0);
    try {
      mutator.learn(input, target.run(input));
    } catch (error) {
      const failure = {
        input: Buffer.from(input).toString('base64'),
        error: withStack(target, input) ?? String(error),
      };
      return { cases: done + 1, outcomes: mutator.outcomes, failure };
    }
  }
  return { cases, outcomes: mutator.outcomes, failure: undefined };
}

/** The error of an input with its stack. Undefined where it does not fail again by itself. */
function withStack(target: FuzzTarget, input: Uint8Array): string | undefined {
  Error.stackTraceLimit = STACK_FRAMES;
  try {
    target.run(input);
    return undefined;
  } catch (error) {
    return error instanceof Error ? error.stack : undefined;
  }
}

if (process.argv[1] === import.meta.filename) {
  for (const each of JSON.parse(process.argv[2] ?? '') as readonly FuzzWork[]) {
    const result = work(each);
    // What a later target does to the process cannot take it back.
    await new Promise((sent) => process.send?.(result, sent));
  }
  process.exit();
}
