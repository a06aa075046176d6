import { fork } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type FuzzResult, type FuzzWork, NOTE_HEAD_BYTES } from './child.ts';

/** A case that takes longer hangs; on a busy machine a case may take seconds. */
const HANG_MS = 60_000;
const LOOK_MS = 1000;
/** A case needs a few megabytes. */
const HEAP_MB = 256;

type Work = Omit<FuzzWork, 'notePath'>;

/**
 * Runs targets one after another in a process of their own. A case that throws, hangs, ends the
 * process or needs more memory than the process may have is a failure with its input; where the
 * process has ended, the targets behind it get another one.
 */
export async function fuzz(works: readonly Work[]): Promise<readonly FuzzResult[]> {
  const folder = mkdtempSync(join(tmpdir(), 'pointsman-fuzz-'));
  const notePath = join(folder, 'note');
  const results: FuzzResult[] = [];
  try {
    while (results.length < works.length) {
      const left = works.slice(results.length).map((work) => ({ ...work, notePath }));
      results.push(...(await fuzzed(left, notePath)));
    }
    return results;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Resolves with the results of all targets, or up to the one with which the process has ended. */
function fuzzed(works: readonly FuzzWork[], notePath: string): Promise<readonly FuzzResult[]> {
  const child = fork(join(import.meta.dirname, 'child.ts'), [JSON.stringify(works)], {
    execArgv: [`--max-old-space-size=${HEAP_MB}`],
    stdio: ['ignore', 'inherit', 'pipe', 'ipc'],
  });
  let errors = '';
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    errors = (errors + text).slice(0, 4000);
  });
  return new Promise((resolve, reject) => {
    const results: FuzzResult[] = [];
    let hangs = false;
    let last = -1;
    let lastAt = performance.now();
    const watchdog = setInterval(() => {
      const { done } = noteIn(notePath);
      if (done !== last) [last, lastAt] = [done, performance.now()];
      if (performance.now() - lastAt < HANG_MS) return;
      hangs = true;
      child.kill('SIGKILL');
    }, LOOK_MS);
    child.on('message', (message) => void results.push(message as FuzzResult));
    child.once('error', reject);
    child.once('close', (code, signal) => {
      clearInterval(watchdog);
      if (results.length < works.length) {
        const { done, input } = noteIn(notePath);
        const why = hangs ? `no end after ${HANG_MS / 1000} s` : `ended by ${signal ?? code}`;
        const error = `${why}\n${errors.split('\n').slice(0, 12).join('\n')}`;
        results.push({ cases: done + 1, outcomes: 0, failure: { input, error } });
      }
      resolve(results);
    });
  });
}

/** The cases done and the input at work, in base64. */
function noteIn(path: string): { readonly done: number; readonly input: string } {
  let note: Buffer;
  try {
    note = readFileSync(path);
  } catch {
    return { done: 0, input: '' };
  }
  if (note.length < NOTE_HEAD_BYTES) return { done: 0, input: '' };
  const end = NOTE_HEAD_BYTES + note.readDoubleLE(8);
  const input = note.subarray(NOTE_HEAD_BYTES, end).toString('base64');
  return { done: note.readDoubleLE(0), input };
}
