import { combinedBy, isDetector } from '../../flow/control/detector-types.ts';
import type {
  BandPlan,
  DetectorPlan,
  FlowControlPlan,
  PlannedPolicy,
} from '../../flow/control/flow-control-plan.ts';
import {
  fairnessPolicies,
  orderingPolicies,
  type PolicyType,
  usageLimitPolicies,
} from '../../flow/control/policy-types.ts';
import type { ConfigIssue } from '../../framework/error.ts';
import type { PlannedPlugin } from '../../picker/plan/picker-plan.ts';
import {
  type BandEntry,
  FLOW_DEFAULTS,
  type FlowControlEntry,
} from '../schema/flow-control-schema.ts';
import type { PluginTable } from './plugin-table.ts';

/** Plugins that are there without being listed. */
const ALWAYS_THERE: ReadonlySet<string> = new Set([
  FLOW_DEFAULTS.detector,
  FLOW_DEFAULTS.ordering,
  FLOW_DEFAULTS.fairness,
  FLOW_DEFAULTS.usageLimit,
]);

/** Makes a plan of the section `flowControl`. Adds errors in references and bands to `issues`. */
export class FlowControlPlanner {
  readonly #table: PluginTable;
  readonly #issues: ConfigIssue[];

  constructor(table: PluginTable, issues: ConfigIssue[]) {
    this.#table = table;
    this.#issues = issues;
  }

  /** Undefined where a reference is wrong; then there is an issue. */
  plan(entry: FlowControlEntry): FlowControlPlan | undefined {
    const ttl = entry.defaultRequestTTL ?? FLOW_DEFAULTS.requestTtlMs;
    const detector = this.detector(
      entry.saturationDetector?.pluginRef,
      'flowControl.saturationDetector.pluginRef',
    );
    const usageLimit = this.#policy(entry.usageLimitPolicyPluginRef ?? FLOW_DEFAULTS.usageLimit, {
      types: usageLimitPolicies,
      path: 'flowControl.usageLimitPolicyPluginRef',
      wanted: 'a usage limit policy',
    });
    const defaultBand = this.#band(entry.defaultPriorityBand, 'flowControl.defaultPriorityBand');
    const negative = entry.defaultNegativePriorityBand;
    const negativeBand = negative
      ? this.#band(negative, 'flowControl.defaultNegativePriorityBand')
      : defaultBand;
    const bands = this.#bands(entry.priorityBands ?? []);
    if (!detector || !usageLimit || !defaultBand || !negativeBand) return undefined;
    return {
      maxBytes: limitOf(entry.maxBytes),
      maxRequests: limitOf(entry.maxRequests),
      requestTtlMs: limitOf(ttl),
      noEndpointTtlMs: limitOf(entry.noEndpointRequestTTL ?? ttl),
      bands,
      defaultBand,
      negativeBand,
      detector,
      usageLimit,
      evicts: entry.enableEviction ?? false,
    };
  }

  /** The detector with the name `ref`, and the detectors that it combines. */
  detector(
    ref: string | null | undefined,
    path: string,
    above: readonly string[] = [],
  ): DetectorPlan | undefined {
    const name = ref ?? FLOW_DEFAULTS.detector;
    const plugin = this.#find(name, { path, kinds: ['filter', 'source'], wanted: 'a detector' });
    if (plugin === undefined) return undefined;
    const { type } = plugin.definition;
    if (!isDetector(type)) {
      this.#issues.push({ path, message: `${name} is a ${type}, not a saturation detector` });
      return undefined;
    }
    const policy = { name, type, config: plugin.config };
    const children = combinedBy(policy).map((child, index) => {
      const at = `${this.#table.pathOf(name)}.parameters.detectors[${index}]`;
      if (child !== name && !above.includes(child)) {
        return this.detector(child, at, [...above, name]);
      }
      this.#issues.push({ path: at, message: `${child} combines itself; name other detectors` });
      return undefined;
    });
    const found = children.filter((child) => child !== undefined);
    return found.length < children.length ? undefined : { ...policy, children: found };
  }

  #bands(entries: readonly BandEntry[]): ReadonlyMap<number, BandPlan> {
    const bands = new Map<number, BandPlan>();
    const priorities = new Set<number>();
    entries.forEach((entry, index) => {
      const { priority = 0 } = entry;
      const path = `flowControl.priorityBands[${index}]`;
      if (priorities.has(priority)) {
        const message = `two bands have the priority ${priority}; give one of them another`;
        this.#issues.push({ path: `${path}.priority`, message });
      }
      priorities.add(priority);
      const band = this.#band(entry, path);
      if (band !== undefined) bands.set(priority, band);
    });
    return bands;
  }

  #band(entry: BandEntry | null | undefined, path: string): BandPlan | undefined {
    const { maxBytes, maxRequests, defaultRequestTTL: ttl } = entry ?? {};
    const ordering = this.#policy(entry?.orderingPolicyRef ?? FLOW_DEFAULTS.ordering, {
      types: orderingPolicies,
      path: `${path}.orderingPolicyRef`,
      wanted: 'an ordering policy',
    });
    const fairness = this.#policy(entry?.fairnessPolicyRef ?? FLOW_DEFAULTS.fairness, {
      types: fairnessPolicies,
      path: `${path}.fairnessPolicyRef`,
      wanted: 'a fairness policy',
    });
    if (!ordering || !fairness) return undefined;
    return {
      maxBytes: maxBytes || FLOW_DEFAULTS.bandBytes,
      maxRequests: maxRequests || FLOW_DEFAULTS.bandRequests,
      requestTtlMs: ttl === undefined || ttl === null ? undefined : limitOf(ttl),
      ordering,
      fairness,
    };
  }

  #policy(
    name: string,
    {
      types,
      path,
      wanted,
    }: {
      readonly types: readonly PolicyType<unknown>[];
      readonly path: string;
      readonly wanted: string;
    },
  ): PlannedPolicy | undefined {
    const plugin = this.#find(name, {
      path,
      kinds: ['source'],
      wanted,
    });
    if (plugin === undefined) return undefined;
    const { type } = plugin.definition;
    if (types.some((each) => each.type === type)) return { name, type, config: plugin.config };
    this.#issues.push({ path, message: `${name} is not ${wanted}; its type is ${type}` });
    return undefined;
  }

  #find(
    name: string,
    expected: { readonly path: string; readonly kinds: readonly string[]; readonly wanted: string },
  ): PlannedPlugin | undefined {
    const isListed = [...this.#table.plugins()].some((plugin) => plugin.name === name);
    if (ALWAYS_THERE.has(name) && !isListed) return this.#table.inject(name);
    return this.#table.resolve(name, expected);
  }
}

/** 0 and what is not given are no limit. */
function limitOf(value: number | null | undefined): number {
  return value || Number.POSITIVE_INFINITY;
}
