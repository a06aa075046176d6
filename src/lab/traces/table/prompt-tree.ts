import { type IdRun, IdRuns } from './id-runs.ts';
import { NumberColumn } from './number-column.ts';

const PLACES_AT_FIRST = 1024;
/** Shared by all prompts without blocks, because there may be millions of them. */
const NO_IDS: readonly (number | string)[] = [];

/**
 * The blocks of prompts, where those that begin alike have their beginning in common. A node stands
 * for a stretch of blocks that all prompts through it have, and each prompt ends where a node ends.
 * So a prompt takes two nodes of about 30 bytes at most, and 12 bytes for each run of blocks that no
 * prompt before it had.
 */
export class PromptTree {
  /** The blocks of nodes; each has those from a run on, without the first ones of that run. */
  readonly #blocks = new IdRuns();
  readonly #run = new NumberColumn(Uint32Array);
  readonly #skip = new NumberColumn(Uint32Array);
  /** 0 for the roots alone. */
  readonly #length = new NumberColumn(Uint32Array);
  readonly #parent = new NumberColumn(Uint32Array);
  /** A root for each model. */
  readonly #roots = new Map<string, number>();
  /** Each node and one, by its parent and its first block. At most half of the places are taken. */
  #places = new Uint32Array(PLACES_AT_FIRST);
  #children = 0;
  #nodes = 0;

  /** The ids of blocks as runs of numbers, as `add` takes them. */
  runsOf(blockIds: readonly (number | string)[]): readonly IdRun[] {
    return this.#blocks.runsOf(blockIds);
  }

  /** Returns the node at which the prompt ends: the root of its model, if it has no blocks. */
  add(model: string, runs: readonly IdRun[]): number {
    if (this.#places.length === 0) throw new Error('the tree is closed');
    let node = this.#rootOf(model);
    let [run, skip] = [0, 0];
    while (run < runs.length) {
      const [first, count] = runs[run] as IdRun;
      const child = this.#childOf(node, first + skip);
      if (child === undefined) return this.#addLeaf(node, runs, run, skip);
      const common = this.#commonWith(child, runs, run, skip);
      node = common < this.#length.get(child) ? this.#split(child, common) : child;
      skip += common;
      for (let end = count; run < runs.length && skip >= end; end = runs[run]?.[1] ?? 0) {
        skip -= end;
        run += 1;
      }
    }
    return node;
  }

  /** No prompt is added from here on, so what finds nodes for that is not kept. */
  close(): void {
    this.#places = new Uint32Array(0);
  }

  /** The nodes of the prompt that ends at this one, from the first to the last. */
  pathTo(node: number): readonly number[] {
    const path: number[] = [];
    for (let each = node; this.#length.get(each) > 0; each = this.#parent.get(each)) {
      path.push(each);
    }
    return path.reverse();
  }

  /** How many blocks the node stands for. */
  lengthOf(node: number): number {
    return this.#length.get(node);
  }

  /** The blocks of the prompt that ends at this node. */
  idsOf(node: number): readonly (number | string)[] {
    if (this.#length.get(node) === 0) return NO_IDS;
    const ids: (number | string)[] = [];
    for (const each of this.pathTo(node)) {
      const place = { run: this.#run.get(each), skip: this.#skip.get(each) };
      this.#blocks.pushIds(ids, place, this.#length.get(each));
    }
    return ids;
  }

  #rootOf(model: string): number {
    const known = this.#roots.get(model);
    if (known !== undefined) return known;
    const root = this.#nodes++;
    this.#roots.set(model, root);
    return root;
  }

  #addLeaf(parent: number, runs: readonly IdRun[], from: number, skip: number): number {
    const leaf = this.#nodes++;
    this.#run.set(leaf, this.#blocks.length);
    this.#blocks.append(runs, from, skip);
    let length = -skip;
    for (let run = from; run < runs.length; run++) length += (runs[run] as IdRun)[1];
    this.#length.set(leaf, length);
    this.#place(leaf, parent);
    return leaf;
  }

  /** Returns a new node with the first `blocks` of the node, which becomes its child. */
  #split(node: number, blocks: number): number {
    const upper = this.#nodes++;
    const parent = this.#parent.get(node);
    const [run, skip] = [this.#run.get(node), this.#skip.get(node)];
    this.#run.set(upper, run);
    this.#skip.set(upper, skip);
    this.#length.set(upper, blocks);
    this.#parent.set(upper, parent);
    this.#places[this.#placeOf(parent, this.#firstBlockOf(node))] = upper + 1;
    this.#length.set(node, this.#length.get(node) - blocks);
    this.#beginAt(node, run, skip + blocks);
    this.#place(node, upper);
    return upper;
  }

  #beginAt(node: number, from: number, blocks: number): void {
    let [run, skip] = [from, blocks];
    for (let count = this.#blocks.countOf(run); skip >= count; ) {
      skip -= count;
      run += 1;
      count = this.#blocks.countOf(run);
    }
    this.#run.set(node, run);
    this.#skip.set(node, skip);
  }

