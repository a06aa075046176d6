import { randomUUID } from 'node:crypto';
import { resolve } from 'node:path';
import { packageFile } from '../src/files/folders.ts';
import type { EmbeddedPicker, PickerOptions } from '../src/library/create-picker.ts';
import type { LinkEvents, OpenReplicaLink } from '../src/replicas/links/link.ts';
import type { SimulatedClock } from '../src/runtime/clock/simulated-clock.ts';
import { parseOptions } from './support/parse-options.ts';

const HELP = `node bench/micro-replicas.ts [options]

What sharing adds to the CPU of a request, in one process, in virtual time and without sockets: where the request is sent
(\`sends\`), and at each other replica, which books it (\`books\`). Requests come at a steady rate, and have their first
token and their end later: in other batches, where they take longer than a batch. Prints the median of the rounds, the least and the most.

  --against <dir>  another checkout of the project: both are measured in turn, and the ratio is printed, too
  --rounds <n>     (9)
  --blocks <n,…>   blocks of a prompt (4,40)
  --length-ms <n>  how long a request takes (400); its first token comes after a fifth of it
`;

const REQUESTS = 6000;
const CHAINS = 200;
const BLOCK_TOKENS = 64;
const ENDPOINTS = 8;
/** Requests come so far apart. */
const APART_MS = 0.5;

const { values } = parseOptions({
  options: {
    help: { type: 'boolean', default: false },
    against: { type: 'string' },
    rounds: { type: 'string', default: '9' },
    blocks: { type: 'string', default: '4,40' },
    'length-ms': { type: 'string', default: '400' },
  },
});
const LENGTH_MS = Number(values['length-ms']);
const FIRST_TOKEN_MS = LENGTH_MS / 5;

/** What is measured of a checkout. */
interface Side {
  readonly createPicker: (options: PickerOptions) => EmbeddedPicker;
  readonly SimulatedClock: new () => SimulatedClock;
}

async function sideOf(folder: string): Promise<Side> {
  const from = (path: string): string => resolve(folder, 'src', path);
  const { createPicker } = await import(from('library/picker-maker.ts'));
  const { SimulatedClock } = await import(from('runtime/clock/simulated-clock.ts'));
  return { createPicker, SimulatedClock };
}

/** What one replica has sent, and when. */
interface Sent {
  readonly at: number;
  readonly message: Uint8Array;
}

/** What a link here has nothing to do for. */
const QUIET = {
  pause: (): void => undefined,
  resume: (): void => undefined,
  close: (): Promise<void> => Promise.resolve(),
};

function pickerOf(side: Side, clock: SimulatedClock, openLink?: OpenReplicaLink): EmbeddedPicker {
  const id = randomUUID();
  const picker = side.createPicker({
    seed: 1,
    clock,
    ...(openLink && { replica: { id, openLink } }),
  });
  for (let n = 0; n < ENDPOINTS; n++) picker.addEndpoint({ id: `10.0.0.${n}:8000` });
  return picker;
}

function cpuMicros(): number {
  const { user, system } = process.cpuUsage();
  return user + system;
}

/** CPU microseconds of a request where it is sent, and the messages. */
function send(
  side: Side,
  blocks: number,
  shares: boolean,
): { micros: number; sent: readonly Sent[] } {
  const sent: Sent[] = [];
  const clock = new side.SimulatedClock();
  const openLink: OpenReplicaLink = (_id, events) => {
    clock.setTimer(0, () => events.onConnected());
    return {
      send: (message) => sent.push({ at: clock.now(), message: message.slice() }) > 0,
      ...QUIET,
    };
  };
  const picker = pickerOf(side, clock, shares ? openLink : undefined);
  clock.advanceTo(100);
  const chains = Array.from({ length: CHAINS }, (_, chain) =>
    Array.from({ length: blocks }, (_, block) => 1000 * chain + block),
  );
  const promptTokens = BLOCK_TOKENS * blocks + 10;
  const usage = { promptTokens, completionTokens: 100, cachedTokens: 0 };
  const before = cpuMicros();
  for (let n = 0; n < REQUESTS; n++) {
    const blockIds = chains[n % CHAINS] ?? [];
    const routed = picker.route({ model: 'm', promptTokens, blockIds });
    clock.setTimer(FIRST_TOKEN_MS, () => routed.firstToken());
    clock.setTimer(LENGTH_MS, () => routed.done('completed', usage));
    clock.advanceTo(clock.now() + APART_MS);
  }
  clock.advanceTo(clock.now() + LENGTH_MS + 100);
  const micros = (cpuMicros() - before) / REQUESTS;
  picker.stop();
  return { micros, sent };
}

