import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';

const deploy = join(import.meta.dirname, '../../deploy');
const FILES = ['kubernetes/base/deployment.yaml', 'helm/pointsman/templates/deployment.yaml'];

/** Numbers that stand behind `key` in a file, whatever the template does around them. */
function numbersOf(text: string, key: string): readonly number[] {
  return [...text.matchAll(new RegExp(`${key}[=: ]+(\\d+)`, 'g'))].map(([, digits]) =>
    Number(digits),
  );
}

describe.each(FILES)('%s', (file) => {
  const text = readFileSync(join(deploy, file), 'utf8');

  it('[V12] gives a pod more time to end than notice and drain take together', () => {
    const [graceSeconds = 0] = numbersOf(text, 'terminationGracePeriodSeconds');
    const noticeMs = Math.max(...numbersOf(text, '--drain-notice-ms'));
    const [drainMs = Number.NaN] = numbersOf(text, '--drain-timeout-ms');
    expect(noticeMs).toBeGreaterThanOrEqual(5000);
    expect(graceSeconds * 1000).toBeGreaterThan(noticeMs + drainMs);
  });

  it('[V12] starts a new picker before an old one leaves', () => {
    expect(text).toContain('rollingUpdate: { maxUnavailable: 0, maxSurge: 1 }');
  });
});
