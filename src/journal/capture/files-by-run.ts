import type { CaptureFile } from './capture-files.ts';
import { linesOf } from './capture-text.ts';
import { recordOf } from './record-of.ts';

type Named = Pick<CaptureFile, 'path' | 'stem'>;

/** With fewer files, none of a run can lie between two of another. */
const FILES_MIN = 3;
const NEWLINE = 10;
const NO_EVENTS = { onCut: () => undefined, onRead: () => undefined };

/**
 * The files of each picker's run one after another, the run whose first file is the oldest before the
 * others: pickers that wrote to one folder took the next free number in turns. Within a run they
 * stay in their order. A file without a readable head stays behind the one before it.
 */
export function filesByRun<T extends Named>(files: readonly T[]): readonly T[] {
  if (files.length < FILES_MIN) return files;
  const runs = new Map<number | undefined, T[]>();
  let seed: number | undefined;
  for (const file of files) {
    seed = seedOf(file.path) ?? seed;
    const run = runs.get(seed) ?? [];
    runs.set(seed, run);
    run.push(file);
  }
  return [...runs.values()].flat();
}

/** What only the files of one run have in common; undefined where the first line is no head. */
function seedOf(path: string): number | undefined {
  try {
    for (const lines of linesOf(path, NO_EVENTS)) {
      const end = lines.indexOf(NEWLINE);
      const record = recordOf(lines.toString('utf8', 0, end === -1 ? lines.length : end));
      return record.e === 'capture' ? record.seed : undefined;
    }
  } catch {
    // What is wrong with the file is said when all of it is read.
  }
  return undefined;
}
