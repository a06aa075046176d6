import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { SERVING_CATALOGUE } from '../../src/catalogue/built-in-catalogue.ts';
import { parseEndpoints } from '../../src/endpoints/discovery/file/parse-endpoints.ts';
import { promotionRule } from '../../src/promotion/promotion-rule.ts';
import { readText } from '../house/source-tree.ts';
import { PROGRAM } from '../support/programs/program.ts';
import { configurationReferencePage } from './configuration-reference-page.ts';
import { GUIDES, PAGES } from './doc-code.ts';
import { referencePage } from './reference-page.ts';

const root = dirname(dirname(import.meta.dirname));
const PACKAGE = JSON.parse(readText('package.json')) as { readonly files: readonly string[] };

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
    PAGES.map((path) => {
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
    expect(GUIDES.length).toBeGreaterThan(20);
  });

  it.each(PAGES)('of %s lead to files and headings that are there', (path) => {
    const links = [...prose(path).matchAll(/\]\((?!https?:|mailto:)([^)\s]+)\)/g)];
    const faults = links.map(([, link = '']) => fault(path, link));
    expect(faults.filter((each) => each !== undefined)).toEqual([]);
  });

  /** What npm packs without being asked, and what `files` names. */
  const packed = ['README.md', 'LICENSE', 'package.json', ...PACKAGE.files];
  const isPacked = (path: string): boolean =>
    packed.some((entry) => path === entry || path.startsWith(`${entry}/`));

  it.each(PAGES.filter(isPacked))(
    '[O103] of %s lead to what the npm package has, or the page says that they do not',
    (path) => {
      const text = prose(path);
      if (text.includes('the npm package does not have these files')) return;
      const links = [...text.matchAll(/\]\((?!https?:|mailto:|#)([^)#\s]+)/g)];
      const missing = links.filter(
        ([, link = '']) => !isPacked(normalize(join(dirname(path), link))),
      );
      expect(missing.map(([, link]) => link)).toEqual([]);
    },
  );

  it('lead from docs/README.md to every page of docs', () => {
    const index = readText('docs/README.md');
    const own = PAGES.filter((path) => /^docs\/[^/]+\.md$/.test(path) && path !== 'docs/README.md');
    expect(own.filter((path) => !index.includes(`](${path.slice('docs/'.length)}`))).toEqual([]);
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
    expect(table).toMatch(/^default .*\nmine\.yaml .* %/m);
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

describe('docs/reference.md', () => {
  it('has every command and flag as the commands have them (run this file with -u)', async () => {
    await expect(referencePage()).toMatchFileSnapshot(join(root, 'docs/reference.md'));
  });
});

describe('docs/configuration-reference.md', () => {
  it('[O57] has every plugin type and parameter as the schemas have them (run this file with -u)', async () => {
    const page = configurationReferencePage();
    const lists = Object.values(SERVING_CATALOGUE).filter((list) => Array.isArray(list));
    for (const { type } of lists.flat() as readonly { readonly type: string }[]) {
      expect(page).toMatch(new RegExp(`(### ${type}\\n|\`${type}\`)`));
    }
    await expect(page).toMatchFileSnapshot(join(root, 'docs/configuration-reference.md'));
  });

  it('[D603] shows defaults that are filled in after a value was read', () => {
    const page = configurationReferencePage();
    expect(page).toContain('| `priorityBands[].priority` | whole number | `0` |');
    expect(page).toContain('| `priorityBands[].maxRequests` | number or string | `5000` |');
    expect(page).toContain(
      '| `usageLimitPolicyPluginRef` | string | `"static-usage-limit-policy"` |',
    );
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
    const files = PAGES.filter((path) => /^docs\/decisions\/\d/.test(path)).map((path) =>
      path.slice('docs/decisions/'.length),
    );
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
  const rooms = [...readText('docs/folders.md').matchAll(/^\| `([^`]+)` *\|[^|]*\|([^|]*)\|$/gm)];

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
  const isMeasured = (path: string): boolean => path.startsWith('docs/measurements/');

  it('have their dates in docs/measurements, and guides none', () => {
    const dated = /\b20\d\d-\d\d-\d\d\b(?!T)/;
    const others = GUIDES.filter((path) => !isMeasured(path) && path !== 'SPEC.md');
    expect(others.filter((path) => dated.test(readText(path)))).toEqual([]);
  });

  it('have a command or a test, and a date, in every section', () => {
    const sections = GUIDES.filter(isMeasured).flatMap((path) =>
      readText(path).split(/^## /m).slice(1),
    );
    expect(sections.length).toBeGreaterThan(20);
    const bare = sections.filter((text) => !/`(?:npm|npx|node|pointsman) [^`]+`/.test(text));
    expect(bare.map((text) => text.split('\n')[0])).toEqual([]);
  });

  it('have a page of docs/measurements.md, each', () => {
    const index = readText('docs/measurements.md');
    const linked = (path: string): boolean => index.includes(`](${path.slice('docs/'.length)})`);
    expect(GUIDES.filter((path) => isMeasured(path) && !linked(path))).toEqual([]);
  });
});
