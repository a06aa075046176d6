import { parentPort, Worker, workerData } from 'node:worker_threads';
import { ConfigError, type ConfigIssue, messageOf } from '../../framework/error.ts';
import { programFile } from '../folders.ts';

/** Reading less than this takes a few milliseconds, less than starting a thread. */
const CHARACTERS_AT_ONCE = 16 * 1024;

interface Text {
  readonly text: string;
  /** The text's name in errors. */
  readonly source: string;
}

type Answer =
  | { readonly kind: 'read'; readonly value: unknown }
  | { readonly kind: 'refused'; readonly issues: readonly ConfigIssue[] };

/** Reads the text of a file, and throws ConfigError where it is not valid. */
type Read<T> = (text: string, source: string) => T;

/**
 * What `read` makes of a text, for a program that serves meanwhile: a long text is read in a thread
 * of its own, which begins at `program` and calls `answerWith(read)`. Rejects with what `read`
 * throws, or with an Error where the thread ends without an answer. The value is copied, so it must
 * have no functions.
 */
export async function readAside<T>(program: string, read: Read<T>, given: Text): Promise<T> {
  const { text, source } = given;
  if (text.length <= CHARACTERS_AT_ONCE) return read(text, source);
  const answer = await answerOf(new Worker(programFile(program), { workerData: given }));
  if (answer.kind === 'refused') throw new ConfigError(source, answer.issues);
  return answer.value as T;
}

function answerOf(worker: Worker): Promise<Answer> {
  // A program that ends does not wait for it.
  worker.unref();
  return new Promise((resolve, reject) => {
    worker.once('message', (answer: Answer) => {
      resolve(answer);
      void worker.terminate();
    });
    worker.once('error', (cause) =>
      reject(new Error(`cannot be read: ${messageOf(cause)}`, { cause })),
    );
    worker.once('exit', (code) => reject(new Error(`cannot be read: the thread ended (${code})`)));
  });
}

/** The whole work of a thread that `readAside` has started. */
export function answerWith(read: Read<unknown>): void {
  const { text, source } = workerData as Text;
  const answer = (given: Answer): void => parentPort?.postMessage(given);
  try {
    answer({ kind: 'read', value: read(text, source) });
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    answer({ kind: 'refused', issues: error.issues });
  }
}
