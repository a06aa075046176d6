/** The text of a sequence as blocks of the KV cache. */
export interface BlockChain {
  /**
   * A chained hash of at most 53 bits for each full block: equal hashes mean equal text from the
   * start. Those beyond the prompt name the answer; a block without one is not found again.
   */
  readonly blockHashes: ArrayLike<number>;
  /** The tokens behind `blockHashes`, for KV events. The engine does not read them. */
  readonly tokenIds?: ArrayLike<number> | undefined;
  readonly lora?: string | undefined;
}

/** KV from another engine or from host memory. Its memory is taken before the transfer. */
export interface RemoteKv {
  /** Leading tokens that have KV once it is here. */
  readonly tokens: number;
  /** Transfers `tokens` tokens into memory already taken, then calls `ready` or `fail`, once. */
  readonly start: (tokens: number, ready: () => void, fail: () => void) => void;
}

/** What the KV cache reads of a sequence, and the fields that only it changes. */
export interface CachedSequence {
  readonly request: BlockChain;
  /** Tokens that must have KV before the next token can come. */
  readonly targetTokens: number;
  /** KV that another engine offers. */
  readonly peerKv: RemoteKv | undefined;
  readonly remoteKv: 'none' | 'coming' | 'here';

  /** Tokens with KV: of the prompt and, after a preemption, of the answer so far. */
  computedTokens: number;
  blocks: number[];
  /** Number of leading blocks with known content. */
  identifiedBlocks: number;
  /** Above 0 once it was preempted where engines name the blocks that have no hash. */
  ownName: number;
  /** Where KV comes from before the sequence is computed: another engine or host memory. */
  remote: RemoteKv | undefined;
}
