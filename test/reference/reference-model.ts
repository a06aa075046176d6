import { createHash } from 'node:crypto';

/** What the model knows of one endpoint. */
export interface ModelEndpoint {
  readonly name: string;
  readonly waiting: number;
  readonly kv: number;
  /** As the engine reports them; undefined before it does. */
  readonly blocks?: number;
}

interface Message {
  readonly role: string;
  readonly content: string | readonly { readonly type: string; readonly text: string }[];
}

/** A body as clients send it: a chat, or a completion with one prompt. */
export interface ModelBody {
  readonly model: string;
  readonly prompt?: string;
  readonly tools?: readonly object[];
  readonly messages?: readonly Message[];
}

const BLOCK_BYTES = 4 * 64;
const BLOCKS_MAX = 131_072 / 64;
const CAPACITY = 31_250;

/** The text that the reference cuts into blocks: tools as JSON, then each role and its content. */
function textOf({ prompt = '', tools, messages = [] }: ModelBody): string {
  const parts = messages.flatMap(({ role, content }) => [
    role,
    ...(typeof content === 'string' ? [content] : content.map(({ text }) => text)),
  ]);
  return [...(tools === undefined ? [] : [JSON.stringify(tools)]), ...parts, prompt].join('');
}

function chainOf(body: ModelBody): readonly string[] {
  const bytes = Buffer.from(textOf(body));
  const chain: string[] = [];
  let before = body.model;
  for (let at = 0; at < bytes.length && chain.length < BLOCKS_MAX; at += BLOCK_BYTES) {
    const content = bytes.subarray(at, at + BLOCK_BYTES);
    before = createHash('sha1').update(before).update(' ').update(content).digest('hex');
    chain.push(before);
  }
  return chain;
}

/**
 * The reference picker's default decision, from the body to the endpoints it may pick, written down
 * a second time from its description and without anything of the picker's.
 */
export class ReferenceModel {
  /** By endpoint, its blocks in the order in which they were last sent. */
  readonly #sent = new Map<string, Set<string>>();

  /**
   * How many blocks each endpoint holds up to the first that none holds, and how many there are.
   */
  match(
    body: ModelBody,
    endpoints: readonly ModelEndpoint[],
  ): { readonly matched: readonly number[]; readonly total: number } {
    const chain = chainOf(body);
    const held = (block: string, name: string): boolean =>
      this.#sent.get(name)?.has(block) === true;
    const end = chain.findIndex((block) =>
      [...this.#sent.values()].every((set) => !set.has(block)),
    );
    const known = end === -1 ? chain : chain.slice(0, end);
    const matched = endpoints.map(({ name }) => known.filter((block) => held(block, name)).length);
    return { matched, total: chain.length };
  }

  /** The endpoints with the highest sum of scores. */
  picks(body: ModelBody, endpoints: readonly ModelEndpoint[]): readonly number[] {
    const { matched, total } = this.match(body, endpoints);
    return bestOf(endpoints, matched, total);
  }

  sent(body: ModelBody, { name, blocks = CAPACITY }: ModelEndpoint): void {
    const set = this.#sent.get(name) ?? new Set<string>();
    this.#sent.set(name, set);
    for (const block of chainOf(body)) {
      set.delete(block);
      set.add(block);
      if (set.size > blocks) set.delete(set.values().next().value as string);
    }
  }
}

/** By the default weights: queue 2, KV memory 2, prefix 3. */
export function bestOf(
  endpoints: readonly ModelEndpoint[],
  matched: readonly number[],
  total: number,
): readonly number[] {
  const queues = endpoints.map(({ waiting }) => waiting);
  const [least, most] = [Math.min(...queues), Math.max(...queues)];
  const scores = endpoints.map(({ waiting, kv }, at) => {
    const queue = most === least ? 1 : (most - waiting) / (most - least);
    const prefix = total === 0 ? 0 : (matched[at] ?? 0) / total;
    return 2 * queue + 2 * (1 - kv) + 3 * prefix;
  });
  const best = Math.max(...scores);
  return scores.flatMap((score, at) => (score > best - 1e-9 ? [at] : []));
}
