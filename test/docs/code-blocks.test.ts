import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, it, vi } from 'vitest';
import { parse, parseAllDocuments } from 'yaml';
import { scorers } from '../../scorers/index.ts';
import { catalogueOf, SERVING_CATALOGUE } from '../../src/catalogue/built-in-catalogue.ts';
import { dataSources } from '../../src/catalogue/data-sources.ts';
import { loadConfig } from '../../src/config/load.ts';
import { parseEndpoints } from '../../src/endpoints/discovery/file/parse-endpoints.ts';
import type { PluginCatalogue, ScorerDefinition } from '../../src/framework/plugin.ts';
import { readPool } from '../../src/lab/simulate/pool-file.ts';
import { promotionRule } from '../../src/promotion/promotion-rule.ts';
import { readPoolFile } from '../../stub-server/options/stub-pool-file.ts';
import { readText } from '../house/source-tree.ts';
import { type CodeBlock, codeBlocks, GUIDES, runDocumented, typeErrors } from './doc-code.ts';

const root = dirname(dirname(import.meta.dirname));
const blocks = GUIDES.flatMap(codeBlocks);
const place = ({ file, line }: CodeBlock): string => `${file}:${line}`;

describe('TypeScript blocks', () => {
  const typed = blocks.filter(({ language }) => language === 'ts');
  /** Where a block with relative imports stands. */
  const FOLDER = 'scorers';
  const expected = ({ code }: CodeBlock): readonly string[] =>
    [...code.matchAll(/^console\.log\(.*\); \/\/ → (.*)$/gm)].map(([, output = '']) => output);

  it('compile against the package under strict, and so does the example of a plugin', async () => {
    expect(typed.length).toBeGreaterThan(4);
    const file = 'deploy/examples/plugin/shortest-answer.ts';
    const example = { file, line: 0, language: 'ts', mark: '', code: readText(file) };
    expect(await typeErrors([...typed, example], FOLDER)).toEqual([]);
  });

  it('that print say what they print', () => {
    const printing = typed.filter(({ code }) => code.includes('console.log'));
    expect(printing.length).toBeGreaterThan(1);
    const silent = printing.filter(
      (block) => expected(block).length !== block.code.split('console.log').length - 1,
    );
    expect(silent.map(place)).toEqual([]);
  });

  it.each(typed.map((block) => [place(block), block] as const))('at %s run', async (_, block) => {
    const printed: string[] = [];
    const log = vi.spyOn(console, 'log').mockImplementation((value: unknown) => {
      const list = (values: readonly unknown[]): string => `[ '${values.join("', '")}' ]`;
      printed.push(Array.isArray(value) ? list(value) : String(value));
    });
    try {
      await runDocumented(block.code, FOLDER);
    } finally {
      log.mockRestore();
    }
    expect(printed).toEqual(expected(block));
  });
});

