import { describe, expect, it } from 'vitest';
import { auditVerdict } from './audit-verdict.ts';

const answer = (severity: string): string =>
  JSON.stringify({
    vulnerabilities: {
      left: { severity, range: '<2.0.0', via: [{ title: 'reads too far' }, 'right'] },
    },
  });

describe('the audit of what is shipped', () => {
  it.each(['high', 'critical'])('[V82] fails for a vulnerability that is %s', (severity) => {
    const { text, failed } = auditVerdict(answer(severity));
    expect(failed).toBe(true);
    expect(text.split('\n')[0]).toBe(`${severity}: left <2.0.0: reads too far; through right`);
  });

  it('lists a lesser one', () => {
    expect(auditVerdict(answer('moderate'))).toMatchObject({ failed: false });
    expect(auditVerdict(answer('moderate')).text).toContain('1 packages with known');
  });

  it('[V82] says that the registry cannot be asked, which is no failure', () => {
    const refused = JSON.stringify({ message: '405 Method Not Allowed - POST https://host/x' });
    expect(auditVerdict(refused)).toEqual({
      text: 'NOT AUDITED: the registry cannot be asked for vulnerabilities (405 Method Not Allowed)',
      failed: false,
    });
    expect(auditVerdict('').text).toContain('it gave no answer');
  });
});
