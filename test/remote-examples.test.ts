import { describe, expect, it } from 'vitest';
import { checkScheduler } from '../src/remote/contract/check-scheduler.ts';
import { remoteSessionOpener } from '../src/remote/contract/remote-session.ts';
import { createRealRuntime } from '../src/runtime/real-runtime.ts';
import { type ExampleName, exampleOrSkip, startScheduler } from '../bench/support/example-schedulers.ts';

/** The schedulers of deploy/examples/schedulers, each run as a user would, against the contract. */

const NAMES: readonly ExampleName[] = ['typescript', 'python', 'python-prefix', 'go'];
// One after the other: two of them need the same installed.
const examples: { name: ExampleName; command: readonly string[] | undefined }[] = [];
for (const name of NAMES) examples.push({ name, command: await exampleOrSkip(name) });

describe.each(examples)('the example scheduler $name', ({ command }) => {
  it.skipIf(command === undefined)('[C1..C11] keeps what a picker relies on', async () => {
    const scheduler = await startScheduler(command ?? []);
    const runtime = createRealRuntime({ seed: 0 });
    const open = remoteSessionOpener({ address: scheduler.address, tls: undefined }, runtime);
    const results = await checkScheduler(open);
    await scheduler.stop();
    expect(results.filter(({ fault }) => fault !== undefined)).toEqual([]);
  });
});
