import { describe, expect, it } from 'vitest';
import { makeRequest } from '../../../test/makers.ts';
import { ControlledBench, PLAN } from '../../../test/support/controlled-bench.ts';
import { drive, recordedPicker } from '../../../test/support/explain-bed.ts';
import { RoutingError } from '../../framework/error.ts';
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

  it('[O450] refuses to explain a request that is not named or not known, and says what to do', () => {
    const test = recordedPicker('default');
    const explainDocument = decisionDocuments(test.recorder).get('/debug/explain');
    expect(() => explainDocument?.(new URLSearchParams(''))).toThrow('no request is named');
    expect(() => explainDocument?.(new URLSearchParams('id=x'))).toThrow(
      'no request "x": no decision has been made yet; where requests are sent, `pointsman doctor` says why none comes here',
    );
    test.add('pod');
    test.picker.route(makeRequest({ id: 'a' }));
    expect(() => explainDocument?.(new URLSearchParams('id=x'))).toThrow(
      'no request "x" among the last 1 decisions; `pointsman explain` without an id lists the latest',
    );
  });
});

describe('/debug/explain of what was refused', () => {
  const explained = ({ recorder }: ReturnType<typeof recordedPicker>, id: string) =>
    decisionDocuments(recorder).get('/debug/explain')?.(new URLSearchParams({ id }));

  it('[O453] has a request for which there was no endpoint, with the answer that its client got', () => {
    const test = recordedPicker('default');
    const route = (id: string): void => void test.picker.route(makeRequest({ id }));
    expect(() => route('empty')).toThrow(RoutingError);
    const why = 'no endpoint can serve this request: the pool has no endpoint';
    const outcome = { kind: 'no-candidates', why };
    expect(explained(test, 'empty')).toMatchObject({ candidates: [], profiles: [], outcome });
    test.add('pod');
    route('served');
    expect(explained(test, 'served')).toMatchObject({ candidates: [{ id: 'pod' }] });
    expect(() =>
      test.picker.route(makeRequest({ id: 'elsewhere' }), { subset: ['10.9.9.9'] }),
    ).toThrow(RoutingError);
    expect(explained(test, 'elsewhere')).toMatchObject({
      outcome: { kind: 'no-candidates', why: expect.stringContaining('in the subset') },
    });
    route('again');
    expect(explained(test, 'again')).toMatchObject({ outcome: { endpoint: 'pod' } });
  });

  it('[O453] has a request that was refused before it was read, and lists it', () => {
    const test = recordedPicker('default');
    const { refusals } = test.recorder;
    const error = new RoutingError('invalid-request', 'the body is not valid JSON');
    refusals.add({ error, requestId: 'broken', model: undefined });
    const refused = { status: 400, why: 'the body is not valid JSON' };
    expect(explained(test, 'broken')).toMatchObject({ requestId: 'broken', refused });
    const list = decisionDocuments(test.recorder).get('/debug/decisions');
    expect(list?.(new URLSearchParams())).toMatchObject({ refused: [{ requestId: 'broken' }] });
  });

  it('[O453] lists a refused request once, and explains it by its decision', () => {
    const test = recordedPicker('default');
    expect(() => test.picker.route(makeRequest({ id: 'empty' }))).toThrow(RoutingError);
    const error = new RoutingError('no-endpoints', 'none');
    test.recorder.refusals.add({ error, requestId: 'empty', model: 'm' });
    expect(explained(test, 'empty')).toMatchObject({ outcome: { kind: 'no-candidates' } });
    const list = decisionDocuments(test.recorder).get('/debug/decisions');
    expect(list?.(new URLSearchParams())).not.toHaveProperty('refused');
  });

  it('[O542] lists a request that a limit refused after its model was read, and counts it by reason', () => {
    const test = recordedPicker('default');
    test.add('pod');
    test.picker.route(makeRequest({ id: 'served' }));
    const error = new RoutingError('memory-full', 'this picker keeps as many bytes as it may');
    test.recorder.refusals.add({ error, requestId: 'large', model: 'm' });
    const list = decisionDocuments(test.recorder).get('/debug/decisions');
    expect(list?.(new URLSearchParams())).toMatchObject({
      decisions: [{ id: 'served' }],
      refused: [{ requestId: 'large', model: 'm', refused: { status: 429 } }],
    });
    expect([...test.recorder.refusals.countsSince(0)]).toEqual([
      [expect.stringMatching(/^429 /), 1],
    ]);
  });

  it('[O453] keeps the last 4,096 refusals', () => {
    const { recorder } = recordedPicker('default');
    const error = new RoutingError('invalid-request', 'x');
    for (let n = 0; n <= 4096; n++) {
      recorder.refusals.add({ error, requestId: `r${n}`, model: undefined });
    }
    expect(recorder.refusals.find('r0')).toBeUndefined();
    expect(recorder.refusals.find('r1')?.requestId).toBe('r1');
    expect(recorder.refusals.since(0, 5000, () => false)).toHaveLength(4096);
  });
});