describe('YAML blocks', () => {
  const written = blocks.filter(({ language }) => language === 'yaml');

  /** All built-in types, and those that TypeScript blocks of the same page define. */
  async function catalogueFor(file: string): Promise<PluginCatalogue> {
    const own: ScorerDefinition[] = [];
    for (const { code } of codeBlocks(file).filter(({ language }) => language === 'ts')) {
      if (!code.includes('defineScorer')) continue;
      const exported = await runDocumented(code, 'scorers');
      const { plugins } = exported as {
        readonly plugins?: { readonly scorers: ScorerDefinition[] };
      };
      own.push(...(plugins?.scorers ?? (Object.values(exported) as ScorerDefinition[])));
    }
    return catalogueOf([...scorers, ...own], dataSources, SERVING_CATALOGUE.schedulers);
  }

  /** Deep: every part of `small` is somewhere in `large`. */
  function isWithin(small: unknown, large: unknown): boolean {
    if (Array.isArray(small)) {
      return (
        Array.isArray(large) && small.every((each) => large.some((one) => isWithin(each, one)))
      );
    }
    if (typeof small !== 'object' || small === null) return small === large;
    if (typeof large !== 'object' || large === null) return false;
    return Object.entries(small).every(([key, value]) =>
      isWithin(value, (large as Record<string, unknown>)[key]),
    );
  }

  function allLists(value: unknown): readonly (readonly unknown[])[] {
    if (typeof value !== 'object' || value === null) return [];
    const below = Object.values(value).flatMap(allLists);
    return Array.isArray(value) ? [value, ...below] : below;
  }

  async function load(block: CodeBlock): Promise<void> {
    const { file, mark, code } = block;
    const source = place(block);
    if (mark === 'fragment') return void parse(code);
    if (mark === 'envoy') {
      const lists = allLists(parse(readText('deploy/envoy.yaml')));
      return expect(
        lists.some((list) => isWithin(parse(code), list)),
        source,
      ).toBe(true);
    }
    if (mark === 'kubernetes') {
      for (const document of parseAllDocuments(code)) {
        const object: unknown = document.toJS();
        expect(object).toMatchObject({ apiVersion: expect.any(String), kind: expect.any(String) });
      }
      return;
    }
    if (code.includes('kind: EndpointPickerConfig')) {
      const { warnings } = loadConfig({ text: code, source, catalogue: await catalogueFor(file) });
      return expect(warnings).toEqual([]);
    }
    const keys = Object.keys(parse(code) as object);
    if (keys.includes('endpoints')) return void parseEndpoints(code, source);
    if (keys.includes('shadow')) return void promotionRule.parse(parse(code));
    if (keys.includes('servers')) {
      return void (file === 'docs/stub.md' ? readPoolFile(code, source) : readPool(code, source));
    }
    throw new Error(`${source} is no file of ours: mark it fragment, envoy or kubernetes`);
  }

  it.each(written.map((block) => [place(block), block] as const))(
    'at %s load',
    async (_, block) => {
      await load(block);
    },
  );

  it.each([
    ['configuration', 'mine.yaml'],
    ['configuration', 'pool.yaml'],
    ['configuration', 'rule.yaml'],
    ['model-servers', 'endpoints.yaml'],
    ['failing-servers', 'fallbacks.yaml'],
  ])('of docs/%s.md have the file %s of deploy/examples', (page, name) => {
    const shown = codeBlocks(`docs/${page}.md`).map(({ code }) => code);
    expect(shown).toContain(readText(`deploy/examples/${name}`));
  });
});

describe('shell blocks', () => {
  const lines = blocks
    .filter(({ language }) => language === 'sh')
    .flatMap((block) =>
      block.code
        .replaceAll('\\\n', ' ')
        .split('\n')
        .map((line) => [place(block), line.replace(/\s#\s.*$/, '')] as const),
    );

  it('and prose name scripts and benches that are there', () => {
    const { scripts } = JSON.parse(readText('package.json')) as {
      readonly scripts: Readonly<Record<string, string>>;
    };
    const benches = readText('bench/run.ts');
    const wrong = GUIDES.flatMap((file) => {
      const text = readText(file);
      const asked = [...text.matchAll(/npm run ([\w:-]+)(?: -- ([a-z][\w-]*))?/g)];
      return asked
        .filter(([, script = '', bench]) => {
          if (scripts[script] === undefined) return true;
          if (script !== 'bench' || bench === undefined) return false;
          return !new RegExp(`(?:'${bench}'|^\\s*${bench}:)`, 'm').test(benches);
        })
        .map(([all]) => `${file}: ${all}`);
    });
    expect(wrong).toEqual([]);
  });

  it('take files of deploy and bench that are there', () => {
    const wrong = lines.flatMap(([at, line]) =>
      (line.match(/(?<=\s)(?:deploy|bench)\/[\w./-]+/g) ?? [])
        .filter((path) => !existsSync(join(root, path)))
        .map((path) => `${at}: ${path}`),
    );
    expect(wrong).toEqual([]);
  });
});
