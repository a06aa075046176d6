import { type Answer, factsOf } from './answer-facts.ts';

/** A difference that is known, and why it is there. */
export interface KnownDifference {
  /** The side whose answers alone have the fact; either side where it is left out. */
  readonly whose?: Difference['whose'];
  /** The facts; all of them where it is left out. */
  readonly fact?: RegExp;
  /** The requests; all of them where it is left out. */
  readonly requests?: RegExp;
  readonly why: string;
}

/** A fact that the answers of one server have, and those of the other have not. */
export interface Difference {
  readonly whose: 'theirs' | 'ours';
  readonly fact: string;
  /** Names of the requests. */
  readonly requests: readonly string[];
}

export interface Compared {
  readonly requests: number;
  readonly known: ReadonlyMap<KnownDifference, readonly Difference[]>;
  readonly unknown: readonly Difference[];
}

/** Compares the answers of two servers to the same requests, by the names of these. */
export function compareAnswers(
  theirs: ReadonlyMap<string, Answer>,
  ours: ReadonlyMap<string, Answer>,
  known: readonly KnownDifference[],
): Compared {
  const explained = new Map<KnownDifference, Map<string, Gathered>>();
  const unknown = new Map<string, Gathered>();
  for (const [request, answer] of theirs) {
    const other = ours.get(request);
    if (other === undefined) continue;
    for (const { whose, fact } of differencesOf(answer, other)) {
      const why = known.find((each) => explains(each, { whose, fact }, request));
      let group = unknown;
      if (why !== undefined) {
        group = explained.get(why) ?? new Map();
        explained.set(why, group);
      }
      gather(group, whose, fact, request);
    }
  }
  return {
    requests: theirs.size,
    known: new Map([...explained].map(([why, group]) => [why, [...group.values()]])),
    unknown: [...unknown.values()],
  };
}

interface Gathered extends Difference {
  readonly requests: string[];
}

type Found = Pick<Difference, 'whose' | 'fact'>;

function differencesOf(theirs: Answer, ours: Answer): readonly Found[] {
  const [left, right] = [factsOf(theirs), factsOf(ours)];
  const only = (whose: Found['whose'], from: ReadonlySet<string>, other: ReadonlySet<string>) =>
    [...from].filter((fact) => !other.has(fact)).map((fact) => ({ whose, fact }));
  return [...only('theirs', left, right), ...only('ours', right, left)];
}

function explains(known: KnownDifference, { whose, fact }: Found, request: string): boolean {
  if (known.whose !== undefined && known.whose !== whose) return false;
  return (known.fact?.test(fact) ?? true) && (known.requests?.test(request) ?? true);
}

function gather(
  group: Map<string, Gathered>,
  whose: Found['whose'],
  fact: string,
  request: string,
): void {
  const key = `${whose} ${fact}`;
  const gathered = group.get(key) ?? { whose, fact, requests: [] };
  gathered.requests.push(request);
  group.set(key, gathered);
}
