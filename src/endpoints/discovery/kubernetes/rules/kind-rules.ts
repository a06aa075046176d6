import type { Clock, Random } from '../../../../framework/runtime.ts';
import { apiStatusOf } from '../api/kubernetes-error.ts';
import type { PacedServer } from '../api/object-source.ts';
import { Informer, type InformerObserver, type ResourceSource } from '../watch/informer.ts';
import { Spaced } from '../watch/spaced.ts';
import type { Troubles } from '../watch/troubles.ts';
import type { Parsed, RuledPool, RuleObject } from './rule-objects.ts';
import { RuleSource, type RuleSourceOptions, type RuleVersion } from './rule-source.ts';

export interface KindParts {
  readonly server: PacedServer;
  /** Its labels may change: then `again` must be called. */
  readonly pool: RuledPool;
  readonly clock: Clock;
  readonly random: Random;
  /** Called where a kind may not be listed, which then is no trouble; undefined: it is one. */
  readonly onForbidden?: RuleSourceOptions['onForbidden'];
  /** Called, again at each list, with why objects of the former group do not count. */
  readonly onLeftOut?: RuleSourceOptions['onLeftOut'];
}

export type KindName = `${RuleSourceOptions['plural']}/${RuleVersion}`;

const [UNAUTHORIZED, FORBIDDEN] = [401, 403];

/** One kind in one version, and what becomes of its objects. */
export interface RuleKind<T> {
  readonly plural: RuleSourceOptions['plural'];
  readonly version: RuleVersion;
  readonly parse: (objects: Iterable<RuleObject>, pool: RuledPool) => Parsed<T>;
  readonly apply: (value: T) => void;
  /** Called when the kind is listed, or listing it is forbidden. */
  readonly settle: (kind: KindName) => void;
  readonly troubles: Troubles;
}

/** Keeps the rules of one kind equal to its objects. */
export class KindRules<T> {
  readonly #pool: RuledPool;
  readonly #kind: RuleKind<T>;
  readonly #name: KindName;
  readonly #edits: Spaced;
  readonly #informer: Informer<RuleObject>;
  #listed: ReadonlyMap<string, RuleObject> | undefined;

  constructor(parts: KindParts, kind: RuleKind<T>) {
    const { clock, random } = parts;
    const name: KindName = `${kind.plural}/${kind.version}`;
    this.#pool = parts.pool;
    this.#kind = kind;
    this.#name = name;
    this.#edits = new Spaced(clock);
    this.#informer = new Informer({
      source: settledIfForbidden(sourceOf(parts, kind), () => kind.settle(name)),
      clock,
      random: random.fork(name),
      observer: this.#observer(kind.troubles),
    });
  }

  get synced(): boolean {
    return this.#informer.synced;
  }

  /** Reads the objects again, if they are listed. */
  again(): void {
    this.#edits.run(this.#read);
  }

  stop(): void {
    this.#edits.stop();
    this.#informer.stop();
  }

  #observer(troubles: Troubles): InformerObserver<RuleObject> {
    const name = this.#name;
    return {
      onChange: (objects) => {
        this.#listed = objects;
        this.again();
      },
      onTrouble: (sentence) => troubles.set(`server of ${name}`, [sentence]),
      onRecovered: () => troubles.clear(`server of ${name}`),
      onLeftOut: (some) => {
        if (some) troubles.set(`room for ${name}`, [leftOut(name)]);
        else troubles.clear(`room for ${name}`);
      },
    };
  }

  readonly #read = (): void => {
    if (this.#listed === undefined) return;
    const { parse, apply, settle, troubles } = this.#kind;
    const parsed = parse(this.#listed.values(), this.#pool);
    apply(parsed.value);
    troubles.set(`objects of ${this.#name}`, parsed.troubles);
    settle(this.#name);
  };
}

function sourceOf<T>(
  { server, pool, clock, onForbidden, onLeftOut }: KindParts,
  { plural, version, troubles }: RuleKind<T>,
): ResourceSource<RuleObject> {
  return new RuleSource({
    server,
    namespace: pool.namespace,
    plural,
    version,
    clock,
    onForbidden,
    onLeftOut,
    onFormer: (sentence) =>
      troubles.set(`right of ${plural}/${version}`, sentence === undefined ? [] : [sentence]),
  });
}

function leftOut(name: KindName): string {
  return `some ${name} are left out, because they are too large or too many: split large ones, and delete those that no pool needs`;
}

/** A server that forbids a list will do so for long. One that does not answer may start soon. */
function settledIfForbidden(
  source: ResourceSource<RuleObject>,
  settle: () => void,
): ResourceSource<RuleObject> {
  return {
    watch: (resourceVersion, observer) => source.watch(resourceVersion, observer),
    list: (visit, signal) =>
      source.list(visit, signal).catch((error: unknown) => {
        const status = apiStatusOf(error instanceof Error ? error.cause : undefined);
        if (status === FORBIDDEN || status === UNAUTHORIZED) settle();
        throw error;
      }),
  };
}
