import type { RemovedEvent, StoredEvent } from '../messages/cache-event.ts';

/** Attention that keeps the whole prefix. With others, a block found does not make it usable. */
const WHOLE_PREFIX: ReadonlySet<string> = new Set([
  'full_attention',
  'mla_attention',
  'sink_full_attention',
]);
/** The kinds of attention that are kept for an endpoint's groups; models have a handful. */
const GROUPS_MAX = 64;

/** An engine's groups of KV caches, of which one counts: the first whose blocks name a prefix. */
export class CacheGroups {
  /** The group that counts; undefined until an event names one. */
  #group: number | undefined;
  /** The kind of attention of each group, as far as events have named it. */
  readonly #kinds = new Map<number, string>();

  /** Why an event stores no blocks that a prompt can be matched with. */
  whySkipped(event: StoredEvent): string | undefined {
    const { group, groupKind, hashes, tokenIds, blockTokens } = event;
    if (group !== undefined && groupKind !== undefined && this.#kinds.size < GROUPS_MAX) {
      this.#kinds.set(group, groupKind);
    }
    const kind = this.kindOf(event);
    if (kind !== undefined && !WHOLE_PREFIX.has(kind)) return 'unsupported_cache_kind';
    if (group === undefined) return undefined;
    this.#group ??= group;
    if (group !== this.#group) return 'other_group';
    // A group may name the last blocks of a window, with the tokens of all before them.
    const spanned = (hashes.length / 2) * blockTokens;
    return tokenIds.length > spanned ? 'non_dense_block_span' : undefined;
  }

  /** Why an event removes no blocks that counted. */
  whyNotRemoved(event: RemovedEvent): string | undefined {
    const kind = this.kindOf(event);
    if (kind !== undefined && !WHOLE_PREFIX.has(kind)) return 'unsupported_cache_kind';
    return event.group === undefined || event.group === this.#group ? undefined : 'unknown_group';
  }

  /** The kind of attention of an event's group, where this or an earlier event has named it. */
  kindOf({ group, groupKind }: Pick<StoredEvent, 'group' | 'groupKind'>): string | undefined {
    return groupKind ?? (group === undefined ? undefined : this.#kinds.get(group));
  }
}
