import { z } from 'zod';
import { scorers } from '../../scorers/index.ts';
import { catalogueOf } from '../../src/catalogue/built-in-catalogue.ts';
import { dataSources } from '../../src/catalogue/data-sources.ts';
import { loadConfig } from '../../src/config/load.ts';
import type { EndpointId } from '../../src/framework/endpoint.ts';
import {
  type DataSourceDefinition,
  defineDataSource,
  defineScorer,
  type PluginCatalogue,
  type ScorerDefinition,
} from '../../src/framework/plugin.ts';
import { cycleKey } from '../../src/framework/scheduling.ts';
import { withoutNetwork } from '../../src/library/create-picker.ts';
import { EndpointPicker } from '../../src/picker/endpoint-picker.ts';
import type { EndpointPickerOptions } from '../../src/picker/endpoint-picker-options.ts';
import type { PickerPlan } from '../../src/picker/plan/picker-plan.ts';
import { SimulatedClock } from '../../src/runtime/clock/simulated-clock.ts';
import { seededRandom } from '../../src/runtime/seeded-random.ts';

const VERSION = cycleKey<string>('version');

/**
 * A source that makes every request wait until it is released, and a scorer that prefers one slot.
 */
interface GatedCores {
  /** What the plugins did, in order. */
  readonly log: string[];
  /** The sources that run. */
  readonly running: ReadonlySet<string>;
  /** Requests that a source prepares. */
  readonly waiting: readonly (() => void)[];
  /** Of all built-in plugins, the source and the scorer. */
  readonly catalogue: PluginCatalogue;
  readonly clock: SimulatedClock;
  readonly plan: (body: string) => PickerPlan;
  /** A plan with a source of this version and a scorer that likes the endpoint in this slot. */
  readonly gated: (version: string, liked: number) => PickerPlan;
  readonly start: (
    first: PickerPlan,
    options?: Pick<EndpointPickerOptions, 'checkPlugins' | 'subscribers'>,
  ) => EndpointPicker;
  /** Ends the preparation of the request that has waited longest. */
  readonly letOne: () => void;
}

export function gatedCores(): GatedCores {
  const log: string[] = [];
  const clock = new SimulatedClock();
  const running = new Set<string>();
  const waiting: (() => void)[] = [];
  const sources = [...dataSources.map(withoutNetwork), gateSource({ log, running, waiting })];
  const catalogue = catalogueOf([...scorers, slotScorer(log)], sources);
  const plan = (body: string): PickerPlan => {
    const head = 'apiVersion: llm-d.ai/v1alpha1\nkind: EndpointPickerConfig\n';
    return loadConfig({ text: `${head}${body}`, source: 'test', catalogue });
  };
  const gated = (version: string, liked: number): PickerPlan =>
    plan(`dataLayer: { injectDefaults: false }
plugins:
  - { type: gate-source, parameters: { version: ${version} } }
  - { type: slot-scorer, parameters: { slot: ${liked} } }
`);
  const start: GatedCores['start'] = (first, options = {}) => {
    const network = { get: () => Promise.reject(new Error('none')) };
    const runtime = { clock, random: seededRandom(1), network };
    const picker = new EndpointPicker({ plan: first, runtime, ...options });
    addIdleEndpoints(picker);
    log.length = 0;
    return picker;
  };
  const letOne = (): void => waiting.shift()?.();
  return { log, running, waiting, catalogue, clock, plan, gated, start, letOne };
}

interface Gate {
  readonly log: string[];
  readonly running: Set<string>;
  readonly waiting: (() => void)[];
}

function gateSource({ log, running, waiting }: Gate): DataSourceDefinition {
  return defineDataSource({
    type: 'gate-source',
    config: z.strictObject({ version: z.string(), fails: z.boolean().default(false) }),
    provides: () => [VERSION],
    start({ version, fails }) {
      if (fails) throw new Error(`gate ${version} does not open`);
      const run = `${version}#${log.length}`;
      log.push(`start ${version}`);
      running.add(run);
      return {
        facts: [{ key: VERSION, compute: () => version }],
        prepare: (_request, _body, ready) => {
          waiting.push(() => {
            if (!running.has(run)) throw new Error(`${run} was stopped before it was ready`);
            ready();
          });
          return true;
        },
        onRouted: () => void log.push(`${version} routed`),
        onDone: () => void log.push(`${version} done`),
        onEndpointAdded: ({ id }) => void log.push(`${version} + ${id}`),
        stop: () => {
          if (!running.delete(run)) throw new Error(`${run} was stopped twice`);
          log.push(`stop ${version}`);
        },
      };
    },
  });
}

function slotScorer(log: string[]): ScorerDefinition {
  return defineScorer({
    type: 'slot-scorer',
    config: z.strictObject({ slot: z.number(), fails: z.boolean().default(false) }),
    needs: () => [VERSION],
    create: ({ slot: liked, fails }) => ({
      score: (endpoints, context) => {
        if (fails) throw new Error('the slots are broken');
        log.push(`decided by ${liked} with ${context.get(VERSION)}`);
        return endpoints.map((endpoint) => (endpoint.slot === liked ? 1 : 0));
      },
    }),
  });
}

function addIdleEndpoints(picker: EndpointPicker): void {
  for (let n = 0; n < 3; n++) {
    const id = `e${n}` as EndpointId;
    picker.pool.upsert({ id, address: `10.0.0.${n}:80`, labels: new Map() });
    const idle = { waitingQueueSize: 0, runningRequests: 0, kvCacheUsage: 0, sampledAt: 0 };
    picker.pool.observe(id, idle);
  }
}

export const BODY: readonly Uint8Array[] = [new Uint8Array(1)];

/** Requests in flight at all endpoints. */
export const inFlight = ({ pool, ledger }: EndpointPicker): number =>
  pool.snapshot().reduce((sum, endpoint) => sum + ledger.load(endpoint).requests, 0);