  /** How many blocks of the node the prompt has, from a run and without the first ids of it. */
  #commonWith(node: number, runs: readonly IdRun[], from: number, skipped: number): number {
    const most = this.#length.get(node);
    let [own, ownSkip] = [this.#run.get(node), this.#skip.get(node)];
    let [run, skip] = [from, skipped];
    let common = 0;
    while (common < most && run < runs.length) {
      const [first, count] = runs[run] as IdRun;
      if (first + skip !== this.#blocks.firstOf(own) + ownSkip) break;
      const ownCount = this.#blocks.countOf(own);
      const both = Math.min(count - skip, ownCount - ownSkip, most - common);
      common += both;
      skip += both;
      ownSkip += both;
      if (skip === count) [run, skip] = [run + 1, 0];
      if (ownSkip === ownCount) [own, ownSkip] = [own + 1, 0];
    }
    return common;
  }

  #firstBlockOf(node: number): number {
    return this.#blocks.firstOf(this.#run.get(node)) + this.#skip.get(node);
  }

  #childOf(parent: number, block: number): number | undefined {
    const found = this.#places[this.#placeOf(parent, block)] as number;
    return found === 0 ? undefined : found - 1;
  }

  #place(node: number, parent: number): void {
    this.#parent.set(node, parent);
    this.#children += 1;
    if (2 * this.#children > this.#places.length) this.#grow();
    this.#places[this.#placeOf(parent, this.#firstBlockOf(node))] = node + 1;
  }

  #grow(): void {
    const before = this.#places;
    this.#places = new Uint32Array(2 * before.length);
    for (const each of before) {
      if (each === 0) continue;
      const place = this.#placeOf(this.#parent.get(each - 1), this.#firstBlockOf(each - 1));
      this.#places[place] = each;
    }
  }

  /** Where the child is, or is to be. The number of places is a power of two. */
  #placeOf(parent: number, block: number): number {
    const mask = this.#places.length - 1;
    let place = mixed(parent, block) & mask;
    for (let each = this.#places[place] as number; each !== 0; ) {
      if (this.#parent.get(each - 1) === parent && this.#firstBlockOf(each - 1) === block) break;
      place = (place + 1) & mask;
      each = this.#places[place] as number;
    }
    return place;
  }
}

/** Ids come from traces, not from clients: no secret is needed. */
function mixed(parent: number, block: number): number {
  let word = Math.imul(parent, 0x9e3779b1) ^ Math.imul(block | 0, 0x85ebca6b);
  word ^= Math.imul(Math.floor(block / 0x1_0000_0000), 0xc2b2ae35);
  word = Math.imul(word ^ (word >>> 15), 0x2c1b3c6d);
  return (word ^ (word >>> 13)) >>> 0;
}
