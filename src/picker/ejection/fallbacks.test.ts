import { expect, it } from 'vitest';
import { makeRequest } from '../../../test/makers.ts';
import { EjectionBed } from '../../../test/support/ejection-bed.ts';

it('[Q289] counts one failure where the proxy says with each piece of one answer that it used a fallback', () => {
  const bed = new EjectionBed();
  bed.run(2000);
  for (let n = 0, asked = 0; n < 500 && asked < 2; n++) {
    const routed = bed.picker.route(makeRequest({ id: `x${n}` }), { firstTokenVisible: true });
    const pieces = routed.endpoint.id === 'e3' ? 500 : 0;
    if (pieces > 0) asked += 1;
    for (let piece = 0; piece < pieces; piece++) routed.served('10.0.0.4:80');
    routed.firstToken();
    routed.done('completed');
  }
  expect(bed.changes).toEqual([]);
  expect(bed.picker.ejector.fallbacks).toBe(2);
});
