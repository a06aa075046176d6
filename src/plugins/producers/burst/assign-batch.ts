import type { Endpoint, EndpointId } from '../../../framework/endpoint.ts';
import type { PromptBlocks } from '../../../framework/request.ts';

/** A request of a batch. */
export interface BatchEntry {
  readonly prompt: PromptBlocks;
  /** The blocks of the prompt that count, at most `prompt.count`. */
  readonly blocks: number;
  /** How much it counts for the share of an endpoint: 1, or its tokens. */
  readonly weight: number;
  /** Undefined where no other request of the batch begins like it. */
  assigned: EndpointId | undefined;
}

export interface AssignOptions {
  /** The most requests with one prompt on one endpoint; undefined: any number. */
  readonly maxPerReplica: number | undefined;
  /** Requests that share so many blocks are placed together, too; 0: only equal prompts are. */
  readonly minColocateBlocks: number;
}

/**
 * Places the requests of a batch so that prompts that begin alike go to the same endpoint: equal
 * prompts first, longer ones first, each endpoint at most its share where a prefix attracts them.
 */
export function assignBatch(
  entries: readonly BatchEntry[],
  endpoints: readonly Endpoint[],
  options: AssignOptions,
): void {
  if (endpoints.length === 0) return;
  const units = unitsOf(entries, options.minColocateBlocks);
  const total = units.reduce((sum, { members }) => sum + weightOf(members), 0);
  const placed = new BatchLoads(endpoints, Math.ceil(total / endpoints.length), options);
  for (const unit of units) placed.place(unit);
}

/** Requests with one prompt. */
interface Unit {
  readonly members: BatchEntry[];
  readonly prompt: PromptBlocks;
  readonly blocks: number;
}

/** What is placed, in order: groups of equal prompts, then single ones that share a prefix. */
function unitsOf(entries: readonly BatchEntry[], minColocateBlocks: number): readonly Unit[] {
  const units = new Map<string, Unit>();
  for (const entry of entries) {
    if (entry.blocks === 0) continue;
    const key = `${entry.blocks} ${keyOf(entry, entry.blocks)}`;
    const unit = units.get(key) ?? { ...entry, members: [] };
    unit.members.push(entry);
    units.set(key, unit);
  }
  const sharing = new Map<string, number>();
  const isLong = ({ blocks }: Unit): boolean =>
    minColocateBlocks > 0 && blocks >= minColocateBlocks;
  for (const unit of units.values()) {
    if (!isLong(unit)) continue;
    const key = keyOf(unit, minColocateBlocks);
    sharing.set(key, (sharing.get(key) ?? 0) + unit.members.length);
  }
  const all = [...units.values()].sort((a, b) => b.blocks - a.blocks);
  const shares = (unit: Unit): boolean =>
    isLong(unit) && (sharing.get(keyOf(unit, minColocateBlocks)) ?? 0) >= 2;
  return [
    ...all.filter(({ members }) => members.length >= 2),
    ...all.filter((unit) => unit.members.length === 1 && shares(unit)),
  ];
}

function weightOf(entries: readonly BatchEntry[]): number {
  return entries.reduce((sum, { weight }) => sum + weight, 0);
}

/** Hashes are chained: equal hashes of block n are equal prompts up to there. */
function keyOf({ prompt }: Pick<Unit, 'prompt'>, blocks: number): string {
  const at = 2 * (blocks - 1);
  return `${prompt.words[at]}/${prompt.words[at + 1]}`;
}

class BatchLoads {
  readonly #endpoints: readonly Endpoint[];
  readonly #share: number;
  readonly #options: AssignOptions;
  readonly #load = new Map<EndpointId, number>();
  /** By block, the endpoints that this batch has sent it to. */
  readonly #holders = new Map<string, Set<EndpointId>>();

  constructor(endpoints: readonly Endpoint[], share: number, options: AssignOptions) {
    this.#endpoints = endpoints;
    this.#share = share;
    this.#options = options;
  }

  place(unit: Unit): void {
    const { maxPerReplica = Number.POSITIVE_INFINITY } = this.#options;
    const own = new Map<EndpointId, number>();
    let at = 0;
    while (at < unit.members.length) {
      const target = (at === 0 ? this.#nearest(unit) : undefined) ?? this.#leastLoaded(own);
      const room = Math.max(1, maxPerReplica - (own.get(target) ?? 0));
      const run = unit.members.slice(at, at + Math.min(room, unit.members.length - at));
      for (const member of run) member.assigned = target;
      own.set(target, (own.get(target) ?? 0) + run.length);
      this.#load.set(target, (this.#load.get(target) ?? 0) + weightOf(run));
      at += run.length;
    }
    for (const id of own.keys()) this.#hold(unit, id);
  }

  /** The endpoint that holds most of the prompt, enough of it, and has not yet its share. */
  #nearest(unit: Unit): EndpointId | undefined {
    const { minColocateBlocks } = this.#options;
    if (minColocateBlocks === 0) return undefined;
    const held = this.#heldBlocks(unit);
    const candidates = this.#endpoints.filter(
      ({ id }) =>
        (held.get(id) ?? 0) >= minColocateBlocks && (this.#load.get(id) ?? 0) < this.#share,
    );
    const most = Math.max(0, ...candidates.map(({ id }) => held.get(id) ?? 0));
    return this.#least(candidates.filter(({ id }) => held.get(id) === most));
  }

  #leastLoaded(own: ReadonlyMap<EndpointId, number>): EndpointId {
    const { maxPerReplica = Number.POSITIVE_INFINITY } = this.#options;
    const free = this.#endpoints.filter(({ id }) => (own.get(id) ?? 0) < maxPerReplica);
    return this.#least(free) ?? (this.#least(this.#endpoints) as EndpointId);
  }

  /**
   * The endpoint with the least from this batch; of equal ones the one with fewest running
   * requests, then by id.
   */
  #least(endpoints: readonly Endpoint[]): EndpointId | undefined {
    let least: Endpoint | undefined;
    for (const each of endpoints) {
      if (least === undefined || this.#compare(each, least) < 0) least = each;
    }
    return least?.id;
  }

  #compare(a: Endpoint, b: Endpoint): number {
    return (
      (this.#load.get(a.id) ?? 0) - (this.#load.get(b.id) ?? 0) ||
      a.metrics.runningRequests - b.metrics.runningRequests ||
      (a.id < b.id ? -1 : 1)
    );
  }

  /** Contiguous from the first block. */
  #heldBlocks(unit: Unit): ReadonlyMap<EndpointId, number> {
    const held = new Map<EndpointId, number>();
    for (let block = 1; block <= unit.blocks; block++) {
      const holders = this.#holders.get(keyOf(unit, block));
      if (holders === undefined) break;
      for (const id of holders) held.set(id, (held.get(id) ?? 0) + 1);
    }
    return held;
  }

  #hold(unit: Unit, id: EndpointId): void {
    // Only where other prompts are compared with it.
    if (this.#options.minColocateBlocks === 0) return;
    for (let block = 1; block <= unit.blocks; block++) {
      const key = keyOf(unit, block);
      const holders = this.#holders.get(key) ?? new Set<EndpointId>();
      this.#holders.set(key, holders.add(id));
    }
  }
}
