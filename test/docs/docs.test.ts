import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { describe, expect, it, vi } from 'vitest';
import { parse, parseAllDocuments } from 'yaml';
import { scorers } from '../../scorers/index.ts';
import { catalogueOf, SERVING_CATALOGUE } from '../../src/catalogue/built-in-catalogue.ts';
import { dataSources } from '../../src/catalogue/data-sources.ts';
import { loadConfig } from '../../src/config/load.ts';
import { parseEndpoints } from '../../src/endpoints/discovery/file/parse-endpoints.ts';
import type { PluginCatalogue, ScorerDefinition } from '../../src/framework/plugin.ts';
import { promotionRule } from '../../src/lab/promotion/promotion-rule.ts';
import { readPool } from '../../src/lab/simulate/pool-file.ts';
import { readPoolFile } from '../../stub-server/options/stub-pool-file.ts';
import { allFiles, readText } from '../house/source-tree.ts';
import { PROGRAM } from '../support/programs/program.ts';
import { configurationReferencePage } from './configuration-reference-page.ts';
import { type CodeBlock, codeBlocks, runDocumented, typeErrors } from './doc-code.ts';
import { allCommands, referencePage } from './reference-page.ts';

const root = dirname(dirname(import.meta.dirname));
const pages = allFiles().filter((path) => path.endsWith('.md'));
/** Pages about the present. CHANGELOG and decisions keep the names of their time. */
const guides = pages.filter((path) => !/^(?:CHANGELOG|docs\/decisions\/)/.test(path));
const blocks = guides.flatMap(codeBlocks);
const place = ({ file, line }: CodeBlock): string => `${file}:${line}`;

describe('docs/security.md', () => {
  const spec = readText('SPEC.md');
  const claims = [
    ...readText('docs/security.md').matchAll(/^\| (.+?) \| ((?:V\d+ ?)+) *\| (.+) \|$/gm),
  ].map(([, claim = '', rules = '', tests = '']) => ({
    claim: claim.trim(),
    rules: rules.trim().split(' '),
    tests: [...tests.matchAll(/\(\.\.\/([^)]+)\)/g)].map(([, path = '']) => readText(path)),
  }));

  it('has claims about every kind of peer', () => {
    expect(claims.length).toBeGreaterThan(40);
  });

  it.each(claims)('$claim: names rules, and tests that hold them', ({ rules, tests }) => {
    for (const rule of rules) {
      expect(spec).toContain(`**${rule}**`);
      expect(tests.some((test) => test.includes(`[${rule}]`))).toBe(true);
    }
  });
});

describe('links', () => {
  /** GitHub's: lower case, no punctuation, a hyphen for each space. */
  const anchorOf = (heading: string): string =>
    heading
      .replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1')
      .trim()
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
      .replaceAll(/\s/g, '-');

  const prose = (path: string): string =>
    readText(path).replaceAll(/^[ \t]*```[\s\S]*?^[ \t]*```/gm, '');

  const anchors = new Map(
    pages.map((path) => {
      const headings = [...prose(path).matchAll(/^#+ (.*)$/gm)].map(([, text = '']) =>
        anchorOf(text),
      );
      return [path, new Set(headings)];
    }),
  );

  function fault(path: string, link: string): string | undefined {
    const [target = '', anchor] = link.split('#');
    const file = target === '' ? path : normalize(join(dirname(path), target));
    if (!existsSync(join(root, file))) return `${path}: ${link} is not there`;
    if (anchor === undefined || anchors.get(file)?.has(anchor) === true) return undefined;
    return `${path}: ${link} has no such heading`;
  }

  it('are looked at on every page', () => {
    expect(guides.length).toBeGreaterThan(20);
  });

  it.each(pages)('of %s lead to files and headings that are there', (path) => {
    const links = [...prose(path).matchAll(/\]\((?!https?:|mailto:)([^)\s]+)\)/g)];
    const faults = links.map(([, link = '']) => fault(path, link));
    expect(faults.filter((each) => each !== undefined)).toEqual([]);
  });

  it('lead from docs/README.md to every page of docs', () => {
    const index = readText('docs/README.md');
    const own = pages.filter((path) => /^docs\/[^/]+\.md$/.test(path) && path !== 'docs/README.md');
    expect(own.filter((path) => !index.includes(`](${path.slice('docs/'.length)}`))).toEqual([]);
  });
});

