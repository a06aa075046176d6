import { parseArgs } from 'node:util';
import { envoyBinary } from '../support/stack.ts';
import { type LiveAgreement, measureAgreement } from './live.ts';

const HELP = `npm run bench -- agreement [options]

Sends requests through a real Envoy with two ext_proc filters: a picker that decides, and a Pointsman
with --observe. Compares each decision with what reference-default makes of the same inputs: the same
endpoint; a tie, as the score is the same; or explained by a scrape that lay between the two pickers.
POINTSMAN_REFERENCE_EPP names the reference picker's program; without it another Pointsman with
reference-default decides.

Ties and scrapes excuse much: the row of picks at random says how much. So the bound is on decisions
that allow one endpoint only, whatever scrape was read: ends with code 1 where less than 98 % of these
went there, or where there are fewer than a hundred.

  --requests <n>   requests (2000)
  --servers <n>    model servers, stubs (4)
  --clients <n>    clients at the same time (16)
  --seed <n>       of the requests (1)
  --in-charge <config>  what the stand-in decides by (reference-default); another one
                   shows what the bounds are worth
  --json           print one JSON document
`;

const SAME_MIN = 0.98;
/** With fewer, one decision is more than the bound leaves. */
const SOLE_MIN = 100;

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      requests: { type: 'string', default: '2000' },
      servers: { type: 'string', default: '4' },
      clients: { type: 'string', default: '16' },
      seed: { type: 'string', default: '1' },
      'in-charge': { type: 'string', default: 'reference-default' },
      json: { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
    },
  });
  if (values.help) {
    process.stdout.write(HELP);
    return;
  }
  const envoy = await envoyBinary();
  if (envoy === undefined) {
    process.exitCode = 2;
    return;
  }
  const result = await measureAgreement({
    envoy,
    reference: process.env['POINTSMAN_REFERENCE_EPP'] || undefined,
    requests: count('requests', values.requests),
    servers: count('servers', values.servers),
    clients: count('clients', values.clients),
    seed: count('seed', values.seed),
    standIn: values['in-charge'],
  });
  process.stdout.write(values.json ? `${JSON.stringify(result)}\n` : asText(result));
  const { sole } = result;
  if (sole.decisions < SOLE_MIN || sole.same < SAME_MIN * sole.decisions) process.exitCode = 1;
}

function count(name: string, text: string): number {
  const value = Number(text);
  if (Number.isSafeInteger(value) && value > 0) return value;
  throw new Error(`--${name} is ${JSON.stringify(text)}, and must be a whole number of at least 1`);
}

function asText(result: LiveAgreement): string {
  const { inCharge, decisions, same, ties, scrapes, others, byChance, sole } = result;
  const row = (what: string, number: number, of = decisions): string => {
    const percent = ((100 * number) / Math.max(1, of)).toFixed(2);
    return `  ${what.padEnd(44)}${String(number).padStart(6)}${percent.padStart(8)} %`;
  };
  return `${[
    `in charge: ${inCharge}`,
    row('decisions', decisions),
    row('the same endpoint', same),
    row('a tie: the same score, drawn at random', ties),
    row('a scrape lay between the two pickers', scrapes),
    row('not explained', others.length),
    row('of picks at random the same or explained', Math.round(byChance)),
    row('decisions that allow one endpoint only', sole.decisions),
    row('of these the same endpoint', sole.same, sole.decisions),
    ...(others.length === 0 ? [] : [`  requests not explained: ${others.slice(0, 20).join(', ')}`]),
  ].join('\n')}\n`;
}

await main();
