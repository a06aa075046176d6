import { NumberColumn } from './number-column.ts';
import type { PromptTree } from './prompt-tree.ts';

/** A prompt's nodes in the tree, from its first block to its last. */
export interface WalkedPrompt {
  readonly nodes: readonly number[];
  /** For each node, how many blocks of the prompt lead to its end. */
  readonly ends: readonly number[];
  /** How many of its first blocks a prompt before it had, too. */
  readonly knownBlocks: number;
}

/** Goes through prompts in the order of arrival, and knows what earlier ones had. */
export class PrefixWalk {
  readonly #tree: PromptTree;
  readonly #seen = new NumberColumn(Uint8Array);
  /** How many different beginnings the prompts so far had, counted in blocks. */
  distinctBlocks = 0;

  constructor(tree: PromptTree) {
    this.#tree = tree;
  }

  /** `end`: the node at which the prompt ends. */
  next(end: number): WalkedPrompt {
    const nodes = this.#tree.pathTo(end);
    const ends: number[] = [];
    let [blocks, knownBlocks] = [0, 0];
    for (const node of nodes) {
      const length = this.#tree.lengthOf(node);
      blocks += length;
      ends.push(blocks);
      if (this.#seen.get(node) === 1) knownBlocks = blocks;
      else this.distinctBlocks += length;
      this.#seen.set(node, 1);
    }
    return { nodes, ends, knownBlocks };
  }
}
