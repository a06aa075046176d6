import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { PROGRAM } from './program.ts';

/** What the process of the runs reads, as a line for each of them. */
export interface RunAsked {
  readonly args: readonly string[];
  /** Beside the variables of this process. */
  readonly env: NodeJS.ProcessEnv;
}

/** What one run of the program has done so far. */
export interface ProgramRun {
  /** Undefined where it serves instead of having ended. */
  readonly code: number | undefined;
  readonly stdout: string;
  readonly stderr: string;
}

interface Text {
  readonly stdout: string;
  readonly stderr: string;
}

/** A run that serves. */
export interface ServingRun<Document> {
  /** What it has printed first, as `--json` asks for. */
  readonly document: Document;
  /** The lines that it has written to stderr so far. */
  lines(): readonly string[];
  /** Ends it by SIGTERM. Resolves when it has ended, and only then may the next one begin. */
  end(): Promise<void>;
}

/** Stands before the exit code in what follows the output of a run, on stdout and on stderr. */
export const END_OF_RUN = '\0the run has ended with ';
const CHILD = join(import.meta.dirname, 'run-in-turn.ts');

/**
 * Runs the program with one command line after another in a single process, which loads the modules
 * once: a process for each spends most of its time on that. For what a command line starts, prints
 * or refuses; what a process does at its end needs one of its own. What `serve` begins
 * must have ended before the next run; what `run` has begun and serves goes on beside the next
 * ones, and may add to their output.
 */
export class RunsInTurn {
  readonly #child;
  readonly #broken: Promise<never>;
  readonly #text = { stdout: '', stderr: '' };
  #onText: () => void = () => undefined;

  constructor(cwd: string = process.cwd()) {
    this.#child = spawn(process.execPath, [CHILD, PROGRAM], { cwd, stdio: 'pipe' });
    for (const name of ['stdout', 'stderr'] as const) {
      this.#child[name].setEncoding('utf8').on('data', (text: string) => {
        this.#text[name] += text;
        this.#onText();
      });
    }
    this.#broken = once(this.#child, 'exit').then(([code, signal]: readonly unknown[]) => {
      throw new Error(`the process has ended with ${String(code ?? signal)}: ${this.#text.stderr}`);
    });
    // It ends in the end; only a run minds.
    this.#broken.catch(() => undefined);
  }

  /** Resolves when the run has ended, or its stderr has `enough`. */
  run(
    args: readonly string[],
    env: NodeJS.ProcessEnv = {},
    enough: RegExp = /^\b$/,
  ): Promise<ProgramRun> {
    return this.#begin(args, env, ({ stderr }) => enough.test(stderr));
  }

  /** Runs what serves, with `--json`. Resolves when it has printed its document. */
  async serve<Document>(
    args: readonly string[],
    env: NodeJS.ProcessEnv = {},
  ): Promise<ServingRun<Document>> {
    const isServing = ({ stdout }: Text): boolean => stdout.includes('\n');
    const { code, stdout, stderr } = await this.#begin([...args, '--json'], env, isServing);
    if (code !== undefined) throw new Error(`it has ended with ${code}: ${stderr}`);
    return {
      document: JSON.parse(stdout) as Document,
      lines: () => this.#text.stderr.split('\n').filter((line) => line !== ''),
      end: async () => {
        const ended = this.#until(() => false);
        this.#child.kill('SIGTERM');
        await ended;
      },
    };
  }

  #begin(
    args: readonly string[],
    env: NodeJS.ProcessEnv,
    enough: (text: Text) => boolean,
  ): Promise<ProgramRun> {
    this.#text.stdout = '';
    this.#text.stderr = '';
    const reached = this.#until(enough);
    this.#child.stdin.write(`${JSON.stringify({ args, env } satisfies RunAsked)}\n`);
    return reached;
  }

  /** Resolves when the run has ended, or its text is enough. */
  #until(enough: (text: Text) => boolean): Promise<ProgramRun> {
    const text = this.#text;
    const reached = new Promise<ProgramRun>((resolve) => {
      this.#onText = () => {
        const [stdout = ''] = text.stdout.split(END_OF_RUN);
        const [stderr = '', after = ''] = text.stderr.split(END_OF_RUN);
        const code = /^(\d+)\n/.exec(after)?.[1];
        const isOver = code !== undefined && text.stdout.includes(END_OF_RUN);
        if (isOver) resolve({ code: Number(code), stdout, stderr });
        else if (enough({ stdout, stderr })) resolve({ code: undefined, stdout, stderr });
      };
    });
    return Promise.race([reached, this.#broken]);
  }

  async stop(): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    this.#child.kill('SIGKILL');
    await once(this.#child, 'exit');
  }
}