describe('/debug/explain of what flow control kept', () => {
  /** A picker for decisions, and flow control before another one, which share a recorder. */
  const setUp = () => {
    const test = recordedPicker('default');
    test.add('pod');
    const { recorder, picker } = test;
    const bench = new ControlledBench({
      plan: { ...PLAN, maxRequests: 1 },
      onStay: recorder.stays.onStay,
    });
    const headers = (id: string) =>
      new Map([
        [':method', 'POST'],
        ['x-request-id', id],
      ]);
    const send = (id: string, own: string): void => {
      try {
        bench.send(own, { headers: headers(id) });
      } catch (error) {
        expect(error).toBeInstanceOf(RoutingError);
      }
    };
    const decide = (id: string, own: string): void =>
      void picker.route(makeRequest({ id: own, headers: headers(id) }));
    const documents = decisionDocuments(recorder, bench.router);
    const ask = (id: string) => documents.get('/debug/explain')?.(new URLSearchParams({ id }));
    return { bench, recorder, clock: test.clock, send, decide, ask };
  };

  it('[O439] has what it kept, while the request waits and with its decision', () => {
    const { bench, send, decide, ask } = setUp();
    const first = bench.send('first');
    send('theirs', 'own');
    const waits = { id: 'own', requestId: 'theirs', flowControl: { came: { samePriority: 0 } } };
    expect(ask('theirs')).toMatchObject(waits);
    expect(ask('theirs')).not.toHaveProperty('outcome');
    bench.end(first);
    decide('theirs', 'own');
    const left = { kind: 'let-go', after: ['end'] };
    expect(ask('theirs')).toMatchObject({ outcome: { endpoint: 'pod' }, flowControl: { left } });
    decide('other', 'at once');
    expect(ask('other')).not.toHaveProperty('flowControl');
  });

  it('[O439] has the refusal, or the decision of a later try with the same id', () => {
    const { bench, clock, send, decide, ask } = setUp();
    bench.send('first');
    send('waits', 'own-1');
    send('again', 'own-2');
    const left = { kind: 'refused', status: 429, reason: 'rejected-saturated' };
    expect(ask('again')).toMatchObject({ id: 'own-2', flowControl: { waitedMs: 0, left } });
    clock.advanceTo(clock.now() + 50);
    decide('again', 'own-3');
    expect(ask('again')).toMatchObject({ id: 'own-3', outcome: { endpoint: 'pod' } });
    expect(ask('own-2')).toMatchObject({ id: 'own-2', flowControl: { left } });
  });

  it('[O439] says that a request was ended for others after its pick', () => {
    const { recorder, decide, ask } = setUp();
    decide('theirs', 'own');
    const request = makeRequest({ id: 'own' });
    const error = new RoutingError('evicted', 'the request was ended: others need the room');
    const end = { kind: 'refused', error } as const;
    recorder.stays.onStay({ request, since: 0, at: 0, place: undefined, end });
    expect(ask('own')).toMatchObject({
      outcome: { endpoint: 'pod' },
      evicted: 'the request was ended: others need the room',
    });
  });

  it('[O439] keeps the last 16,384', () => {
    const { recorder } = setUp();
    for (let n = 0; n <= 16_384; n++) {
      const end = { kind: 'client-gone' } as const;
      const request = makeRequest({ id: `r${n}` });
      recorder.stays.onStay({ request, since: 0, at: 0, place: undefined, end });
    }
    expect(recorder.stays.find('r0')).toBeUndefined();
    expect(recorder.stays.find('r1')).toBeDefined();
    expect([...recorder.stays.latestFirst()]).toHaveLength(16_384);
  });
});
