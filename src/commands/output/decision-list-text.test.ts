import { expect, it } from 'vitest';
import type { DecisionList } from '../../serve/admin/decision-documents.ts';
import { decisionListText } from './decision-list-text.ts';

it('[O409][O538] names the columns that a narrow terminal has no room for', () => {
  const times = { predictedTtftMs: 92, observedTtftMs: 349, waitedMs: 0 };
  const outcome = { kind: 'picked', profile: 'default', endpoint: 'ns/10.0.0.1:8000', score: 1 };
  const line = { id: '511032c095d1-4t', model: 'llama', promptTokens: 136, wallMs: 0, outcome };
  const answer = { outcome: 'failed', status: 503 };
  const list = { wallMs: 1000, decisions: [{ ...line, requestId: '', times, answer }] };
  const listText = (columns: number): readonly string[] =>
    decisionListText(list as unknown as DecisionList, columns).split('\n');
  const [head = '', row = '', note] = listText(70);
  expect(head.length).toBeLessThanOrEqual(70);
  expect(head).toMatch(/^request +endpoint +answer +predicted +observed$/);
  expect(row).toMatch(/^511032c095d1-4t +10\.0\.0\.1:8000 +failed: 503 +92 ms +349 ms$/);
  expect(note).toBe('in a wider terminal also: age, model, tokens, waited');
  expect(listText(20)[0]).toMatch(/^request +endpoint$/);
  expect(listText(Number.POSITIVE_INFINITY)[0]?.split(/ +/)).toHaveLength(9);
});

it('[O439] lists what flow control refused among the decisions, also where there is none', () => {
  const outcome = { kind: 'picked', profile: 'default', endpoint: 'pod', score: 1 };
  const line = { requestId: '', model: 'm', promptTokens: 1 };
  const left = { kind: 'refused', status: 429, reason: 'rejected-saturated', why: 'it is full' };
  const refused = [{ ...line, id: 'b', wallMs: 500, flowControl: { waitedMs: 30, left } }];
  const decisions = [
    { ...line, id: 'c', wallMs: 900, outcome },
    { ...line, id: 'a', wallMs: 0, outcome },
  ];
  const rows = (list: object): readonly string[] =>
    decisionListText({ wallMs: 1000, ...list } as unknown as DecisionList, 200).split('\n');
  expect(rows({ decisions, refused }).slice(1, 4)).toEqual([
    expect.stringMatching(/^c +0\.1 s +pod /),
    expect.stringMatching(/^b +0\.5 s +refused with 429 by flow control .* 30 ms$/),
    expect.stringMatching(/^a +1\.0 s +pod /),
  ]);
  expect(rows({ decisions: [], refused })[1]).toMatch(/^b .* 30 ms$/);
});

it('[O409] shows the ends of long names of pods where a terminal is narrow', () => {
  const endpoint = 'ns/vllm-llama-3-70b-instruct-decode-7c9f8d6b5-3wnwg-rank-0';
  const outcome = { kind: 'picked', profile: 'default', endpoint, score: 1 };
  const line = { id: '511032c095d1-4t', requestId: '', model: 'm', promptTokens: 1, wallMs: 0 };
  const list = { wallMs: 1000, decisions: [{ ...line, outcome }] } as unknown as DecisionList;
  expect(decisionListText(list, 80)).toMatch(/^511032c095d1-4t +1\.0 s +…c9f8d6b5-3wnwg /m);
  expect(decisionListText(list, Number.POSITIVE_INFINITY)).toContain(
    ' vllm-llama-3-70b-instruct-decode-7c9f8d6b5-3wnwg ',
  );
});
