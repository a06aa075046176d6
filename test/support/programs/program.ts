import { join } from 'node:path';

const SOURCES = join(import.meta.dirname, '..', '..', '..', 'src', 'main.ts');

/**
 * The program that tests start: `npm test` has built it before, where it starts in half the time.
 */
export const PROGRAM: string = process.env['POINTSMAN_PROGRAM'] ?? SOURCES;
