import { createHash } from 'node:crypto';
import { join } from 'node:path';

const folder = join(import.meta.dirname, '..', '..', 'src', 'openai', 'kernel');

export const KERNEL_SOURCE_FILE: string = join(folder, 'byte-kernel.as');
export const KERNEL_CODE_FILE: string = join(folder, 'byte-kernel-code.ts');

/** Says of which source the compiled kernel was made. */
export function sourceHash(source: Buffer): string {
  return createHash('sha256').update(source).digest('hex');
}