describe('TypeScript blocks', () => {
  const typed = blocks.filter(({ language }) => language === 'ts');
  /** Where a block with relative imports stands. */
  const FOLDER = 'scorers';
  const expected = ({ code }: CodeBlock): readonly string[] =>
    [...code.matchAll(/^console\.log\(.*\); \/\/ → (.*)$/gm)].map(([, output = '']) => output);

  it('compile against the package under strict, and so does the example of a plugin', {
    timeout: 60_000,
  }, () => {
    expect(typed.length).toBeGreaterThan(4);
    const file = 'deploy/examples/plugin/shortest-answer.ts';
    const example = { file, line: 0, language: 'ts', mark: '', code: readText(file) };
    expect(typeErrors([...typed, example], FOLDER)).toEqual([]);
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

  it('of docs/configuration.md are the files of deploy/examples', () => {
    const shown = codeBlocks('docs/configuration.md').map(({ code }) => code);
    for (const name of [
      'mine.yaml',
      'fallbacks.yaml',
      'endpoints.yaml',
      'pool.yaml',
      'rule.yaml',
    ]) {
      expect(shown).toContain(readText(`deploy/examples/${name}`));
    }
  });
});

describe('deploy/examples', () => {
  const examples = join(root, 'deploy/examples');
  const run = (...args: readonly string[]): string =>
    execFileSync(process.execPath, [PROGRAM, ...args], {
      cwd: examples,
      encoding: 'utf8',
    });

  it('check and simulate as they are', () => {
    expect(run('check', 'mine.yaml')).toMatch(/^ok\n/);
    expect(run('check', 'fallbacks.yaml')).toMatch(/^ok\n/);
    const trace = '../../bench/traces/mooncake-conversation-5min.jsonl';
    const configs = ['--config', 'default', '--config', 'mine.yaml'];
    const table = run('simulate', '--trace', trace, '--pool', 'pool.yaml', ...configs);
    expect(table).toMatch(/^default .*\nmine\.yaml .* %$/m);
  });

  it('have a plugin that decides beside the built-in ones', () => {
    const plugin = ['--plugin', 'plugin/shortest-answer.ts'];
    expect(run('check', 'plugin/config.yaml', ...plugin)).toContain('shortest-answer-scorer');
  });

  it('have a rule for the configuration beside it, with the defaults and nothing else', () => {
    const rule = promotionRule.parse(parse(readText('deploy/examples/rule.yaml')));
    expect(existsSync(join(examples, rule.shadow))).toBe(true);
    expect(rule).toEqual(promotionRule.parse({ shadow: rule.shadow }));
  });

  it('have endpoints with labels, a role, objectives and rewrites', () => {
    const { endpoints, priorities, rewrites } = parseEndpoints(
      readText('deploy/examples/endpoints.yaml'),
      'endpoints.yaml',
    );
    expect(endpoints.map(({ labels }) => Object.fromEntries(labels))).toEqual([
      { zone: 'a' },
      { zone: 'b' },
      { 'llm-d.ai/role': 'prefill' },
    ]);
    expect([priorities.size, rewrites.length]).toEqual([2, 1]);
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

  function unknownFlags(line: string): readonly string[] {
    const [, typed = ''] = /npx pointsman (.*)$/.exec(line) ?? [];
    if (typed === '' || typed.startsWith('<')) return [];
    const matching = allCommands().filter(({ name }) => `${typed} `.startsWith(`${name} `));
    const [found] = matching;
    if (found === undefined) return [`no command: ${typed}`];
    const known = new Set(found.command.options.flatMap(({ long }) => long ?? []));
    return (typed.match(/(?<=\s)--[a-z][a-z-]*/g) ?? []).filter((flag) => !known.has(flag));
  }

  it('name commands and flags that are there', () => {
    const wrong = lines.flatMap(([at, line]) => unknownFlags(line).map((flag) => `${at}: ${flag}`));
    expect(wrong).toEqual([]);
  });

  it('and prose name scripts and benches that are there', () => {
    const { scripts } = JSON.parse(readText('package.json')) as {
      readonly scripts: Readonly<Record<string, string>>;
    };
    const benches = readText('bench/run.ts');
    const wrong = guides.flatMap((file) => {
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

describe('docs/reference.md', () => {
  it('has every command and flag as the commands have them', async () => {
    await expect(referencePage()).toMatchFileSnapshot(join(root, 'docs/reference.md'));
  });
});

describe('docs/configuration-reference.md', () => {
  it('[O57] has every plugin type and parameter as the schemas have them', async () => {
    const page = configurationReferencePage();
    const lists = Object.values(SERVING_CATALOGUE).filter((list) => Array.isArray(list));
    for (const { type } of lists.flat() as readonly { readonly type: string }[]) {
      expect(page).toMatch(new RegExp(`(### ${type}\\n|\`${type}\`)`));
    }
    await expect(page).toMatchFileSnapshot(join(root, 'docs/configuration-reference.md'));
  });
});

describe('docs/glossary.md', () => {
  const terms = [...readText('docs/glossary.md').matchAll(/^- \*\*(.*?)\*\*: ?/gm)].map(
    ([, term = '']) => term,
  );

  it('is in alphabetical order, each term once', () => {
    const order = new Intl.Collator('en', { sensitivity: 'base' });
    expect(terms.length).toBeGreaterThan(50);
    expect(terms).toEqual([...new Set(terms)].toSorted((a, b) => order.compare(a, b)));
  });
});

describe('docs/decisions', () => {
  it('[T23] lists every decision once in its README, under a subject', () => {
    const list = readText('docs/decisions/README.md');
    const files = pages
      .filter((path) => /^docs\/decisions\/\d/.test(path))
      .map((path) => path.slice('docs/decisions/'.length));
    const listed = [...list.matchAll(/^- \[\d+\]\((.*?)\) /gm)].map(([, file = '']) => file);
    expect(files.length).toBeGreaterThan(100);
    expect(listed.toSorted(), 'add or mend its line in docs/decisions/README.md').toEqual(
      files.toSorted(),
    );
  });
});

describe('docs/architecture.md', () => {
  const page = readText('docs/architecture.md');
  const [, picture = ''] = /^```text layers\n([\s\S]*?)^```$/m.exec(page) ?? [];
  const layers = picture
    .trimEnd()
    .split('\n')
    .map((line) => line.match(/(?:src\/[\w./-]+|scorers|stub-server|(?<=\s)ui)(?=\s|$)/g) ?? []);
  const rooms = [...page.matchAll(/^\| `([^`]+)` *\|[^|]*\|([^|]*)\|$/gm)];

  it('draws every room on a line above those it imports', () => {
    const height = new Map(layers.flatMap((line, at) => line.map((room) => [room, at] as const)));
    expect([...height.keys()].toSorted()).toEqual(rooms.map(([, room = '']) => room).toSorted());
    const wrong = rooms.flatMap(([, room = '', imports = '']) =>
      [...imports.matchAll(/`([^`]+)`/g)]
        .filter(([, other = '']) => (height.get(room) ?? 0) >= (height.get(other) ?? 0))
        .map(([, other]) => `${room} is not above ${other}`),
    );
    expect(wrong).toEqual([]);
  });
});

describe('figures', () => {
  it('have their dates in docs/measurements.md, and guides none', () => {
    const dated = /\b20\d\d-\d\d-\d\d\b(?!T)/;
    const others = guides.filter((path) => path !== 'docs/measurements.md' && path !== 'SPEC.md');
    expect(others.filter((path) => dated.test(readText(path)))).toEqual([]);
  });

  it('have a command or a test, and a date, in every section', () => {
    const sections = readText('docs/measurements.md').split(/^## /m).slice(1);
    const bare = sections.filter((text) => !/`(?:npm|npx|node|pointsman) [^`]+`/.test(text));
    expect(bare.map((text) => text.split('\n')[0])).toEqual([]);
  });
});
