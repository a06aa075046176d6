import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { parseTraceparent, traceparentOf } from './trace-context.ts';

const TRACE = '0af7651916cd43dd8448eb211c80319c';
const SPAN = 'b7ad6b7169203331';

describe('traceparent', () => {
  test.each([
    [`00-${TRACE}-${SPAN}-01`, true],
    [`00-${TRACE}-${SPAN}-00`, false],
    [`00-${TRACE}-${SPAN}-03`, true],
    [`cc-${TRACE}-${SPAN}-01-what-comes-later`, true],
  ])('[O81] reads %s', (header, sampled) => {
    expect(parseTraceparent(header)).toEqual({ traceId: TRACE, spanId: SPAN, sampled });
  });

  test.each([
    undefined,
    '',
    `00-${TRACE}-${SPAN}-01-more`,
    `ff-${TRACE}-${SPAN}-01`,
    `00-${TRACE.toUpperCase()}-${SPAN}-01`,
    `00-${'0'.repeat(32)}-${SPAN}-01`,
    `00-${TRACE}-${'0'.repeat(16)}-01`,
    `00-${TRACE}-${SPAN}`,
    `00-${TRACE}-${SPAN}-01,00-${TRACE}-${SPAN}-01`,
  ])('[O81] ignores `%s`', (header) => {
    expect(parseTraceparent(header)).toBeUndefined();
  });

  test('[O81] survives any text, and what it writes it reads again', () => {
    fc.assert(
      fc.property(fc.string(), (text) => {
        const read = parseTraceparent(text);
        if (read !== undefined) expect(parseTraceparent(traceparentOf(read))).toEqual(read);
      }),
      { seed: 81 },
    );
  });
});
