import { join } from 'node:path';
import { expect, test } from 'vitest';
import { migratingPage } from './migrating-page.ts';

test('[D10] docs/migrating-from-llm-d.md has the state of everything as the code has it', async () => {
  const page = join(import.meta.dirname, '../../docs/migrating-from-llm-d.md');
  await expect(migratingPage()).toMatchFileSnapshot(page);
});