/** CPU microseconds of a request at a replica that gets these messages. */
function book(side: Side, sent: readonly Sent[]): number {
  let events: LinkEvents | undefined;
  const openLink: OpenReplicaLink = (_id, taken) => {
    events = taken;
    return { send: () => true, ...QUIET };
  };
  const clock = new side.SimulatedClock();
  const picker = pickerOf(side, clock, openLink);
  clock.advanceTo(50);
  events?.onConnected();
  const before = cpuMicros();
  for (const { at, message } of sent) {
    clock.advanceTo(Math.max(clock.now(), at));
    events?.onMessage(message);
  }
  const micros = (cpuMicros() - before) / REQUESTS;
  picker.stop();
  return micros;
}

const sorted = (numbers: readonly number[]): readonly number[] => numbers.toSorted((a, b) => a - b);
const median = (numbers: readonly number[]): number =>
  sorted(numbers)[Math.floor(numbers.length / 2)] ?? Number.NaN;
const text = (numbers: readonly number[], digits: number): string => {
  const [least = 0] = sorted(numbers);
  const range = `${least.toFixed(digits)} to ${(sorted(numbers).at(-1) ?? 0).toFixed(digits)}`;
  return `${median(numbers).toFixed(digits)} (${range})`;
};

/** The figures of one round. */
interface Round {
  readonly sends: number;
  readonly books: number;
  readonly sent: readonly Sent[];
}

function measure(side: Side, blocks: number): Round {
  const apart = send(side, blocks, false).micros;
  const { micros, sent } = send(side, blocks, true);
  return { sends: micros - apart, books: book(side, sent), sent };
}

async function main(): Promise<void> {
  if (values.help) return void process.stdout.write(HELP);
  const here = await sideOf(packageFile(''));
  const other = values.against === undefined ? undefined : await sideOf(values.against);
  for (const blocks of values.blocks.split(',').map(Number)) {
    const rounds: Round[] = [];
    const others: Round[] = [];
    for (let round = 0; round <= Number(values.rounds); round++) {
      const [mine, its] = [measure(here, blocks), other && measure(other, blocks)];
      // The first one compiles.
      if (round === 0) continue;
      rounds.push(mine);
      if (its !== undefined) others.push(its);
    }
    process.stdout.write(
      `${blocks} blocks, µs a request: sends ${text(
        rounds.map((r) => r.sends),
        1,
      )}, `,
    );
    process.stdout.write(
      `books ${text(
        rounds.map((r) => r.books),
        1,
      )}\n`,
    );
    const sent = rounds[0]?.sent ?? [];
    const bytes = sent.reduce((sum, { message }) => sum + message.length, 0);
    process.stdout.write(
      `  ${(bytes / REQUESTS).toFixed(0)} bytes and ${(sent.length / REQUESTS).toFixed(3)} messages a request\n`,
    );
    if (others.length === 0) continue;
    const sends = `sends ${text(
      others.map((r) => r.sends),
      1,
    )}`;
    const ratios = rounds.map((round, at) => round.books / (others[at]?.books ?? Number.NaN));
    process.stdout.write(
      `  there: ${sends}, books ${text(
        others.map((r) => r.books),
        1,
      )}; `,
    );
    process.stdout.write(`books here over there ${text(ratios, 3)}\n`);
  }
}

await main();
