import { describe, expect, it } from 'vitest';
import {
  type ExampleName,
  exampleOrSkip,
  startScheduler,
} from '../../bench/support/example-schedulers.ts';
import { checkScheduler } from '../../src/remote/contract/check-scheduler.ts';
import { remoteSessionOpener } from '../../src/remote/contract/remote-session.ts';
import { createRealRuntime } from '../../src/runtime/real-runtime.ts';

/** Checks the contract for each scheduler of deploy/examples/schedulers, run as a user does. */

const NAMES: readonly ExampleName[] = ['typescript', 'python', 'python-prefix', 'go'];
// One after another, because two of them install the same package.
const examples: { name: ExampleName; command: readonly string[] | undefined }[] = [];
for (const name of NAMES) examples.push({ name, command: await exampleOrSkip(name) });

describe.each(examples)('the example scheduler $name', ({ command }) => {
  it.skipIf(command === undefined)(
    '[C1..C11] keeps the rules that a picker relies on',
    async () => {
      const scheduler = await startScheduler(command ?? []);
      const runtime = createRealRuntime({ seed: 0 });
      const open = remoteSessionOpener({ address: scheduler.address, tls: undefined }, runtime);
      const results = await checkScheduler(open);
      await scheduler.stop();
      expect(results.filter(({ fault }) => fault !== undefined)).toEqual([]);
    },
  );
});
