import { expect, it } from 'vitest';
import { checkRefusedFiles } from './check-ready.ts';
import { findingsText } from './finding.ts';

const refused = (detail: object) =>
  checkRefusedFiles({ status: 200, text: JSON.stringify({ ok: true, detail }) });

it('[O509] doctor names each file that a picker refuses, with all of its faults', () => {
  const faults = 'eps.yaml:\n  endpoints[0].name: is missing\n  endpoints[0].adress: is not known';
  const found = refused({ endpointsFileError: faults, configError: 'mine.yaml: line 3' });
  expect(findingsText(found, ['picker'])).toBe(
    [
      'WARNING file-refused: endpoints file of the picker',
      '  it is refused, the picker goes on with the last good list, and a restart would fail: eps.yaml: endpoints[0].name: is missing; endpoints[0].adress: is not known',
      '  Correct the file, or go back to the one before.',
      '',
      'WARNING file-refused: configuration file of the picker',
      '  it is refused, the picker goes on with the last good one, and a restart would fail: mine.yaml: line 3',
      '  Correct the file, or go back to the one before.',
      '',
      'looked at picker: 0 errors, 2 warnings\n',
    ].join('\n'),
  );
  expect(refused({ certificateError: 'no PEM', metricsCertificateError: 'no PEM' })).toHaveLength(
    2,
  );
});

it('finds nothing where no file is refused, or where no document came', () => {
  expect(refused({ endpoints: 3 })).toEqual([]);
  for (const text of ['ok', 'null', '[]', '{"detail":7}'])
    expect(checkRefusedFiles({ status: 200, text })).toEqual([]);
});
