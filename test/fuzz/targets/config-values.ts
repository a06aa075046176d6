import { readFileSync } from 'node:fs';
import { EMBEDDED_CATALOGUE } from '../../../src/catalogue/built-in-catalogue.ts';
import { NAMED_CONFIGS } from '../../../src/config/defaults.ts';
import { planConfig } from '../../../src/config/load.ts';
import { API_VERSION, CONFIG_KIND, readConfigText } from '../../../src/config/schema/schema.ts';
import { packageFile } from '../../../src/files/folders.ts';
import { unwrapped } from '../../../src/files/reading/zod-issues.ts';
import { ConfigError, RoutingError } from '../../../src/framework/error.ts';
import type { Network } from '../../../src/framework/runtime.ts';
import type { PickerPlan } from '../../../src/picker/plan/picker-plan.ts';
import { makeRequest } from '../../makers.ts';
import { startFuzzPicker } from '../picker.ts';
import { expected, type FuzzTarget, promise, utf8 } from '../target.ts';
import { CONFIG_FILES } from './config.ts';

const decoder = new TextDecoder();

/** Plugins that ask other servers run as they do where none answers. */
const SILENT: Network = {
  get: () => new Promise(() => undefined),
  post: () => new Promise(() => undefined),
  resolve: () => new Promise(() => undefined),
  openMessages: () => ({ send: () => undefined, close: () => undefined }),
};

const { scorers, filters, pickers, profileHandlers, deciders, dataSources } = EMBEDDED_CATALOGUE;
const SCHEDULED = [...scorers, ...filters];
const PLUGINS = [...SCHEDULED, ...pickers, ...profileHandlers, ...deciders, ...dataSources];

/** Values that some parameter of each type may have, by the type's name in its schema. */
const SAMPLES: Readonly<Record<string, unknown>> = {
  number: 1,
  int: 1,
  boolean: true,
  string: 'a',
  array: [],
};

function parametersOf(schema: unknown): Readonly<Record<string, unknown>> {
  const shape = (unwrapped(schema) as { readonly shape?: Readonly<Record<string, unknown>> }).shape;
  return Object.fromEntries(
    Object.entries(shape ?? {}).map(([name, field]) => {
      const { def } = unwrapped(field) as { readonly def?: { readonly type?: string } };
      return [name, SAMPLES[def?.type ?? ''] ?? {}];
    }),
  );
}

/** One for each plugin type, with all of its parameters, which are not always valid. */
const OF_EACH_TYPE = PLUGINS.map(({ type, config }) => ({
  apiVersion: API_VERSION,
  kind: CONFIG_KIND,
  plugins: [{ type, name: 'a', parameters: parametersOf(config) }, { type: 'max-score-picker' }],
  schedulingProfiles: [
    {
      name: 'default',
      plugins: SCHEDULED.some((each) => each.type === type)
        ? [{ pluginRef: 'a', weight: 1 }, { pluginRef: 'max-score-picker' }]
        : [{ pluginRef: 'max-score-picker' }],
    },
  ],
}));

const TEXTS = [
  ...NAMED_CONFIGS.values(),
  ...CONFIG_FILES.map((path) => readFileSync(packageFile(path), 'utf8')),
];
const VALUES = [...TEXTS.map((text) => readConfigText(text, 'seed')), ...OF_EACH_TYPE];

function namesIn(value: unknown): readonly string[] {
  if (typeof value === 'string') return [value];
  if (typeof value !== 'object' || value === null) return [];
  const own = Array.isArray(value) ? [] : Object.keys(value);
  return [...own, ...Object.values(value).flatMap(namesIn)];
}

/** Texts by which an input has numbers that JSON has not. */
const NUMBERS: ReadonlyMap<unknown, number> = new Map([
  ['.nan', Number.NaN],
  ['.inf', Number.POSITIVE_INFINITY],
  ['-.inf', Number.NEGATIVE_INFINITY],
]);

function withNumbers(value: unknown): unknown {
  if (typeof value === 'string') return NUMBERS.get(value) ?? value;
  if (Array.isArray(value)) return value.map(withNumbers);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, withNumbers(each)]));
}

/**
 * What YAML stands for is a plan, or one error that lists what is wrong; a plan makes a picker, and
 * no part of it fails when it decides.
 */
export const configValues: FuzzTarget = {
  name: 'config-values',
  inputBytesMax: 6000,
  form: 'json',
  seeds: VALUES.map((value) => utf8(JSON.stringify(value))),
  words: [...new Set(['__proto__', 'constructor', ...VALUES.flatMap(namesIn)])],
  run: (input) => {
    let value: unknown;
    try {
      value = withNumbers(JSON.parse(decoder.decode(input)));
    } catch {
      return 'no JSON';
    }
    let plan: PickerPlan;
    try {
      plan = planConfig(value, { source: 'fuzz', catalogue: EMBEDDED_CATALOGUE });
    } catch (error) {
      return refused(error);
    }
    return decided(plan);
  },
};

/**
 * All of them one outcome: what was changed further would hide behind the errors that are there.
 */
function refused(error: unknown): string {
  if (!(error instanceof ConfigError)) throw error;
  promise(error.issues.length > 0, () => 'an error without an issue');
  return 'refused';
}

function decided(plan: PickerPlan): string {
  let started: ReturnType<typeof startFuzzPicker>;
  try {
    started = startFuzzPicker({ plan, network: SILENT });
  } catch (error) {
    return refused(error);
  }
  const { picker, clock } = started;
  const ends: string[] = [];
  for (const model of ['m', 'base', '']) {
    try {
      const routed = picker.route(makeRequest({ model }));
      clock.advanceTo(clock.now() + 1);
      routed.firstToken();
      routed.done('completed', {
        promptTokens: 640,
        completionTokens: 3,
        cachedTokens: undefined,
      });
      ends.push('routed');
    } catch (error) {
      ends.push(expected(error, RoutingError));
    }
    clock.advanceTo(clock.now() + 1000);
  }
  const [fault] = picker.faults.counts();
  picker.stop();
  promise(
    fault === undefined,
    () => `${JSON.stringify(fault)}: ${String(picker.faults.lastError)}`,
  );
  const types = plan.plugins.map(({ definition }) => definition.type).toSorted();
  return `${ends.join()} ${[...new Set(types)].join()}`;
}
