import { PRESETS } from '../../../stub-server/presets/presets.ts';
import { ConfigError } from '../../framework/error.ts';
import { ROLE_LABEL } from '../../framework/roles.ts';
import { type PoolSpec, presetServer, type ServerSpec } from './pool-spec.ts';

type Servers = readonly ServerSpec[];

interface Change {
  readonly pattern: RegExp;
  /** `found` has the matches of the pattern's groups. */
  readonly apply: (servers: Servers, found: readonly string[]) => Servers;
}

const CHANGES: readonly Change[] = [
  {
    pattern: /^add-replica(?:=(\d+))?$/,
    apply: (servers, [count = '1']) => resized(servers, servers.length + Number(count)),
  },
  {
    pattern: /^remove-replica(?:=(\d+))?$/,
    apply: (servers, [count = '1']) => resized(servers, servers.length - Number(count)),
  },
  { pattern: /^replicas=(\d+)$/, apply: (servers, [count]) => resized(servers, Number(count)) },
  {
    pattern: /^kv[×x*](\d*\.?\d+)$/,
    apply: (servers, [factor]) =>
      each(servers, ({ kvTokens }) => ({ kvTokens: Math.round(kvTokens * timesOf(factor)) })),
  },
  {
    pattern: /^speed[×x*](\d*\.?\d+)$/,
    apply: (servers, [factor]) =>
      each(servers, ({ slowdown = 1 }) => ({ slowdown: slowdown / timesOf(factor) })),
  },
  {
    pattern: /^prefill:decode=(\d+):(\d+)$/,
    apply: (servers, [prefill, decode]) =>
      each(resized(servers, Number(prefill) + Number(decode)), ({ labels }, index) => ({
        labels: { ...labels, [ROLE_LABEL]: index < Number(prefill) ? 'prefill' : 'decode' },
      })),
  },
  {
    pattern: /^preset=(.+)$/,
    apply: (servers, [name = '']) => {
      const preset = Object.keys(PRESETS).find((known) => known === name);
      if (preset === undefined) {
        const known = Object.keys(PRESETS).join(', ');
        throw changeError(name, `is not a preset; the presets are ${known}`);
      }
      return each(servers, () => presetServer(preset as keyof typeof PRESETS));
    },
  },
];

function each(
  servers: Servers,
  change: (server: ServerSpec, index: number) => Partial<ServerSpec>,
): Servers {
  return servers.map((server, index) => ({ ...server, ...change(server, index) }));
}

/** More shapes than this in a sweep are taken for a mistake. */
const SHAPES_MAX = 64;
/** The limit of `count` in a pool file. */
const SERVERS_MAX = 10_000;
const RANGE = /^(.*?[=×x*])(\d+)\.\.(\d+)(?::(\d+))?$/;

/**
 * The shapes of a sweep, each as `reshape` takes it: `replicas=4..12:2` has five, and `+` combines
 * changes. Throws ConfigError for a change that cannot be read and for more than 64 shapes.
 */
export function shapesOf(sweep: string): readonly string[] {
  let shapes: readonly string[] = [''];
  for (const part of sweep.split('+')) {
    const options = expanded(part);
    shapes = shapes.flatMap((shape) =>
      options.map((option) => (shape === '' ? option : `${shape}+${option}`)),
    );
    if (shapes.length > SHAPES_MAX) throw tooMany(sweep);
  }
  return shapes;
}

/**
 * A pool after the changes of a shape, if any. A larger pool has the same mix of servers. Faults
 * stay at the index of their server, if it exists. Throws ConfigError for an impossible size.
 */
export function reshape(pool: PoolSpec, shape: string | undefined): PoolSpec {
  if (shape === undefined) return pool;
  const { servers, faults } = pool;
  const placeOf = new Map(servers.map(({ id }, place) => [id, place]));
  const changed = shape
    .split('+')
    .reduce<Servers>((before, part) => changeOf(part)(before), servers)
    .map((server, place) => ({ ...server, id: `server-${place}` }));
  return {
    servers: changed,
    faults: faults.flatMap((fault) => {
      const server = changed[placeOf.get(fault.server) ?? -1];
      return server === undefined ? [] : [{ ...fault, server: server.id }];
    }),
  };
}

function expanded(part: string): readonly string[] {
  const range = RANGE.exec(part);
  if (range === null) {
    changeOf(part);
    return [part];
  }
  const [, name = '', from, to, step = '1'] = range;
  const count = Math.floor((Number(to) - Number(from)) / Number(step)) + 1;
  if (!(count >= 1)) throw changeError(part, 'is an empty range; give the smaller number first');
  if (count > SHAPES_MAX) throw tooMany(part);
  return Array.from({ length: count }, (_, at) => {
    const shape = `${name}${Number(from) + at * Number(step)}`;
    changeOf(shape);
    return shape;
  });
}

function changeOf(part: string): (servers: Servers) => Servers {
  for (const { pattern, apply } of CHANGES) {
    const found = pattern.exec(part)?.slice(1);
    if (found !== undefined) return (servers) => apply(servers, found);
  }
  throw changeError(
    part,
    'is none of add-replica, remove-replica, replicas=4..12, kv×2, speed×1.5, prefill:decode=2:6, preset=NAME',
  );
}

/** Repeats or drops servers evenly, so that the mix stays the same. */
function resized(servers: Servers, count: number): Servers {
  if (count < 1 || count > SERVERS_MAX) {
    const message = `must be 1 to ${SERVERS_MAX}; the pool has ${servers.length}`;
    throw changeError(`${count} servers`, message);
  }
  return Array.from({ length: count }, (_, index) => {
    const like = Math.floor((index * servers.length) / count);
    return servers[like] as ServerSpec;
  });
}

function timesOf(factor = ''): number {
  const times = Number(factor);
  if (times > 0) return times;
  throw changeError(`×${factor}`, 'must be above 0');
}

function tooMany(sweep: string): ConfigError {
  return changeError(sweep, `has more than ${SHAPES_MAX} shapes; split it or use larger steps`);
}

function changeError(change: string, message: string): ConfigError {
  return new ConfigError('--what-if', [{ path: change, message }]);
}
