import { relative } from 'node:path';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

/**
 * The order of the files of a run. Those in `test` start programs and wait for them, some for half a
 * minute: were one of them the last to start, one core would be idle until it ends. Those beside the
 * code burn CPU for some seconds at most, and fill both cores to the end.
 */
export class ProgramsFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    const { root } = this.ctx.config;
    return programsFirst(sorted, ({ project, moduleId }) => ({
      hasOwnProcess: project.config.isolate,
      path: relative(root, moduleId),
    }));
  }
}

interface Place {
  /** Processes that files share are kept only while no file with one of its own is next. */
  readonly hasOwnProcess: boolean;
  /** From the root of the tree. */
  readonly path: string;
}

/** Files with a process of their own first, then those in `test`; else in the order given. */
export function programsFirst<File>(
  files: readonly File[],
  placeOf: (file: File) => Place,
): File[] {
  const rank = (file: File): number => {
    const { hasOwnProcess, path } = placeOf(file);
    if (hasOwnProcess) return 0;
    return path.startsWith('test/') ? 1 : 2;
  };
  return files.toSorted((a, b) => rank(a) - rank(b));
}
