import { expect, it } from 'vitest';
import { figureTable } from './figure-table.ts';

const report = (figures?: readonly object[]): string =>
  JSON.stringify({
    testResults: [{ assertionResults: [{ meta: { figures } }, { meta: {} }, {}] }],
  });

it('prints the measured figures beside the promised ones', () => {
  const figures = [
    { what: 'first token', promised: '±1 %', measured: '+0.02 %' },
    { what: 'hits', promised: 'exact', measured: 'exact' },
  ];
  expect(figureTable(report(figures))).toBe(
    '             promised  measured\nfirst token  ±1 %      +0.02 %\nhits         exact     exact\n',
  );
});

it('prints nothing if no figure was measured', () => {
  expect(figureTable(report())).toBeUndefined();
});
