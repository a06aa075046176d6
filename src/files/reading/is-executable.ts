import { access, constants } from 'node:fs/promises';

/** Whether this process may run the file. */
export async function isExecutable(path: string): Promise<boolean> {
  return access(path, constants.X_OK).then(
    () => true,
    () => false,
  );
}
