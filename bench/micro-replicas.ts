import type { EmbeddedPicker } from '../src/library/create-picker.ts';
import { createPicker } from '../src/library/picker-maker.ts';
import type { OpenReplicaLink } from '../src/replicas/link.ts';
import { SimulatedNetwork } from '../src/replicas/simulated-network.ts';
import { SimulatedClock } from '../src/runtime/clock/simulated-clock.ts';

/**
 * Measures the CPU that sharing adds to a request, in one process with two pickers, in virtual time
 * and without sockets, and the bytes that it sends: `node bench/micro-replicas.ts`. Both ways are
 * measured in turn.
 */

const REQUESTS = 6000;
const CHAINS = 200;
const BLOCK_TOKENS = 64;
const ENDPOINTS = 8;
const ROUNDS = 5;
const FIRST_TOKEN_MS = 2.5;

interface Sent {
  bytes: number;
  messages: number;
}

/** As the network's, and counts what is sent. */
function countingLink(network: SimulatedNetwork, sent: Sent): OpenReplicaLink {
  return (id, events) => {
    const link = network.open(id, events);
    return {
      ...link,
      send: (message, to) => {
        sent.bytes += message.length;
        sent.messages += 1;
        return link.send(message, to);
      },
    };
  };
}

/** CPU microseconds of a request, for both pickers together. */
function measure(shares: boolean, blocks: number, sent: Sent = { bytes: 0, messages: 0 }): number {
  const clock = new SimulatedClock();
  const network = new SimulatedNetwork({ clock, delayMs: 1 });
  const pickers = ['a', 'b'].map((id, seed): EmbeddedPicker => {
    const picker = createPicker({
      seed,
      clock,
      ...(shares && { replica: { id, openLink: countingLink(network, sent) } }),
    });
    for (let n = 0; n < ENDPOINTS; n++) picker.addEndpoint({ id: `10.0.0.${n}:8000` });
    return picker;
  });
  clock.advanceTo(100);
  const chains = Array.from({ length: CHAINS }, (_, chain) =>
    Array.from({ length: blocks }, (_, block) => 1000 * chain + block),
  );
  const promptTokens = BLOCK_TOKENS * blocks + 10;
  const before = process.cpuUsage();
  for (let n = 0; n < REQUESTS; n++) {
    const blockIds = chains[n % CHAINS] ?? [];
    const routed = pickers[n % pickers.length]?.route({ model: 'm', promptTokens, blockIds });
    clock.advanceTo(clock.now() + FIRST_TOKEN_MS);
    routed?.firstToken();
    routed?.done('completed', { promptTokens, completionTokens: 100, cachedTokens: 0 });
  }
  const { user, system } = process.cpuUsage(before);
  for (const picker of pickers) picker.stop();
  return (user + system) / REQUESTS;
}

measure(false, 8);
measure(true, 8);
for (const blocks of [4, 40]) {
  const sent: Sent = { bytes: 0, messages: 0 };
  const added = Array.from({ length: ROUNDS }, () => {
    const apart = measure(false, blocks);
    return measure(true, blocks, sent) - apart;
  }).toSorted((a, b) => a - b);
  const [least = 0, , median = 0] = added;
  process.stdout.write(
    `${blocks} blocks: sharing adds ${median.toFixed(1)} µs to a request (median of ${ROUNDS} rounds; ` +
      `${least.toFixed(1)} to ${(added.at(-1) ?? 0).toFixed(1)})\n`,
  );
  const requests = ROUNDS * REQUESTS;
  process.stdout.write(
    `  ${(sent.bytes / requests).toFixed(0)} bytes and ${(sent.messages / requests).toFixed(2)} messages a request\n`,
  );
}
