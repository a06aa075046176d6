import { describe, expect, it } from 'vitest';
import { page, usedFrom } from '../../../../test/support/metrics-pages.ts';
import { configuredMapping, engineConfigSchema } from './engine-metrics.ts';
import { PageReader } from './page-reader.ts';
import { readSpec } from './series-spec.ts';

/** What an engine with these specifications of its queue reports of a page. */
function waitingBy(queuedRequestsSpec: string, lines: readonly string[]): number | undefined {
  const mapping = configuredMapping(engineConfigSchema.parse({ name: 'own', queuedRequestsSpec }));
  return usedFrom(new PageReader(mapping).read(page(lines)))?.waiting;
}

describe('the specification of a series', () => {
  it.each([
    ['q', {}],
    [' q ', {}],
    ['q{}', {}],
    ['  q  {  a  =  one  ,  b  =  two  }  ', { a: 'one', b: 'two' }],
    ['q{a="one",}', { a: 'one' }],
    ['q{a="x,y}z"}', { a: 'x,y}z' }],
    [String.raw`q{a="say \"so\""}`, { a: 'say "so"' }],
    ['q{__name__="q",a=one}', { a: 'one' }],
  ])('[D508] %s is read as the reference reads it', (text, labels) => {
    const read = readSpec(text);
    expect(read).toMatchObject({ name: 'q', labels: new Map(Object.entries(labels)) });
  });

  it.each([
    'q{a=one',
    'qa=one}',
    'q{a}',
    'q{=one}',
    'q{a=}',
    'q{a=one}more',
    '{a=one}',
    'q{a=one two}',
    'q{a="one}',
    'q{a=~"on.*"}',
    'q{a!~"on.*"}',
    'q{a!=one}',
    '',
  ])('[D508] %s is refused with what can be written', (queuedRequestsSpec) => {
    expect(readSpec(queuedRequestsSpec)).toBeUndefined();
    const parsed = engineConfigSchema.safeParse({ name: 'own', kvUsageSpec: queuedRequestsSpec });
    // No specification is none, which an engine may have.
    if (queuedRequestsSpec === '') expect(parsed.success).toBe(true);
    else expect(parsed.error?.issues[0]?.message).toContain('label!="value"');
  });

  it('[D508] with != leaves out series that have the value, and keeps those without the label', () => {
    const lines = ['q{state="running"} 40', 'q{state="waiting"} 3', 'q 2'];
    expect(waitingBy('q{state!="running"}', lines)).toBe(5);
    expect(waitingBy('q{state="waiting",state!="running"}', lines)).toBe(3);
    expect(waitingBy('q{state!=""}', lines)).toBe(43);
    expect(waitingBy('q{state=""}', lines)).toBe(2);
  });
});
