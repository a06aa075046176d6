import { afterAll, beforeAll, expect, test } from 'vitest';
import { serveOptions } from '../../bench/support/stack.ts';
import { type Serving, startServe } from '../../src/serve/serve.ts';

/** What the metrics page says of each metric. */
const helps = new Map<string, string>();
let serving: Serving;

beforeAll(async () => {
  serving = await startServe(serveOptions({ deprecatedMetrics: true, grpcStreamMetrics: true }));
  const page = await (await fetch(`http://127.0.0.1:${serving.metricsPort}/metrics`)).text();
  for (const [, name = '', help = ''] of page.matchAll(/^# HELP (\S+) (.+)$/gm)) {
    helps.set(name, help);
  }
});
afterAll(() => serving?.stop());

test('[D624] each help says by itself what is counted, also under a former name', () => {
  for (const [name, help] of helps) {
    if (!name.startsWith('llm_d_epp_')) continue;
    expect([name, help]).toEqual([name, expect.stringMatching(/^\[ALPHA\] .{20}/)]);
    expect([name, /\b(?:the same as|of the same|such|those of)\b/.test(help)]).toEqual([
      name,
      false,
    ]);
  }
  const deprecated = [...helps].filter(([, help]) => help.includes('[Deprecated: '));
  expect(deprecated.length).toBeGreaterThan(40);
  for (const [name, help] of deprecated) {
    const [, use = ''] = /Use (\w+)\]/.exec(help) ?? [];
    const said = helps.get(use)?.replace('[ALPHA] ', '');
    expect([name, help]).toEqual([name, expect.stringContaining(said ?? 'a help')]);
  }
});
