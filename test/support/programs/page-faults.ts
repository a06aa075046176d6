import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import type { Page } from 'playwright-core';

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

/** What axe finds in a page that people with disabilities cannot use. */
export async function pageFaults(page: Page): Promise<readonly unknown[]> {
  await page.evaluate(axe);
  const { violations } = await page.evaluate<{ violations: unknown[] }>('axe.run()');
  return violations;
}
