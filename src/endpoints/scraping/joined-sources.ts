import type { EndpointId } from '../../framework/endpoint.ts';
import type { EndpointWriter } from '../../framework/plugin.ts';

/** Where one of several sources puts what it reads of one endpoint. */
export interface SourcePart<Value, Written> {
  /** Writes what counts now, be it this value or that of another source. */
  take(value: Value): Written;
  /** The last page could not be read. */
  failed(): void;
  /** The source reads no more. */
  leave(): void;
}

interface Part<Value> {
  readonly order: number;
  value: Value | undefined;
  /** Then what the other sources have counts first. */
  hasFailed: boolean;
}

interface Joined<Value, Written> {
  /** By their order. */
  parts: readonly Part<Value>[];
  readonly write: (values: readonly Value[]) => Written;
}

/**
 * What the sources of one type read of each endpoint of each pool. The source of the lowest order
 * counts first, and one whose last page failed counts last. The order is a number, because the
 * order in which sources start changes when a reload starts one of them again.
 */
export class JoinedSources<Value, Written = void> {
  readonly #byPool = new WeakMap<EndpointWriter, Map<EndpointId, Joined<Value, Written>>>();
  readonly #writerOf: (
    pool: EndpointWriter,
    id: EndpointId,
  ) => (values: readonly Value[]) => Written;

  /** `writerOf` returns what writes into the pool what counts of these values: the first is first. */
  constructor(
    writerOf: (pool: EndpointWriter, id: EndpointId) => (values: readonly Value[]) => Written,
  ) {
    this.#writerOf = writerOf;
  }

  join(pool: EndpointWriter, id: EndpointId, order = 0): SourcePart<Value, Written> {
    const byEndpoint = this.#byPool.get(pool) ?? new Map<EndpointId, Joined<Value, Written>>();
    this.#byPool.set(pool, byEndpoint);
    const joined = byEndpoint.get(id) ?? { parts: [], write: this.#writerOf(pool, id) };
    byEndpoint.set(id, joined);
    const part: Part<Value> = { order, value: undefined, hasFailed: false };
    joined.parts = [...joined.parts, part].toSorted((a, b) => a.order - b.order);
    return {
      take: (value) => {
        part.value = value;
        part.hasFailed = false;
        return joined.write(valuesOf(joined.parts));
      },
      failed: () => {
        part.hasFailed = true;
      },
      leave: () => {
        joined.parts = joined.parts.filter((each) => each !== part);
        if (joined.parts.length === 0) byEndpoint.delete(id);
      },
    };
  }
}

function valuesOf<Value>(parts: readonly Part<Value>[]): readonly Value[] {
  const inOrder = [
    ...parts.filter(({ hasFailed }) => !hasFailed),
    ...parts.filter(({ hasFailed }) => hasFailed),
  ];
  return inOrder.flatMap(({ value }) => (value === undefined ? [] : [value]));
}
