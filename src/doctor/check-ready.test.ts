import { expect, it } from 'vitest';
import { readText } from '../../test/house/source-tree.ts';
import { checkRefusedFiles, checkTroubles } from './check-ready.ts';
import { findingsText } from './finding.ts';

const refused = (detail: object) =>
  checkRefusedFiles({ status: 200, text: JSON.stringify({ ok: true, detail }) });

it('[O509] doctor names each file that a picker refuses, with its faults', () => {
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
  const outgoing = ['ca.pem has no certificates', 'key.pem cannot be read'];
  const outgoingTlsErrors = outgoing.map((reason) => ({ paths: ['x.pem'], since: '', reason }));
  expect(refused({ outgoingTlsErrors }).map(({ what }) => what.split(': ').at(-1))).toEqual(
    outgoing,
  );
});

it('[O540] doctor shows the first faults of a file as a whole, and says how many there are beside them', () => {
  const faults = Array.from({ length: 20 }, (_, at) => `  line ${at}: is not known`);
  const error = ['eps.yaml:', ...faults, '  and 5980 more'].join('\n');
  const [found] = refused({ endpointsFileError: error });
  expect(found?.what).toMatch(
    /: eps\.yaml: line 0: is not known; line 1: [^;]*; line 2: [^;]*; line 3: [^;]*; line 4: is not known; and 5,995 more$/,
  );
  const [long] = refused({ configError: `mine.yaml:\n  ${'x'.repeat(5000)}\n  short` });
  expect(long?.what.length).toBeLessThan(1200);
  expect(long?.what).toMatch(/x…$/);
});

it('[O512] doctor names what a picker goes on without, with the page that says what to do', () => {
  const detail = {
    replicaTrouble: 'no connection to NATS',
    schedulerTrouble: 'the scheduler mine is gone',
    captureTrouble: 'the capture cannot be written',
    hostNameErrors: { nosuch: 'ENOTFOUND', other: 'EAI_AGAIN' },
    kubernetesTroubles: ['pods cannot be watched', 'no such InferencePool'],
  };
  const found = checkTroubles({ status: 200, text: JSON.stringify({ detail }) });
  expect(found.map(({ id, what }) => `${id}: ${what}`)).toEqual([
    'replicas-lost: no connection to NATS',
    'scheduler-lost: the scheduler mine is gone',
    'capture-not-written: the capture cannot be written',
    'host-name-unresolved: nosuch: ENOTFOUND; other: EAI_AGAIN',
    'kubernetes-trouble: pods cannot be watched; no such InferencePool',
  ]);
  for (const { mend = '' } of found) {
    const [, file = '', heading = ''] = /^See docs\/(.+)#(.+)\.$/.exec(mend) ?? [];
    const headings = readText(`docs/${file}`).matchAll(/^#+ (.*)$/gm);
    const anchors = [...headings].map(([, title = '']) => title.toLowerCase().replaceAll(' ', '-'));
    expect(anchors).toContain(heading);
  }
});

it('finds nothing where no file is refused, or where no document came', () => {
  expect(refused({ endpoints: 3 })).toEqual([]);
  for (const text of [
    'ok',
    'null',
    '[]',
    '{"detail":7}',
    '{"detail":{"outgoingTlsErrors":[null,1]}}',
  ])
    expect([checkRefusedFiles, checkTroubles].map((each) => each({ status: 200, text }))).toEqual([
      [],
      [],
    ]);
});
