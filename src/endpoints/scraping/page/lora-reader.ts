import type { LoraState } from '../../../framework/endpoint-attributes.ts';
import type { EngineMapping } from './engine-metrics.ts';
import { isCount } from './is-count.ts';
import type { Labels } from './prometheus-labels.ts';
import { type FinderOf, OPTIONAL_EVERY_PAGES, type Sample } from './prometheus-scan.ts';

/** Longer lists of adapters are cut: a server holds some tens, and memory must stay bounded. */
const ADAPTERS_MAX = 1024;
/** A longer name is left out: requests give such names as their model. */
const ADAPTER_NAME_MAX = 256;

/**
 * Each change of adapters adds a series whose value is its time; the largest value is now. A page
 * with whole seconds, such as that of llm-d's simulator, does not say which of those of the last
 * second is now: then each adapter of that second counts.
 */
export function loraReader(
  { lora }: EngineMapping,
  finderOf: FinderOf,
): (page: Buffer) => LoraState | undefined {
  if (lora === undefined) return () => undefined;
  const finder = finderOf(lora, OPTIONAL_EVERY_PAGES);
  let latest: Sample | undefined;
  let state: LoraState | undefined;
  return (page) => {
    const now = finder.largest(page);
    const alone = now.length === 1 ? now[0] : undefined;
    if (alone !== undefined && alone === latest) return state;
    latest = alone;
    const next = joinedLora(now.map(({ labels }) => loraState(labels)));
    // A new time without other adapters is no change.
    if (next === undefined || state === undefined || !sameLora(next, state)) state = next;
    return state;
  };
}

function joinedLora(states: readonly LoraState[]): LoraState | undefined {
  const [first] = states;
  if (first === undefined || states.length === 1) return first;
  return {
    running: new Set(states.flatMap(({ running }) => [...running])),
    waiting: new Set(states.flatMap(({ waiting }) => [...waiting])),
    max: Math.max(...states.map(({ max }) => max)),
  };
}

function loraState(labels: Labels): LoraState {
  const max = Number(labels.get('max_lora'));
  return {
    running: adapters(labels.get('running_lora_adapters')),
    waiting: adapters(labels.get('waiting_lora_adapters')),
    max: isCount(max) ? max : 0,
  };
}

function adapters(list: string | undefined): ReadonlySet<string> {
  const names = (list ?? '').split(',', ADAPTERS_MAX).map((name) => name.trim());
  return new Set(names.filter((name) => name !== '' && name.length <= ADAPTER_NAME_MAX));
}

function sameLora(a: LoraState, b: LoraState): boolean {
  return a.max === b.max && sameSet(a.running, b.running) && sameSet(a.waiting, b.waiting);
}

function sameSet(a: ReadonlySet<string>, b: ReadonlySet<string>): boolean {
  return a.size === b.size && [...a].every((each) => b.has(each));
}
