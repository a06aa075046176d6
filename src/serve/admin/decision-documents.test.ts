import { describe, expect, it } from 'vitest';
import { makeRequest } from '../../../test/makers.ts';
import { drive, recordedPicker } from '../../../test/support/explain-bed.ts';
import { type DecisionList, decisionDocuments } from './decision-documents.ts';

describe('/debug/decisions', () => {
  const ask = (test: ReturnType<typeof recordedPicker>, query: string): DecisionList =>
    decisionDocuments(test.recorder).get('/debug/decisions')?.(
      new URLSearchParams(query),
    ) as DecisionList;

  it('lists the latest first, page by page, all of them once', () => {
    const test = recordedPicker('default');
    drive(test, 9, 700);
    const numbers: number[] = [];
    let page = ask(test, 'limit=90');
    for (; ; page = ask(test, `limit=90&before=${page.before}`)) {
      numbers.push(...page.decisions.map(({ number }) => number));
      if (page.before === undefined) break;
    }
    expect(numbers).toEqual(Array.from({ length: 700 }, (_, at) => 699 - at));
    expect(page.held.decisions).toBe(700);
  });

  it('[O46] says when first tokens were expected and came, and how long requests waited', () => {
    const test = recordedPicker('default');
    test.add('pod');
    const routed = test.picker.route(makeRequest({ id: 'a' }), {
      firstTokenVisible: true,
      waited: { heldMs: 30, endpoint: undefined, cachedTokens: 0 },
    });
    test.picker.route(makeRequest({ id: 'b' }));
    test.clock.advanceTo(test.clock.now() + 70);
    routed.firstToken();
    const [b, a] = ask(test, 'limit=2').decisions.map(({ times }) => times);
    expect(a).toMatchObject({ waitedMs: 30, observedTtftMs: 100 });
    expect(a?.predictedTtftMs).toBeGreaterThan(30);
    expect(b).toMatchObject({ waitedMs: 0 });
    expect(b).not.toHaveProperty('observedTtftMs');
  });

  it('leaves out what was not asked for', () => {
    const test = recordedPicker('default');
    const seen = drive(test, 10, 300);
    const [first] = ask(test, 'endpoint=pod-1&model=m1&limit=1').decisions;
    expect(first?.outcome).toMatchObject({ endpoint: 'pod-1' });
    expect(first?.model).toBe('m1');
    const all = ask(test, 'endpoint=pod-1&limit=1000').decisions;
    expect(all.length).toBe(seen.filter(({ endpoint }) => endpoint === 'pod-1').length);
  });

  it.each(['limit=0', 'limit=x', 'limit=1001', 'before=-1', 'modle=m'])(
    'refuses %s with a sentence',
    (query) => {
      expect(() => ask(recordedPicker('default'), query)).toThrow(/limit|before|modle/);
    },
  );

  it('refuses to explain a request that is not named or not known', () => {
    const explainDocument = decisionDocuments(recordedPicker('default').recorder).get(
      '/debug/explain',
    );
    expect(() => explainDocument?.(new URLSearchParams(''))).toThrow('no request is named');
    expect(() => explainDocument?.(new URLSearchParams('id=x'))).toThrow('no request "x"');
  });
});
