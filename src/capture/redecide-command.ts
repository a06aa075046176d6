import { existsSync, readFileSync } from 'node:fs';
import { Command } from 'commander';
import { builtInCatalogue } from '../config/catalogue.ts';
import { NAMED_CONFIGS } from '../config/defaults.ts';
import { dataSources } from '../datalayer/data-sources.ts';
import { ConfigError } from '../framework/error.ts';
import type { ScorerDefinition } from '../framework/plugin.ts';
import { remote } from '../remote/remote.ts';
import { seededRandom } from '../runtime/seeded-random.ts';
import type { CapturedDecision } from './capture-record.ts';
import { readCapture } from './read-capture.ts';
import { type RunRedecision, redecide } from './redecide.ts';
import { sameDecision } from './redecider.ts';

interface RedecideFlags {
  readonly config?: string;
  readonly show: string;
  readonly json: boolean;
}

/** `pointsman redecide`. */
export function redecideCommand(scorers: readonly ScorerDefinition[]): Command {
  return new Command('redecide')
    .description('decide everything in a capture again, by its own configuration or another')
    .argument(
      '<capture>',
      'a folder that `pointsman serve --capture` has written, or one file of it',
    )
    .option('--config <file|name>', 'another configuration; the capture’s own without it')
    .option('--show <n>', 'so many of the decisions that differ', '10')
    .option('--json', 'print one JSON document', false)
    .action((path: string, { config, show, json }: RedecideFlags) => {
      const { records, warnings } = readCapture(path);
      const catalogue = builtInCatalogue(scorers, dataSources, [remote]);
      const given = config === undefined ? undefined : configOf(config);
      const tally = new Tally(Number(show));
      for (const each of redecide(records, { catalogue, config: given, randomOf: seededRandom })) {
        tally.add(each);
      }
      process.stdout.write(
        json ? `${JSON.stringify({ ...tally.summary(), warnings })}\n` : tally.text(),
      );
      if (!json) for (const warning of warnings) process.stderr.write(`warning: ${warning}\n`);
      // By its own configuration anything but the same is a fault of ours, or a capture that is not whole.
      if (config === undefined && tally.differ > 0) process.exitCode = 1;
    });
}

function configOf(name: string): { readonly text: string; readonly source: string } {
  const named = NAMED_CONFIGS.get(name);
  if (named !== undefined) return { text: named, source: `built-in configuration ${name}` };
  if (existsSync(name)) return { text: readFileSync(name, 'utf8'), source: name };
  const known = [...NAMED_CONFIGS.keys()].join(', ');
  const message = `${name} is neither a file nor one of ${known}`;
  throw new ConfigError('redecide', [{ path: '--config', message }]);
}

class Tally {
  decisions = 0;
  differ = 0;
  /** Same endpoint, another score. */
  #scoresAlone = 0;
  readonly #shown: RunRedecision[] = [];
  #runs = 0;
  readonly #showMax: number;
  readonly #byEndpoint = new Map<string, { was: number; is: number }>();

  constructor(showMax: number) {
    this.#showMax = showMax;
  }

  add(each: RunRedecision): void {
    this.decisions += 1;
    this.#runs = each.run;
    this.#count(each.was, 'was');
    this.#count(each.is, 'is');
    if (sameDecision(each.was, each.is)) return;
    this.differ += 1;
    if (placeOf(each.was) === placeOf(each.is)) this.#scoresAlone += 1;
    if (this.#shown.length < this.#showMax) this.#shown.push(each);
  }

  summary(): object {
    return {
      runs: this.#runs,
      decisions: this.decisions,
      identical: this.decisions - this.differ,
      sameEndpoint: this.decisions - this.differ + this.#scoresAlone,
      endpoints: Object.fromEntries(this.#byEndpoint),
      differing: this.#shown.map(({ run, n, was, is }) => ({ run, n, was, is })),
    };
  }

  text(): string {
    const share =
      this.decisions === 0 ? 100 : (100 * (this.decisions - this.differ)) / this.decisions;
    const elsewhere = this.differ - this.#scoresAlone;
    const runs = this.#runs > 1 ? ` of ${this.#runs} runs` : '';
    const lines = [
      `${this.decisions} decisions${runs}, ${share.toFixed(3)} % identical, ${elsewhere} to another endpoint`,
    ];
    if (this.differ > 0) {
      lines.push('', 'endpoint'.padEnd(32) + 'was'.padStart(10) + 'is'.padStart(10));
      for (const [id, { was, is }] of [...this.#byEndpoint].sort(([a], [b]) =>
        a.localeCompare(b),
      )) {
        lines.push(id.padEnd(32) + String(was).padStart(10) + String(is).padStart(10));
      }
      lines.push('', 'the first that differ: request, tokens, was → is');
      for (const { run, n, request, was, is } of this.#shown) {
        const place = this.#runs > 1 ? `run ${run}, ${n}` : n;
        lines.push(`  ${place}, ${request.promptTokens}: ${told(was)} → ${told(is)}`);
      }
    }
    return `${lines.join('\n')}\n`;
  }

  #count(decision: CapturedDecision, side: 'was' | 'is'): void {
    const place = placeOf(decision);
    const counts = this.#byEndpoint.get(place) ?? { was: 0, is: 0 };
    counts[side] += 1;
    this.#byEndpoint.set(place, counts);
  }
}

function placeOf(decision: CapturedDecision): string {
  return 'error' in decision ? `(${decision.error})` : decision.endpoint;
}

function told(decision: CapturedDecision): string {
  return 'error' in decision
    ? decision.error
    : `${decision.endpoint} (${decision.score.toFixed(4)})`;
}
