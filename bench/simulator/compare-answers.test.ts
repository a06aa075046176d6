import { describe, expect, it } from 'vitest';
import { type Answer, factsOf } from './answer-facts.ts';
import { compareAnswers, type KnownDifference } from './compare-answers.ts';
import { GENERATION } from './generation-requests.ts';
import { OTHERS } from './other-requests.ts';

function answer(body: unknown, type = 'application/json', status = 200): Answer {
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  return { status, headers: ['Content-Type', type, 'Date', 'today'], body: text };
}

const STREAM = 'text/event-stream';
const chunk = (choice: object): string => `data: ${JSON.stringify({ choices: [choice] })}\n\n`;

describe('what an answer says', () => {
  it('[D585] is its status, its headers and the form of its body, without texts and counts', () => {
    const facts = factsOf(
      answer({ id: 'x', object: 'list', data: [{ n: 1 }, { n: 2 }], usage: null }),
    );
    expect([...facts]).toEqual([
      'status 200',
      'header content-type: application/json',
      'body.id: string',
      'body.object: "list"',
      'body.data[].n: number',
      'body.usage: null',
    ]);
  });

  it('[D585] is the order of its events, of which equal ones are one', () => {
    const text = (content: string): string => chunk({ delta: { content } });
    const end = chunk({ delta: {}, finish_reason: 'stop' });
    const facts = factsOf(answer(`${text('a')}${text('b')}${end}data: [DONE]\n\n`, STREAM));
    expect([...facts]).toContain('order content, finish_reason, "[DONE]"');
    expect([...factsOf(answer(`${text('a')}data: {"cut`, STREAM))]).toContain(
      'text behind the last event "data: {\\"cut"',
    );
  });

  it('[D585] is the names, types and labels of metrics', () => {
    const page = '# HELP a b\n# TYPE a gauge\na{y="1",x="2"} 3\nb 4\n';
    expect([...factsOf(answer(page, 'text/plain'))].slice(2)).toEqual([
      'metric a is a gauge',
      'series a{x,y}',
      'series b{}',
    ]);
  });
});

describe('the answers of two servers', () => {
  const known: KnownDifference = {
    whose: 'theirs',
    fact: /^body\.old/,
    requests: /^a$/,
    why: 'old',
  };
  const compare = (theirs: object, ours: object) =>
    compareAnswers(
      new Map(Object.entries(theirs).map(([name, body]) => [name, answer(body)])),
      new Map(Object.entries(ours).map(([name, body]) => [name, answer(body)])),
      [known],
    );

  it('[D585] are compared fact by fact, and each difference has its reason or none', () => {
    const compared = compare(
      { a: { old: 1 }, b: { old: 1 }, c: {} },
      { a: {}, b: { new: 1 }, c: {} },
    );
    expect(compared.requests).toBe(3);
    expect([...compared.known]).toEqual([
      [known, [{ whose: 'theirs', fact: 'body.old: number', requests: ['a'] }]],
    ]);
    expect(compared.unknown).toEqual([
      { whose: 'ours', fact: 'body: {}', requests: ['a'] },
      { whose: 'theirs', fact: 'body.old: number', requests: ['b'] },
      { whose: 'ours', fact: 'body.new: number', requests: ['b'] },
    ]);
  });

  it('[D585] are those to requests whose names are all different', () => {
    const names = [...GENERATION, ...OTHERS].map(({ name }) => name);
    expect(new Set(names).size).toBe(names.length);
  });
});
