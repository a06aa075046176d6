import { type Finding, when } from './finding.ts';

/** When a certificate is valid: dates that `Date.parse` reads. */
export interface Validity {
  /** Where the certificate was found, such as a file. */
  readonly where: string;
  /** Left out where it is not known. */
  readonly from?: string | undefined;
  readonly until?: string | undefined;
}

const DAY_MS = 86_400_000;
const DAYS_MIN = 14;

/** Certificates that are not valid at that time, or soon end. */
export function checkCertificates(
  certificates: readonly Validity[],
  nowMs: number,
): readonly Finding[] {
  return certificates.flatMap(({ where, from = '', until = '' }) => {
    const leftMs = Date.parse(until) - nowMs;
    const isOver = leftMs <= 0;
    return [
      ...when(Date.parse(from) > nowMs, {
        severity: 'error',
        id: 'certificate-begins',
        where,
        what: `it is not valid before ${from}: until then clients that verify it refuse the connection.`,
        mend: 'Correct the clock of the machine that made it, or use the one before.',
      }),
      ...when(leftMs < DAYS_MIN * DAY_MS, {
        severity: isOver ? 'error' : 'warning',
        id: 'certificate-ends',
        where,
        what: `it ${isOver ? 'is no longer valid since' : 'is valid until'} ${until}.`,
        mend: 'Renew it; a certificate in a file is read again without a restart.',
      }),
    ];
  });
}
