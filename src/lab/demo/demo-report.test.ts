import { expect, it } from 'vitest';
import { renderDemo } from './demo-report.ts';
import type { PolicyResult } from './policy-result.ts';

it('[O372] [O458] fits its table and what it says about it into 80 columns, and into one table where it can', () => {
  const policy = (name: string): PolicyResult => ({
    policy: name,
    requests: 187,
    errors: 0,
    firstError: undefined,
    ttftMs: { mean: 12_116, p50: 11_425, p90: 14_666, p99: 17_076 },
    tokensPerSecond: 1677,
    prefixHitRate: 0.2771,
    balance: { requests: 1.58, promptTokens: 1.28 },
    senderLateP99Ms: 951,
  });
  const report = {
    gateway: 'envoy',
    envoyInstallMs: 0,
    tookMs: 117_000,
    trace: { file: 'trace.jsonl', fromMs: 0, toMs: 60_000 },
    arrivalSpeed: 4,
    stubs: 8,
    requests: 187,
    hitRateMax: 0.289,
    policies: ['round-robin', 'reference-default', 'default'].map(policy),
  } as const;
  const lines = renderDemo(report).split('\n');
  // [O502] Thousands are marked.
  expect(lines.join('\n')).toMatch(/12,116 ms[^]*1,677/);
  for (const line of lines) expect(line.length, line).toBeLessThanOrEqual(80);
  expect(lines.filter((line) => line.startsWith('policy'))).toHaveLength(2);
  const wide = renderDemo(report, 120).split('\n');
  expect(wide.filter((line) => line.startsWith('policy'))).toHaveLength(1);
  expect(lines.join(' ')).toMatch(/busy machine.+say little.+run it again/);
});
