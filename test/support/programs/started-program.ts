import { type ChildProcess, type SpawnOptions, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { PROGRAM } from './program.ts';

export interface StartedProgram<Document> {
  readonly child: ChildProcess;
  /** What it has printed first, as `--json` asks for. */
  readonly document: Document;
  /** The lines that it has written to stderr so far. */
  readonly lines: readonly string[];
  /** Resolves with its exit code and the signal that ended it. */
  readonly exited: Promise<readonly unknown[]>;
  /** Resolves when it has ended. */
  end(signal: NodeJS.Signals): Promise<void>;
}

/**
 * Starts the program with these arguments and `--json`. Resolves when it has printed its document,
 * and throws with what it has written to stderr if it ends before.
 */
export async function startProgram<Document>(
  args: readonly string[],
  env: SpawnOptions['env'] = process.env,
): Promise<StartedProgram<Document>> {
  const child = spawn(process.execPath, [PROGRAM, ...args, '--json'], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env,
  });
  const exited = once(child, 'exit');
  const lines: string[] = [];
  createInterface({ input: child.stderr }).on('line', (line) => void lines.push(line));
  const [line] = (await Promise.race([
    once(createInterface({ input: child.stdout }), 'line'),
    exited.then(([code]) => {
      throw new Error(`it has ended with ${String(code)}: ${lines.join('\n')}`);
    }),
  ])) as [string];
  return {
    child,
    document: JSON.parse(line) as Document,
    lines,
    exited,
    end: async (signal) => {
      child.kill(signal);
      await exited;
    },
  };
}
