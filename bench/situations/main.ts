import { BASELINES } from '../policies/baselines.ts';
import { type Candidate, simulateCandidates } from '../policies/simulate-candidates.ts';
import { SimulationWorkers } from '../policies/simulation-workers.ts';
import { HELP, readOptions } from './options.ts';
import { type Outcome, outcomeOf, outcomeTable } from './outcome.ts';
import { SITUATIONS } from './situations.ts';

/** The default policy and others, untuned, in situations of many kinds: `npm run bench -- situations`. */
const options = readOptions();
/** Situations at a time, so that no worker waits for the last run of one of them. */
const AT_ONCE = 2;
const endsAt = performance.now() + 60_000 * options.minutes;

if (options.help) process.stdout.write(HELP);
else {
  const workers = new SimulationWorkers({ onDone: () => undefined });
  try {
    await run(workers);
  } finally {
    await workers.close();
  }
}

async function run(workers: SimulationWorkers): Promise<void> {
  const { draws, size, json, rivals } = options;
  const names = named(options.only);
  const candidates = [candidate('default', 'default'), ...rivals.map(rivalNamed)];
  const seeds = Array.from({ length: draws }, (_, index) => index + 1);
  const outcomes: Outcome[] = [];
  const left = [...names];
  const next = async (): Promise<void> => {
    for (let scenario = left.shift(); scenario !== undefined; scenario = left.shift()) {
      if (performance.now() >= endsAt) {
        process.stderr.write(`${scenario}: no time was left for it\n`);
        continue;
      }
      const simulateAll = workers.simulateAll.bind(workers);
      const found = await simulateCandidates(candidates, { scenario, seeds, size }, simulateAll);
      const outcome = outcomeOf(scenario, found);
      outcomes.push(outcome);
      process.stderr.write(`${scenario} ${outcome.ratios.mean.toFixed(3)}\n`);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, next));
  process.stdout.write(json ? `${JSON.stringify(outcomes)}\n` : outcomeTable(outcomes));
}

function named(only: readonly string[] | undefined): readonly string[] {
  const all = SITUATIONS.map(({ name }) => name);
  const unknown = only?.find((name) => !all.includes(name));
  if (unknown !== undefined)
    throw new Error(`no situation ${unknown}; there are ${all.join(', ')}`);
  return only ?? all;
}

function rivalNamed(name: string): Candidate {
  const config = BASELINES.find((each) => each.name === name)?.variants.get('');
  if (config === undefined)
    throw new Error(
      `no policy ${name}; there are ${BASELINES.map((each) => each.name).join(', ')}`,
    );
  return candidate(name, config);
}

function candidate(policy: string, config: string): Candidate {
  return { policy, variant: '', config };
}
