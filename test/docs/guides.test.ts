import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { EMBEDDED_CATALOGUE } from '../../src/catalogue/built-in-catalogue.ts';
import { loadConfig } from '../../src/config/load.ts';
import type { EndpointId } from '../../src/framework/endpoint.ts';
import { EndpointPicker } from '../../src/picker/endpoint-picker.ts';
import type { PickerPlan } from '../../src/picker/plan/picker-plan.ts';
import { SimulatedClock } from '../../src/runtime/clock/simulated-clock.ts';
import { seededRandom } from '../../src/runtime/seeded-random.ts';
import { makeRequest } from '../makers.ts';

/** The configurations in the reference picker's guides load unchanged and route a request. */

const folder = join(import.meta.dirname, '../fixtures/guides');
const guides = readdirSync(folder).map((file) => file.replace('.yaml', ''));
const catalogue = EMBEDDED_CATALOGUE;

interface Guide {
  readonly plugins: readonly { readonly type: string; readonly name?: string }[];
  readonly schedulingProfiles: readonly {
    readonly name: string;
    readonly plugins: readonly { readonly pluginRef: string; readonly weight?: number }[];
  }[];
}

function load(guide: string): { readonly plan: PickerPlan; readonly written: Guide } {
  const text = readFileSync(join(folder, `${guide}.yaml`), 'utf8');
  return { plan: loadConfig({ text, source: guide, catalogue }), written: parse(text) as Guide };
}

const ROLES = { decode: 'decode', prefill: 'prefill', both: 'both' } as const;

describe('the configurations that come with Pointsman', () => {
  const deploy = join(import.meta.dirname, '../../deploy');
  const configs = readdirSync(deploy).filter(
    (file) =>
      file.endsWith('.yaml') &&
      readFileSync(join(deploy, file), 'utf8').includes('kind: EndpointPickerConfig'),
  );

  it.each(configs)('deploy/%s loads without a warning', (file) => {
    const text = readFileSync(join(deploy, file), 'utf8');
    expect(loadConfig({ text, source: file, catalogue }).warnings).toEqual([]);
  });
});

describe('the reference’s guides', () => {
  it.each(guides)('%s loads with every plugin, profile and weight it names', (guide) => {
    const { plan, written } = load(guide);
    const names = plan.plugins.map(({ name }) => name);
    for (const { type, name = type } of written.plugins) expect(names).toContain(name);
    for (const { name, plugins } of written.schedulingProfiles) {
      const planned = plan.profiles.find((profile) => profile.name === name)?.plugins ?? [];
      for (const { pluginRef, weight = 1 } of plugins) {
        const found = planned.find(({ plugin }) => plugin.name === pluginRef);
        expect(found?.weight).toBe(weight);
      }
    }
  });

  it.each(guides)(
    '%s warns only of settings that have no effect yet or are deprecated',
    (guide) => {
      const unexplained = load(guide).plan.warnings.filter(
        (warning) =>
          !/no effect yet|deprecated|no effect on predicted-latency-producer/.test(warning),
      );
      expect(unexplained).toEqual([]);
    },
  );

  it.each(guides)('%s routes a request to a server that can decode', (guide) => {
    const { plan } = load(guide);
    const clock = new SimulatedClock();
    const network = { get: () => Promise.reject(new Error('no network in this test')) };
    const runtime = { clock, random: seededRandom(5), network };
    const picker = new EndpointPicker({ plan, runtime });
    for (const [role, label] of Object.entries(ROLES)) {
      const labels = new Map([['llm-d.ai/role', label]]);
      picker.pool.upsert({ id: role as EndpointId, address: `${role}:8000`, labels });
      const sampledAt = clock.now();
      const metrics = { waitingQueueSize: 0, runningRequests: 0, kvCacheUsage: 0, sampledAt };
      picker.pool.observe(role as EndpointId, metrics);
    }
    const routed = picker.route(makeRequest({ promptTokens: 640 }));
    const decodes = plan.profiles.some(({ name }) => name === 'decode');
    if (decodes) {
      expect(['decode', 'both']).toContain(routed.endpoint.id);
      expect(['prefill:8000', 'both:8000']).toContain(routed.headers.get('x-prefiller-host-port'));
      const prefill =
        routed.headers.get('x-prefiller-host-port') === 'both:8000' ? 'both' : 'prefill';
      const [id] = [prefill as EndpointId];
      const endpoint = picker.pool.get(id);
      const load = endpoint && picker.ledger.load(endpoint);
      expect(load?.pendingPrefillTokens).toBe(640);
    }
    routed.firstToken();
    routed.done('completed');
    for (const endpoint of picker.pool.snapshot()) {
      expect(picker.ledger.load(endpoint)).toMatchObject({
        requests: 0,
        pendingPrefillTokens: 0,
        contextTokens: 0,
      });
    }
    picker.stop();
  });
});
