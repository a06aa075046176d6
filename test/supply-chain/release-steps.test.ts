import { execFileSync, spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { releaseFaults, releaseSteps, versionOf } from './release-steps.ts';

const FITTING = {
  packageJson: '{"version": "1.2.3"}',
  chart: 'version: 1.2.3\nappVersion: "1.2.3"\n',
  changelog: '# Changelog\n\n## Unreleased\n\n## 1.2.3 (2026-12-01)\n',
};
const PARTS = { version: '1.2.3', revision: 'c0ffee', checkout: '/in', to: '/out' };

describe('[O164] a release is made from a tag', () => {
  it('has the version of the tag', () => {
    expect(['v1.2.3', 'v1.2.3-rc.1', '1.2.3', 'main', 'v1.2'].map(versionOf)).toEqual([
      '1.2.3',
      '1.2.3-rc.1',
      undefined,
      undefined,
      undefined,
    ]);
  });

  it('is refused with every version that differs, and without a heading in the changelog', () => {
    expect(releaseFaults('1.2.3', FITTING)).toEqual([]);
    const other = { ...FITTING, chart: 'version: 1.2.3\nappVersion: "1.2.2"\n', changelog: '' };
    expect(releaseFaults('1.2.3', { ...other, packageJson: '{"version": "1.2.4"}' })).toEqual([
      'version in package.json is 1.2.4: make it 1.2.3',
      'appVersion in deploy/helm/pointsman/Chart.yaml is 1.2.2: make it 1.2.3',
      expect.stringContaining('no heading "## 1.2.3"'),
    ]);
  });

  it.each(['docker', 'podman', 'buildah'] as const)(
    'has npm package, list of packages, chart and image, with %s',
    (imageTool) => {
      const steps = releaseSteps({ ...PARTS, imageTool });
      expect(steps.map(({ makes }) => makes)).toEqual([
        'what is packed',
        'npm package',
        'list of packages',
        'chart',
        'image',
        'file of the image',
      ]);
      const text = steps.map(({ command }) => command.join(' ')).join('\n');
      expect(text).toContain('npm pack /in --pack-destination /out/npm\n');
      expect(text).toContain('/out/npm/pointsman-1.2.3.cdx.json');
      expect(text).toContain('helm package /in/deploy/helm/pointsman --destination /out/chart\n');
      expect(text).toContain('--build-arg VERSION=1.2.3 --build-arg REVISION=c0ffee');
      expect(text).toContain('/out/image/pointsman-1.2.3.oci.tar');
    },
  );
});

describe('npm run release -- --dry-run', () => {
  const repository = mkdtempSync(join(tmpdir(), 'pointsman-release-test-'));
  const git = (...args: readonly string[]): void => {
    const author = ['-c', 'user.name=test', '-c', 'user.email=test@localhost'];
    execFileSync('git', ['-C', repository, ...author, ...args], { stdio: 'ignore' });
  };
  const dryRun = (tag: string) =>
    spawnSync(
      process.execPath,
      [join(import.meta.dirname, 'release.ts'), tag, '--dry-run', '--repository', repository],
      { encoding: 'utf8' },
    );

  beforeAll(() => {
    const files = {
      'package.json': FITTING.packageJson,
      'deploy/helm/pointsman/Chart.yaml': FITTING.chart,
      'CHANGELOG.md': FITTING.changelog,
    };
    for (const [path, text] of Object.entries(files)) {
      mkdirSync(dirname(join(repository, path)), { recursive: true });
      writeFileSync(join(repository, path), text);
    }
    git('init');
    git('add', '.');
    git('commit', '--message', 'all');
    git('tag', 'v1.2.3');
    git('tag', 'v1.2.4');
  });
  afterAll(() => rmSync(repository, { recursive: true }));

  it('[O164] prints the commands for the commit of the tag, and makes nothing', () => {
    const before = readdirSync(repository);
    const { status, stdout } = dryRun('v1.2.3');
    expect(status).toBe(0);
    expect(stdout).toMatch(/^npm .*\nnpm pack .*\ncp .*\nhelm package .*\n.*VERSION=1\.2\.3 /);
    expect(stdout).toMatch(/REVISION=[0-9a-f]{40}/);
    expect(readdirSync(repository)).toEqual(before);
  });

  it('[O164] says all that does not fit the tag', () => {
    expect(dryRun('v9.9.9').stderr).toMatch(/has no tag v9\.9\.9: make it/);
    const { status, stdout, stderr } = dryRun('v1.2.4');
    expect({ status, stdout }).toEqual({ status: 1, stdout: '' });
    expect(stderr).toMatch(
      /^v1\.2\.4 cannot be released:\n( {2}.*make it 1\.2\.4\n){3} {2}CHANGELOG/,
    );
  });
});
